//! The launcher's loop: brings together what nodes do, what the user does and what time does, and carries out what
//! [`fate`](crate::fate) decides.

use crate::exit::{self, Failure};
use crate::fate::Fate;
use crate::input;
use crate::lines::{Lines, Style};
use crate::message::{CHUNK, Command, Event, Stream, cost};
use crate::printer::{Printer, Progress, Target};
use crate::report;
use crate::window::WINDOW;
use std::io::{ErrorKind, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep_until;

/// How long a user who wants the end waits for output that cannot be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// After so much silence a machine is worth a line of the report: three beats.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// When something was heard of a machine; nothing, for this one.
pub type Heard = Arc<Mutex<Option<Instant>>>;

/// A machine that hosts nodes.
#[derive(Debug)]
pub struct Machine {
    /// Its name in messages: nothing for this machine.
    pub name: Option<String>,
    /// The way to its host.
    pub commands: UnboundedSender<Command>,
    /// When it was heard of last.
    pub heard: Heard,
}

/// An application that is being started.
#[derive(Debug)]
pub struct Application {
    /// The machines.
    pub machines: Vec<Machine>,
    /// Which machine each node is on.
    pub nodes: Vec<usize>,
    /// What the hosts tell, each with its machine's index.
    pub events: UnboundedReceiver<(usize, Event)>,
    /// Whether lines are marked with the node's name.
    pub prefix: bool,
}

/// What the launcher knows of a node.
struct Node {
    machine: usize,
    pid: Option<u32>,
    out: Lines,
    err: Lines,
    drained: bool,
}

struct Supervisor {
    machines: Vec<Machine>,
    nodes: Vec<Node>,
    fate: Fate,
    out: Printer,
    err: Printer,
    /// Bytes of input that may still be sent.
    credit: usize,
    not_started: Option<Failure>,
    /// Whether the user does not want to wait for output that cannot be written.
    hurry: bool,
}

/// The signals to the launcher.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> u8 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX)
    }
}

/// Watches an application until it has ended, and gives the exit status.
///
/// # Errors
/// If the nodes could not be started, or the launcher lacks threads or the like.
pub async fn supervise(application: Application) -> Result<u8, Failure> {
    let lacking = |error| Failure::new(exit::UNREACHABLE, format!("the launcher cannot start: {error}"));
    let (tell, mut progress) = unbounded_channel();
    let mut signals = Signals::new().map_err(lacking)?;
    let out = Printer::start(Target::Out, tell.clone()).map_err(lacking)?;
    let err = Printer::start(Target::Err, tell).map_err(lacking)?;
    let input = input::start().map_err(lacking)?;
    let Application { machines, nodes, mut events, prefix } = application;
    let nodes: Vec<Node> =
        nodes.into_iter().enumerate().map(|(index, at)| Node::new(index, at, prefix)).collect();
    let fate = Fate::new(nodes.len());
    let mut launcher =
        Supervisor { machines, nodes, fate, out, err, credit: WINDOW, not_started: None, hurry: false };
    launcher.watch(&mut events, input, &mut progress, &mut signals).await;
    launcher.finish(progress, signals).await
}

impl Node {
    fn new(index: usize, machine: usize, prefix: bool) -> Self {
        let coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let style = |terminal: bool| match (prefix, terminal && coloured) {
            (false, _) => Style::Raw,
            (true, false) => Style::Plain,
            (true, true) => Style::Coloured,
        };
        Self {
            machine,
            pid: None,
            out: Lines::new(index, style(std::io::stdout().is_terminal())),
            err: Lines::new(index, style(std::io::stderr().is_terminal())),
            drained: false,
        }
    }
}

