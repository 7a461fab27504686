//! The launcher's loop: takes in what nodes do, what the user does and what time it is, and carries out what
//! [`fate`](crate::launcher::fate) decides.

use crate::exit::{self, Failure};
use crate::launcher::application::{Application, Members};
use crate::launcher::drain::{PATIENCE, drain, file_failed};
use crate::launcher::fate::Fate;
use crate::launcher::outlets::Outlets;
use crate::launcher::report;
use crate::launcher::signals::Signals;
use crate::launcher::timeout::{Step, Timeout};
use crate::node::ending::{End, How};
use crate::node::message::{CHUNK, Command, Event, cost};
use crate::node::window::WINDOW;
use crate::terminal::input;
use crate::terminal::printable::printable;
use crate::terminal::printer::PrinterEvent;
use crate::terminal::stream::Stream;
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::time::sleep_until;

struct Supervisor {
    members: Members,
    fate: Fate,
    timeout: Option<Timeout>,
    outlets: Outlets,
    /// How many bytes of input may still be sent.
    credit: usize,
    not_started: Option<Failure>,
    /// Since when no node runs any more.
    over_since: Option<Instant>,
    /// Whether the user does not want to wait for output that cannot be written.
    hurry: bool,
    /// Whether output was lost because a file could not be written.
    has_lost_output: bool,
}

/// The sources of news.
struct Sources {
    events: UnboundedReceiver<(usize, Event)>,
    /// Nothing after the end of the input.
    input: Option<Receiver<Vec<u8>>>,
    printers: UnboundedReceiver<PrinterEvent>,
    signals: Signals,
}

/// Watches an application until it has ended, and gives the exit status.
///
/// # Errors
/// If the nodes could not be started, or the launcher lacks threads or the like.
pub async fn supervise(application: Application) -> Result<u8, Failure> {
    let Application { machines, nodes, events, output, files, time_limit } = application;
    let lacking = |error| Failure::new(exit::UNREACHABLE, format!("the launcher cannot start: {error}"));
    let signals = Signals::new().map_err(lacking)?;
    let (outlets, printers) = Outlets::start(files).map_err(lacking)?;
    let input = Some(input::start(CHUNK).map_err(lacking)?);
    let fate = Fate::new(nodes.len());
    let timeout = time_limit.map(|limit| Timeout::new(limit, Instant::now()));
    let members = Members::new(machines, nodes, &output);
    let mut sources = Sources { events, input, printers, signals };
    let mut supervisor = Supervisor {
        members,
        fate,
        timeout,
        outlets,
        credit: WINDOW,
        not_started: None,
        over_since: None,
        hurry: false,
        has_lost_output: false,
    };
    supervisor.watch(&mut sources).await;
    supervisor.finish(sources).await
}

impl Supervisor {
    /// Takes news until nothing more is awaited.
    async fn watch(&mut self, sources: &mut Sources) {
        while self.not_started.is_none() && !self.hurry {
            let now = Instant::now();
            self.fate.tick(now);
            self.tick_timeout(now);
            for signal in self.fate.signals() {
                self.members.tell_all(&Command::Signal(signal));
            }
            if self.is_done(now) {
                return;
            }
            self.next(sources, self.wake(now)).await;
        }
    }

    /// Ends the application when its time is up, unless it ends already.
    fn tick_timeout(&mut self, now: Instant) {
        let Some(timeout) = self.timeout.as_mut().filter(|_| self.fate.deadline().is_none()) else { return };
        match timeout.tick(now, self.fate.running().collect()) {
            Step::None => {}
            Step::Ask => self.members.tell_all(&Command::Describe),
            Step::End(why) => self.fate.timed_out(now, why),
        }
    }

    /// Whether all nodes have ended and all their output has arrived, or nobody waits for it any longer.
    fn is_done(&mut self, now: Instant) -> bool {
        if !self.fate.is_over(now) {
            return false;
        }
        let since = *self.over_since.get_or_insert(now);
        self.members.nodes.iter().all(|node| node.drained)
            || (self.fate.is_impatient() && since + PATIENCE <= now)
            || self.fate.has_given_up(now)
    }

    /// When time will matter next.
    fn wake(&self, now: Instant) -> Instant {
        let deadline = match self.over_since {
            Some(since) if self.fate.is_over(now) => self.fate.is_impatient().then_some(since + PATIENCE),
            _ => self.fate.deadline().or_else(|| self.timeout.as_ref().and_then(Timeout::deadline)),
        };
        deadline.unwrap_or(now + Duration::from_secs(3600))
    }

    /// Takes the next thing that happens, at most until `wake`.
    async fn next(&mut self, sources: &mut Sources, wake: Instant) {
        let Sources { events, input, printers, signals } = sources;
        let wants_input = input.is_some() && self.credit >= 2 * CHUNK;
        tokio::select! {
            Some((machine, event)) = events.recv() => self.event(machine, event),
            Some(event) = printers.recv() => self.printer_event(event),
            signal = signals.next() => self.interrupted(signal),
            piece = next_piece(input), if wants_input => self.input(piece),
            () = sleep_until(wake.into()) => {}
        }
    }

