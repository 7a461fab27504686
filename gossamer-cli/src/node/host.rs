//! The nodes of one machine: starts them, passes on what they write, reports how they end, and does what the launcher
//! says. When the launcher is gone, the nodes are killed.

use crate::exit::Failure;
use crate::node::activity;
use crate::node::ending::{self, End, How};
use crate::node::guardian::failure::{lacking, not_started};
use crate::node::guardian::handle::{Containment, Guarded, Guardian, NodePipes, Orphans, next_news};
use crate::node::guardian::protocol::News;
use crate::node::invocation::{Invocation, NodeSpec};
use crate::node::message::{Command, Event};
use crate::node::output::{forward, last_words};
use crate::node::signal::GIVE_UP;
use crate::node::standard_input::StandardInput;
use crate::node::window::Window;
use crate::terminal::stream::Stream;
use rustix::process::Signal;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};

/// How long to wait between two looks for what killed guardians have left, as long as there is something.
const SWEEP: Duration = Duration::from_millis(2);
/// How long a guardian may take to start its node.
const START: Duration = Duration::from_secs(60);
/// How often to wake guardians, since somebody may have stopped them: waiting for a stopped guardian would never end.
const WAKE: Duration = Duration::from_secs(1);
/// How long a guardian may take to end once it is killed.
const LAST: Duration = Duration::from_secs(1);

/// A node that was started.
struct NodeProcess {
    index: u32,
    /// Its process, if it was started.
    pid: Option<u32>,
    /// Its guardian, until that has ended.
    guardian: Option<Guardian>,
    ended: watch::Sender<bool>,
    /// Until its end was reported.
    words: Option<JoinHandle<Vec<u8>>>,
}

/// All nodes of this machine.
struct Host {
    running: Vec<NodeProcess>,
    input: StandardInput,
    window: Arc<Window>,
    tasks: JoinSet<()>,
    events: UnboundedSender<Event>,
    orphans: Orphans,
    /// Sends to [`exited`](Self::exited): the indices of nodes that have ended, with how they ended; and later the
    /// indices of those whose guardian has ended.
    exits: UnboundedSender<(u32, Option<How>)>,
    exited: UnboundedReceiver<(u32, Option<How>)>,
}

/// Starts the nodes, and serves them until the launcher drops its end of `commands`; then kills the nodes that are
/// left.
pub async fn host(
    program: &Invocation,
    nodes: Vec<NodeSpec>,
    commands: UnboundedReceiver<Command>,
    events: UnboundedSender<Event>,
) {
    // The process that started this one may have set SIGCHLD to be ignored; no process could be waited for then.
    let _children = signal(SignalKind::child());
    let mut host = Host::new(nodes.len(), events);
    match host.start_all(program, nodes).await {
        Ok(()) => {
            host.serve(commands).await;
            host.end_all().await;
        }
        Err(Failure { status, message }) => {
            host.end_all().await;
            let _ = host.events.send(Event::NotStarted { status, message });
        }
    }
}

/// Waits for something from a guardian, which is woken until it comes.
async fn while_awake<T>(guardian: &Guardian, what: impl Future<Output = T>) -> T {
    let mut what = pin!(what);
    loop {
        match timeout(WAKE, &mut what).await {
            Ok(value) => return value,
            Err(_) => guardian.wake(),
        }
    }
}

impl Host {
    fn new(nodes: usize, events: UnboundedSender<Event>) -> Self {
        let (exits, exited) = unbounded_channel();
        Self {
            running: Vec::with_capacity(nodes),
            input: StandardInput::default(),
            window: Arc::default(),
            tasks: JoinSet::new(),
            events,
            orphans: Orphans::default(),
            exits,
            exited,
        }
    }

    /// Starts all guardians before it waits for any: they start their nodes at the same time.
    async fn start_all(&mut self, program: &Invocation, nodes: Vec<NodeSpec>) -> Result<(), Failure> {
        let containment = Containment::of_host();
        let mut starting = Vec::with_capacity(nodes.len());
        let mut result = Ok(());
        for node in nodes {
            let index = node.index;
            match Guarded::start(program, node, &containment) {
                Ok(guarded) => starting.push((index, guarded)),
                Err(failure) => {
                    result = Err(failure);
                    break;
                }
            }
        }
        for (index, guarded) in starting {
            let started = self.watch(program, index, guarded).await;
            result = result.and(started);
        }
        result
    }