impl Supervisor {
    async fn watch(
        &mut self,
        events: &mut UnboundedReceiver<(usize, Event)>,
        input: Receiver<Vec<u8>>,
        progress: &mut UnboundedReceiver<Progress>,
        signals: &mut Signals,
    ) {
        let mut input = Some(input);
        let mut over_since = None;
        while self.not_started.is_none() {
            let now = Instant::now();
            self.fate.tick(now);
            for signal in self.fate.signals() {
                self.tell_all(&Command::Signal(signal));
            }
            let mut deadline = self.fate.deadline();
            if self.fate.is_over(now) {
                let since = *over_since.get_or_insert(now);
                let drained = self.nodes.iter().all(|node| node.drained);
                if drained
                    || (self.fate.is_impatient() && since + PATIENCE <= now)
                    || self.fate.has_given_up(now)
                {
                    return;
                }
                deadline = self.fate.is_impatient().then_some(since + PATIENCE);
            }
            let wake = deadline.unwrap_or(now + Duration::from_secs(3600));
            let wants_input = input.is_some() && self.credit >= 2 * CHUNK;
            tokio::select! {
                Some((machine, event)) = events.recv() => self.event(machine, event),
                Some(progress) = progress.recv() => self.progress(progress),
                signal = signals.next() => {
                    if over_since.is_some() {
                        self.hurry = true;
                        return;
                    }
                    self.fate.interrupted(Instant::now(), signal);
                }
                piece = next_piece(&mut input), if wants_input => self.input(piece),
                () = sleep_until(wake.into()) => {}
            }
        }
    }

    fn tell_all(&self, command: &Command) {
        for machine in &self.machines {
            // A host that is gone says so by an event.
            let _ = machine.commands.send(command.clone());
        }
    }

    fn tell(&self, machine: usize, command: Command) {
        if let Some(machine) = self.machines.get(machine) {
            let _ = machine.commands.send(command);
        }
    }

    /// Input for node 0, or its end.
    fn input(&mut self, piece: Option<Vec<u8>>) {
        let Some(machine) = self.nodes.first().map(|node| node.machine) else { return };
        match piece {
            Some(bytes) => {
                self.credit = self.credit.saturating_sub(cost(&bytes));
                self.tell(machine, Command::Input(bytes));
            }
            None => self.tell(machine, Command::InputEnd),
        }
    }

    fn progress(&mut self, progress: Progress) {
        match progress {
            Progress::Printed { machine, bytes } => {
                self.tell(machine, Command::Printed(u32::try_from(bytes).unwrap_or(u32::MAX)));
            }
            Progress::Failed(Target::Out, error) => {
                let why = (error.kind() != ErrorKind::BrokenPipe)
                    .then(|| format!("standard output cannot be written: {error}"));
                self.fate.unwritable(Instant::now(), why);
            }
            // Nobody is left who could be told.
            Progress::Failed(Target::Err, _) | Progress::Finished => {}
        }
    }

    fn event(&mut self, machine: usize, event: Event) {
        let now = Instant::now();
        match event {
            Event::Started { node, pid } => {
                if let Some((_, node)) = self.node(machine, node) {
                    node.pid = Some(pid);
                }
            }
            Event::NotStarted { status, message } => {
                let message = match self.machines.get(machine).and_then(|machine| machine.name.as_ref()) {
                    Some(name) => format!("on {name}: {message}"),
                    None => message,
                };
                self.not_started = Some(Failure { status, message });
            }
            Event::Output { node, stream, bytes } => self.output(machine, node, stream, &bytes),
            Event::Taken(bytes) => {
                self.credit = (self.credit + usize::try_from(bytes).unwrap_or(0)).min(WINDOW);
            }
            Event::Ended { node, end } => {
                if let Some((index, _)) = self.node(machine, node) {
                    self.fate.ended(now, index, end);
                }
            }
            Event::Drained { node } => self.drained(machine, node),
            Event::Stopping(why) => self.fate.asked(now, why),
            Event::Lost(why) => self.lost(now, machine, &why),
        }
    }

    /// A node, if it is on the machine that speaks of it.
    fn node(&mut self, machine: usize, node: u32) -> Option<(usize, &mut Node)> {
        let index = usize::try_from(node).ok()?;
        self.nodes.get_mut(index).filter(|node| node.machine == machine).map(|node| (index, node))
    }