    /// A signal ends the application, or the wait for its output.
    fn interrupted(&mut self, signal: u8) {
        match self.over_since {
            Some(_) => self.hurry = true,
            None => self.fate.interrupted(Instant::now(), signal),
        }
    }

    /// Input for node 0, or its end.
    fn input(&mut self, piece: Option<Vec<u8>>) {
        let Some(machine) = self.members.nodes.first().map(|node| node.machine) else { return };
        match piece {
            Some(bytes) => {
                self.credit = self.credit.saturating_sub(cost(&bytes));
                self.members.tell(machine, Command::Input(bytes));
            }
            None => self.members.tell(machine, Command::InputEnd),
        }
    }

    fn printer_event(&mut self, event: PrinterEvent) {
        match event {
            PrinterEvent::Printed { machine, bytes } => {
                self.members.tell(machine, Command::Printed(u32::try_from(bytes).unwrap_or(u32::MAX)));
            }
            PrinterEvent::Failed(Stream::Out, error) => {
                let why = (error.kind() != ErrorKind::BrokenPipe)
                    .then(|| format!("standard output cannot be written: {error}"));
                self.fate.unwritable(Instant::now(), why);
            }
            PrinterEvent::FileFailed(path, error) => {
                self.has_lost_output = true;
                self.outlets.say(&format!("gossamer: {}\n", printable(&file_failed(&path, &error))));
            }
            // Nobody is left to tell.
            PrinterEvent::Failed(Stream::Err, _) | PrinterEvent::Finished => {}
        }
    }

    fn event(&mut self, machine: usize, event: Event) {
        let now = Instant::now();
        match event {
            Event::Started { node, pid } => {
                if let Some((_, node)) = self.members.node(machine, node) {
                    node.pid = Some(pid);
                }
            }
            Event::NotStarted { status, message } => {
                let message =
                    match self.members.machines.get(machine).and_then(|machine| machine.name.as_ref()) {
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
                if let Some((index, _)) = self.members.node(machine, node) {
                    self.fate.ended(now, index, end);
                }
            }
            Event::Drained { node } => self.drained(machine, node),
            Event::Stopping(why) => self.fate.asked(now, why),
            Event::Lost(why) => self.lost(now, machine, &why),
            Event::Described { node, text } => self.described(machine, node, &text),
        }
    }

    fn output(&mut self, machine: usize, node: u32, stream: Stream, bytes: &[u8]) {
        let Some((index, node)) = self.members.node(machine, node) else { return };
        let lines = match stream {
            Stream::Out => &mut node.out,
            Stream::Err => &mut node.err,
        };
        let text = lines.push(bytes);
        self.outlets.print(index, stream, text, machine, cost(bytes));
    }

    /// Reports what a node is doing whose time is up.
    fn described(&mut self, machine: usize, node: u32, text: &str) {
        let Some((index, _)) = self.members.node(machine, node) else { return };
        self.outlets.say(&report::activity(index, &self.members.place(index), text));
        if let Some(timeout) = &mut self.timeout {
            timeout.heard(index);
        }
    }

    fn drained(&mut self, machine: usize, node: u32) {
        let Some((index, node)) = self.members.node(machine, node) else { return };
        node.drained = true;
        let (out, err) = (node.out.finish(), node.err.finish());
        self.outlets.print(index, Stream::Out, out, machine, 0);
        self.outlets.print(index, Stream::Err, err, machine, 0);
    }

    /// The machine can no longer be reached: its nodes count as ended.
    fn lost(&mut self, now: Instant, machine: usize, why: &str) {
        let end = End { how: How::Lost(why.into()), words: None };
        for index in 0..self.members.nodes.len() {
            if self.members.nodes.get(index).is_some_and(|node| node.machine == machine && !node.drained) {
                self.fate.ended(now, index, end.clone());
                self.drained(machine, u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
    }

    /// Prints the report, after all output.
    async fn finish(self, sources: Sources) -> Result<u8, Failure> {
        let Self { members, fate, outlets, not_started, hurry, has_lost_output, .. } = self;
        let verdict = fate.verdict();
        let is_hurried = hurry || fate.is_impatient();
        let result = match not_started {
            Some(failure) => Err(failure),
            None => {
                let place = |node| members.place(node);
                outlets.say(&report::text(&verdict, members.nodes.len(), &members.silent(), place));
                Ok(if verdict.status == 0 && has_lost_output { exit::OUTPUT } else { verdict.status })
            }
        };
        let printing = outlets.count();
        drop(outlets);
        let Sources { printers, mut signals, input, .. } = sources;
        drop(input);
        tokio::select! {
            written = drain(printers, printing, verdict.status == 0, is_hurried) => written.unwrap_or(result),
            _ = signals.next() => result,
        }
    }
}

/// The next piece of input; after the end of the input, it never returns.
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