    /// Waits until a guardian has started its node, and starts the tasks that serve the node.
    async fn watch(&mut self, program: &Invocation, index: u32, guarded: Guarded) -> Result<(), Failure> {
        let Guarded { guardian, mut news, pipes } = guarded;
        let (ended, is_ended) = watch::channel(false);
        let first = timeout(START, while_awake(&guardian, next_news(&mut news))).await;
        let started = match first {
            Ok(Some(News::Started(pid))) => {
                let pid = pid.cast_unsigned();
                let _ = self.events.send(Event::Started { node: index, pid });
                let followed = self.follow(index, pipes, is_ended).map_err(|error| lacking(index, error));
                followed.map(|words| (pid, words))
            }
            Ok(Some(News::NotStarted(error))) => {
                Err(not_started(program, &io::Error::from_raw_os_error(error)))
            }
            _ => Err(lacking(index, "its guardian does not answer")),
        };
        let (started, result) = match started {
            Ok(started) => (Some(started), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let (pid, words) = started.unzip();
        self.running.push(NodeProcess { index, pid, guardian: Some(guardian), ended, words });
        let exits = self.exits.clone();
        self.tasks.spawn(async move {
            while let Some(said) = next_news(&mut news).await {
                if let News::Ended { status, out_of_memory } = said {
                    let how = How::of(ExitStatus::from_raw(status));
                    let _ = exits.send((index, Some(out_of_memory.map_or(how, How::OutOfMemory))));
                }
            }
            let _ = exits.send((index, None));
        });
        result
    }

    /// Passes on the input and output of a node, and reads its report.
    fn follow(
        &mut self,
        index: u32,
        pipes: NodePipes,
        is_ended: watch::Receiver<bool>,
    ) -> io::Result<JoinHandle<Vec<u8>>> {
        let NodePipes { input, out, err, report } = pipes;
        if let Some(input) = input {
            let input = Sender::from_owned_fd(OwnedFd::from(input))?;
            self.input = StandardInput::to(input, self.events.clone(), &mut self.tasks);
        }
        let report = Receiver::from_owned_fd(OwnedFd::from(report))?;
        let words = tokio::spawn(last_words(report, is_ended.clone()));
        let out = Receiver::from_owned_fd(OwnedFd::from(out))?;
        let err = Receiver::from_owned_fd(OwnedFd::from(err))?;
        self.pass_on(index, out, err, is_ended);
        Ok(words)
    }

    /// Passes on what a node writes, and reports the end of its output.
    fn pass_on(&mut self, index: u32, out: Receiver, err: Receiver, is_ended: watch::Receiver<bool>) {
        let (window, events) = (Arc::clone(&self.window), self.events.clone());
        self.tasks.spawn(async move {
            let pump = |pipe, stream| forward(pipe, index, stream, is_ended.clone(), &window, &events);
            tokio::join!(pump(out, Stream::Out), pump(err, Stream::Err));
            let _ = events.send(Event::Drained { node: index });
        });
    }

    /// Does what the launcher says, until the launcher is gone.
    async fn serve(&mut self, mut commands: UnboundedReceiver<Command>) {
        let mut wake = interval(WAKE);
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                Some((index, how)) = self.exited.recv() => self.exit(index, how),
                _ = wake.tick() => self.wake_guardians(),
                () = sleep(SWEEP), if self.orphans.are_there() => self.orphans.end(),
            }
        }
    }

    fn wake_guardians(&self) {
        self.running.iter().filter_map(|node| node.guardian.as_ref()).for_each(Guardian::wake);
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Signal(signal) => self.signal(signal),
            Command::Input(bytes) => self.input.push(bytes),
            Command::InputEnd => self.input.end(),
            Command::Printed(bytes) => self.window.give(usize::try_from(bytes).unwrap_or(0)),
            Command::Describe => self.describe(),
        }
    }

    /// Reports what the nodes that run are doing.
    fn describe(&mut self) {
        let running = self.running.iter().filter(|node| node.words.is_some());
        let (nodes, pids): (Vec<u32>, Vec<u32>) =
            running.filter_map(|node| Some((node.index, node.pid?))).unzip();
        let events = self.events.clone();
        // It looks at each of them twice, with a pause between.
        self.tasks.spawn_blocking(move || {
            for (node, text) in nodes.into_iter().zip(activity::describe(&pids)) {
                let _ = events.send(Event::Described { node, text });
            }
        });
    }

    fn signal(&self, signal: u8) {
        if let Some(signal) = Signal::from_named_raw(i32::from(signal)) {
            self.running.iter().for_each(|node| node.signal(signal));
        }
    }

    /// A node has ended, or its guardian, and with it the node.
    fn exit(&mut self, index: u32, how: Option<How>) {
        let how = how.or_else(|| self.close(index).map(How::Lost));
        if let Some(how) = how {
            self.tell_end(index, how);
        }
    }

    /// A guardian has ended: returns how, unless it has ended by itself. Then what it has left behind is killed, too.
    fn close(&mut self, index: u32) -> Option<String> {
        let node = self.running.iter_mut().find(|node| node.index == index)?;
        let how = node.guardian.take()?.wait(&mut self.orphans);
        self.orphans.end();
        how
    }

    /// Reports how a node has ended, once.
    fn tell_end(&mut self, index: u32, how: How) {
        let Some(node) = self.running.iter_mut().find(|node| node.index == index) else { return };
        let Some(words) = node.words.take() else { return };
        node.ended.send_replace(true);
        let events = self.events.clone();
        self.tasks.spawn(async move {
            let words = ending::words(&words.await.unwrap_or_default());
            let _ = events.send(Event::Ended { node: index, end: End { how, words } });
        });
    }

    /// Kills the nodes that are left, and waits until nothing of them is left.
    async fn end_all(&mut self) {
        self.running.iter().for_each(|node| node.signal(Signal::KILL));
        self.wait_all(Instant::now() + GIVE_UP).await;
        // If a guardian is left, the kernel does not release its processes, or somebody has stopped it again and again.
        self.running.iter().filter_map(|node| node.guardian.as_ref()).for_each(Guardian::kill);
        self.wait_all(Instant::now() + LAST).await;
    }

    /// Waits for guardians, each of which ends when everything of its node has ended, and kills what killed guardians
    /// have left behind.
    async fn wait_all(&mut self, patience: Instant) {
        while self.orphans.are_there() || self.running.iter().any(|node| node.guardian.is_some()) {
            tokio::select! {
                Some((index, how)) = self.exited.recv() => if how.is_none() {
                    self.close(index);
                },
                () = sleep(SWEEP), if self.orphans.are_there() => self.orphans.end(),
                () = sleep_until(patience) => return,
            }
        }
    }
}

impl NodeProcess {
    /// Sends a signal to all processes of the node.
    fn signal(&self, signal: Signal) {
        if let Some(guardian) = &self.guardian {
            guardian.signal(signal);
        }
    }
}
