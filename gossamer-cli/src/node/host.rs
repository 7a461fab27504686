//! The nodes of one machine: starts them, passes on what they write, tells how they end, does what the launcher says.
//! When the launcher is gone, they are killed.

use crate::exit::{self, Failure};
use crate::node::ending::{self, End, How};
use crate::node::invocation::{Invocation, NodeSpec};
use crate::node::message::{Command, Event};
use crate::node::output::{forward, last_words};
use crate::node::signal::GIVE_UP;
use crate::node::spawn::{self, Spawned};
use crate::node::standard_input::StandardInput;
use crate::node::window::Window;
use crate::terminal::stream::Stream;
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

/// A node that was started.
struct NodeProcess {
    index: u32,
    /// The process, until it was reaped; only until then its number is its own.
    child: Option<Child>,
    ended: watch::Sender<bool>,
    words: Option<JoinHandle<Vec<u8>>>,
}

/// All nodes of this machine.
struct Host {
    running: Vec<NodeProcess>,
    input: StandardInput,
    window: Arc<Window>,
    tasks: JoinSet<()>,
    events: UnboundedSender<Event>,
    /// To [`exited`](Self::exited): the indices of nodes whose process has ended.
    exits: UnboundedSender<u32>,
    exited: UnboundedReceiver<u32>,
}

/// Starts the nodes and serves them until the launcher drops its end of `commands`; then kills those that are left.
pub async fn host(
    program: &Invocation,
    nodes: Vec<NodeSpec>,
    commands: UnboundedReceiver<Command>,
    events: UnboundedSender<Event>,
) {
    // Whoever started this process may have it ignore SIGCHLD; then no process could be waited for.
    let _children = signal(SignalKind::child());
    let mut host = Host::new(nodes.len(), events);
    match host.start_all(program, nodes) {
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

impl Host {
    fn new(nodes: usize, events: UnboundedSender<Event>) -> Self {
        let (exits, exited) = unbounded_channel();
        Self {
            running: Vec::with_capacity(nodes),
            input: StandardInput::default(),
            window: Arc::default(),
            tasks: JoinSet::new(),
            events,
            exits,
            exited,
        }
    }

    fn start_all(&mut self, program: &Invocation, nodes: Vec<NodeSpec>) -> Result<(), Failure> {
        for node in nodes {
            let spawned = spawn::spawn(program, &node)?;
            let started = self
                .watch(node.index, spawned)
                .map_err(|error| Failure::new(exit::UNREACHABLE, format!("cannot watch a node: {error}")))?;
            self.running.push(started);
        }
        Ok(())
    }

    /// Sets up what follows a node that was just started. If that fails, the drop of [`NodeProcess`] kills the node.
    fn watch(&mut self, index: u32, spawned: Spawned) -> io::Result<NodeProcess> {
        let Spawned { child, ended, input, out, err, report } = spawned;
        let pid = child.id();
        let (tell_ended, is_ended) = watch::channel(false);
        let mut node = NodeProcess { index, child: Some(child), ended: tell_ended, words: None };
        if let Some(input) = input {
            let input = Sender::from_owned_fd(OwnedFd::from(input))?;
            self.input = StandardInput::to(input, self.events.clone(), &mut self.tasks);
        }
        let report = Receiver::from_owned_fd(OwnedFd::from(report))?;
        node.words = Some(tokio::spawn(last_words(report, is_ended.clone())));
        let out = Receiver::from_owned_fd(OwnedFd::from(out))?;
        let err = Receiver::from_owned_fd(OwnedFd::from(err))?;
        self.pass_on(index, out, err, is_ended);
        let exits = self.exits.clone();
        self.tasks.spawn(async move {
            // An error would mean that the descriptor is no longer polled; then the process is looked after at once, which
            // waits for it.
            let _ = ended.readable().await;
            let _ = exits.send(index);
        });
        let _ = self.events.send(Event::Started { node: index, pid });
        Ok(node)
    }

    /// Passes on what a node writes, and tells when that was all.
    fn pass_on(&mut self, index: u32, out: Receiver, err: Receiver, is_ended: watch::Receiver<bool>) {
        let (window, events) = (Arc::clone(&self.window), self.events.clone());
        self.tasks.spawn(async move {
            let pump = |pipe, stream| forward(pipe, index, stream, is_ended.clone(), &window, &events);
            tokio::join!(pump(out, Stream::Out), pump(err, Stream::Err));
            let _ = events.send(Event::Drained { node: index });
        });
    }

    /// Does what the launcher says, until it is gone.
    async fn serve(&mut self, mut commands: UnboundedReceiver<Command>) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                Some(index) = self.exited.recv() => self.reap(index),
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Signal(signal) => self.signal(signal),
            Command::Input(bytes) => self.input.push(bytes),
            Command::InputEnd => self.input.end(),
            Command::Printed(bytes) => self.window.give(usize::try_from(bytes).unwrap_or(0)),
        }
    }

    fn signal(&self, signal: u8) {
        if let Some(signal) = Signal::from_named_raw(i32::from(signal)) {
            self.running.iter().for_each(|node| node.signal(signal));
        }
    }

    /// A node has ended: what it left running ends too, and the launcher is told.
    fn reap(&mut self, index: u32) {
        let Some(node) = self.running.iter_mut().find(|node| node.index == index) else { return };
        node.signal(Signal::KILL);
        let Some(mut child) = node.child.take() else { return };
        let how = match child.wait() {
            Ok(status) => How::of(status),
            Err(error) => How::Lost(format!("the kernel does not tell how it ended: {error}")),
        };
        node.ended.send_replace(true);
        let (words, events) = (node.words.take(), self.events.clone());
        self.tasks.spawn(async move {
            let written = match words {
                Some(words) => words.await.unwrap_or_default(),
                None => Vec::new(),
            };
            let _ =
                events.send(Event::Ended { node: index, end: End { how, words: ending::words(&written) } });
        });
    }

    /// Kills the nodes that are left, and waits for their ends.
    async fn end_all(&mut self) {
        self.running.iter().for_each(|node| node.signal(Signal::KILL));
        let patience = Instant::now() + GIVE_UP;
        while self.running.iter().any(|node| node.child.is_some()) {
            // A process that the kernel does not let go is left to init.
            let Ok(Some(index)) = timeout_at(patience, self.exited.recv()).await else { return };
            for node in self.running.iter_mut().filter(|node| node.index == index) {
                if let Some(mut child) = node.child.take() {
                    let _ = child.wait();
                }
            }
        }
    }
}

impl NodeProcess {
    /// Sends a signal to all processes of the node.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.child.as_ref().and_then(|child| Pid::from_raw(child.id().cast_signed())) {
            // It may have ended already.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(child) = &mut self.child {
            let _ = child.try_wait();
        }
    }
}