    fn output(&mut self, machine: usize, node: u32, stream: Stream, bytes: &[u8]) {
        let Some((_, node)) = self.node(machine, node) else { return };
        let lines = match stream {
            Stream::Out => &mut node.out,
            Stream::Err => &mut node.err,
        };
        let text = lines.push(bytes);
        self.printer(stream).print(text, machine, cost(bytes));
    }

    fn printer(&self, stream: Stream) -> &Printer {
        match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        }
    }

    fn drained(&mut self, machine: usize, node: u32) {
        let Some((_, node)) = self.node(machine, node) else { return };
        node.drained = true;
        let (out, err) = (node.out.finish(), node.err.finish());
        self.out.print(out, machine, 0);
        self.err.print(err, machine, 0);
    }

    /// The machine cannot be reached: its nodes count as ended.
    fn lost(&mut self, now: Instant, machine: usize, why: &str) {
        let end = crate::ending::End { how: crate::ending::How::Lost(why.into()), words: None };
        for index in 0..self.nodes.len() {
            if self.nodes.get(index).is_some_and(|node| node.machine == machine && !node.drained) {
                self.fate.ended(now, index, end.clone());
                self.drained(machine, u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
    }

    /// Says what there is to say, after all output.
    async fn finish(
        self,
        mut progress: UnboundedReceiver<Progress>,
        mut signals: Signals,
    ) -> Result<u8, Failure> {
        let verdict = self.fate.verdict();
        let impatient = self.hurry || self.fate.is_impatient();
        let names = |node: usize| self.nodes.get(node).map_or_else(String::new, |node| self.name(node));
        let result = match self.not_started {
            Some(ref failure) => Err(failure.clone()),
            None => Ok(verdict.status),
        };
        if result.is_ok() {
            let silent = self.silent();
            self.err.say(&report::text(&verdict, self.nodes.len(), &silent, names));
        }
        drop((self.out, self.err));
        let mut printers = 2;
        let patience =
            tokio::time::sleep(if impatient { PATIENCE } else { Duration::from_secs(365 * 86_400) });
        tokio::pin!(patience);
        while printers > 0 {
            tokio::select! {
                Some(progress) = progress.recv() => match progress {
                    Progress::Finished => printers -= 1,
                    Progress::Failed(Target::Out, error) if verdict.status == 0 => {
                        if error.kind() == ErrorKind::BrokenPipe {
                            return Ok(exit::SIGNALLED + crate::fate::PIPE);
                        }
                        let message = format!("standard output cannot be written: {error}");
                        return Err(Failure::new(exit::OUTPUT, message));
                    }
                    _ => {}
                },
                _ = signals.next() => return result,
                () = &mut patience => return result,
            }
        }
        result
    }

    /// The machines of which nothing was heard for a while, though not long enough to be lost; and for how long.
    fn silent(&self) -> Vec<(String, Duration)> {
        let silence = |machine: &Machine| {
            let heard = (*machine.heard.lock().unwrap_or_else(PoisonError::into_inner))?;
            Some((machine.name.clone()?, heard.elapsed()))
        };
        self.machines.iter().filter_map(silence).filter(|(_, silence)| *silence >= SUSPICIOUS).collect()
    }

    /// ` on MACHINE (pid N)`.
    fn name(&self, node: &Node) -> String {
        let machine = self.machines.get(node.machine).and_then(|machine| machine.name.as_ref());
        let machine = machine.map_or_else(String::new, |name| format!(" on {name}"));
        let pid = node.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        format!("{machine}{pid}")
    }
}

/// The next piece of input; after its end, nothing ever.
async fn next_piece(input: &mut Option<Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    let piece = match input {
        Some(receiver) => receiver.recv().await,
        None => std::future::pending().await,
    };
    if piece.is_none() {
        *input = None;
    }
    piece
}
