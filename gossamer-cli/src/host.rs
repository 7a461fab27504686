//! The nodes of one machine: starts them, passes on what they write, tells how they end, does what the launcher says.
//! When the launcher is gone, they are killed.

use crate::ending::{self, End, How, MOST_WORDS};
use crate::exit::{self, Failure};
use crate::fate::GIVE_UP;
use crate::message::{CHUNK, Command, Event, Stream, cost};
use crate::spawn::{self, Node, Program, Spawned};
use crate::window::{WINDOW, Window};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How long the pipes of an ended node may stay silent until they count as closed: a process that the node started can
/// have left its group and still hold them.
const SILENCE: Duration = Duration::from_secs(1);
/// The most that a pipe of an ended node can still hold, unless root has made it larger; what comes after that is of such a
/// process too.
const REST: usize = 1 << 20;
/// How long the report pipe of an ended node is read.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A node that was started.
struct Running {
    index: u32,
    /// The process, until it was reaped; only until then its number is its own.
    child: Option<Child>,
    ended: watch::Sender<bool>,
    words: Option<tokio::task::JoinHandle<Vec<u8>>>,
}

/// Starts the nodes and serves them until the launcher drops its end of `commands`; then kills those that are left.
pub async fn host(
    program: &Program,
    nodes: Vec<Node>,
    mut commands: UnboundedReceiver<Command>,
    events: UnboundedSender<Event>,
) {
    // Whoever started this process may have it ignore SIGCHLD; then no process could be waited for.
    let _children = signal(SignalKind::child());
    let mut tasks = JoinSet::new();
    let (exits, mut exited) = unbounded_channel();
    let window = Arc::new(Window::default());
    let mut input = Input::default();
    let mut running = Vec::with_capacity(nodes.len());
    for node in nodes {
        let started = spawn::spawn(program, &node).and_then(|spawned| {
            watch_node(&node, spawned, &mut tasks, &window, &events, &exits, &mut input)
                .map_err(|error| Failure::new(exit::UNREACHABLE, format!("cannot watch a node: {error}")))
        });
        match started {
            Ok(node) => running.push(node),
            Err(Failure { status, message }) => {
                end_all(&mut running, &mut exited).await;
                let _ = events.send(Event::NotStarted { status, message });
                return;
            }
        }
    }
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Signal(signal)) => signal_all(&running, signal),
                Some(Command::Input(bytes)) => input.push(bytes),
                Some(Command::InputEnd) => input.end(),
                Some(Command::Printed(bytes)) => window.give(usize::try_from(bytes).unwrap_or(0)),
                None => break,
            },
            Some(index) = exited.recv() => {
                if let Some(node) = running.iter_mut().find(|node| node.index == index) {
                    reap(node, &events, &mut tasks);
                }
            }
        }
    }
    end_all(&mut running, &mut exited).await;
}

/// Sets up what follows a node that was just started. Without it the node would be killed by the drop of `Running`.
fn watch_node(
    node: &Node,
    spawned: Spawned,
    tasks: &mut JoinSet<()>,
    window: &Arc<Window>,
    events: &UnboundedSender<Event>,
    exits: &UnboundedSender<u32>,
    input: &mut Input,
) -> io::Result<Running> {
    let index = node.index;
    let Spawned { child, ended, input: stdin, out, err, report } = spawned;
    let pid = child.id();
    let (tell_ended, is_ended) = watch::channel(false);
    let mut running = Running { index, child: Some(child), ended: tell_ended, words: None };
    if let Some(stdin) = stdin {
        let stdin = Sender::from_owned_fd(OwnedFd::from(stdin))?;
        *input = Input::to(stdin, events.clone(), tasks);
    }
    let report = Receiver::from_owned_fd(OwnedFd::from(report))?;
    running.words = Some(tokio::spawn(last_words(report, is_ended.clone())));
    let out = Receiver::from_owned_fd(OwnedFd::from(out))?;
    let err = Receiver::from_owned_fd(OwnedFd::from(err))?;
    let (window, sink) = (Arc::clone(window), events.clone());
    tasks.spawn(async move {
        let pump = |pipe, stream| forward(pipe, index, stream, is_ended.clone(), &window, &sink);
        tokio::join!(pump(out, Stream::Out), pump(err, Stream::Err));
        let _ = sink.send(Event::Drained { node: index });
    });
    let exits = exits.clone();
    tasks.spawn(async move {
        // An error would mean that the descriptor is no longer polled; then the process is looked after at once, which
        // waits for it.
        let _ = ended.readable().await;
        let _ = exits.send(index);
    });
    let _ = events.send(Event::Started { node: index, pid });
    Ok(running)
}

impl Running {
    /// Sends a signal to all processes of the node.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.child.as_ref().and_then(|child| Pid::from_raw(child.id().cast_signed())) {
            // It may have ended already.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(child) = &mut self.child {
            let _ = child.try_wait();
        }
    }
}

fn signal_all(running: &[Running], signal: u8) {
    if let Some(signal) = Signal::from_named_raw(i32::from(signal)) {
        running.iter().for_each(|node| node.signal(signal));
    }
}

/// A node has ended: what it left running ends too, and the launcher is told.
fn reap(node: &mut Running, events: &UnboundedSender<Event>, tasks: &mut JoinSet<()>) {
    node.signal(Signal::KILL);
    let Some(mut child) = node.child.take() else { return };
    let how = match child.wait() {
        Ok(status) => How::of(status),
        Err(error) => How::Lost(format!("the kernel does not tell how it ended: {error}")),
    };
    node.ended.send_replace(true);
    let (index, words, events) = (node.index, node.words.take(), events.clone());
    tasks.spawn(async move {
        let written = match words {
            Some(words) => words.await.unwrap_or_default(),
            None => Vec::new(),
        };
        let _ = events.send(Event::Ended { node: index, end: End { how, words: ending::words(&written) } });
    });
}

/// Kills the nodes that are left, and waits for their ends.
async fn end_all(running: &mut [Running], exited: &mut UnboundedReceiver<u32>) {
    running.iter().for_each(|node| node.signal(Signal::KILL));
    let patience = Instant::now() + GIVE_UP;
    while running.iter().any(|node| node.child.is_some()) {
        // A process that the kernel does not let go is left to init.
        let Ok(Some(index)) = timeout_at(patience, exited.recv()).await else { return };
        for node in running.iter_mut().filter(|node| node.index == index) {
            if let Some(mut child) = node.child.take() {
                let _ = child.wait();
            }
        }
    }
}

/// Reads from a pipe of a node: 0 at its end.
async fn read(pipe: &mut Receiver, buffer: &mut [u8], ended: &mut watch::Receiver<bool>) -> usize {
    if !*ended.borrow() {
        tokio::select! {
            biased;
            read = pipe.read(buffer) => return read.unwrap_or(0),
            _ = ended.wait_for(|ended| *ended) => {}
        }
    }
    timeout(SILENCE, pipe.read(buffer)).await.map_or(0, |read| read.unwrap_or(0))
}

/// Passes on what a node writes, as fast as the launcher prints it.
async fn forward(
    mut pipe: Receiver,
    node: u32,
    stream: Stream,
    mut ended: watch::Receiver<bool>,
    window: &Window,
    events: &UnboundedSender<Event>,
) {
    let (mut buffer, mut rest) = (vec![0; CHUNK], REST);
    loop {
        let length = read(&mut pipe, &mut buffer, &mut ended).await;
        if *ended.borrow() {
            let Some(less) = rest.checked_sub(length) else { return };
            rest = less;
        }
        let Some(bytes @ [_, ..]) = buffer.get(..length) else { return };
        window.take(cost(bytes)).await;
        if events.send(Event::Output { node, stream, bytes: bytes.to_vec() }).is_err() {
            return;
        }
    }
}

/// What a node writes to its report pipe, until it has ended. What is too long is read and dropped, so that the node
/// does not block.
async fn last_words(mut pipe: Receiver, mut ended: watch::Receiver<bool>) -> Vec<u8> {
    let (mut written, mut buffer) = (Vec::new(), vec![0; MOST_WORDS]);
    let reading = async {
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            let bytes = buffer.get(..length).unwrap_or_default();
            let room = MOST_WORDS.saturating_sub(written.len());
            written.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    };
    let waiting = async {
        let _ = ended.wait_for(|ended| *ended).await;
        sleep(LAST_WORDS).await;
    };
    tokio::select! {
        biased;
        () = reading => {}
        () = waiting => {}
    }
    written
}

/// The way to the standard input of node 0, if it is on this machine and still reads.
#[derive(Default)]
struct Input {
    queue: Option<UnboundedSender<Vec<u8>>>,
    taken: Option<Arc<AtomicUsize>>,
}

impl Input {
    fn to(mut stdin: Sender, events: UnboundedSender<Event>, tasks: &mut JoinSet<()>) -> Self {
        let (queue, mut waiting) = unbounded_channel::<Vec<u8>>();
        let held = Arc::new(AtomicUsize::new(0));
        let taken = Arc::clone(&held);
        tasks.spawn(async move {
            let mut open = true;
            while let Some(bytes) = waiting.recv().await {
                // A node that reads no more does not stop the launcher from reading: its input is lost, as in a shell.
                open = open && stdin.write_all(&bytes).await.is_ok();
                taken.fetch_sub(cost(&bytes), Ordering::Relaxed);
                let _ = events.send(Event::Taken(u32::try_from(cost(&bytes)).unwrap_or(u32::MAX)));
            }
        });
        Self { queue: Some(queue), taken: Some(held) }
    }

    /// Queues input. A launcher that sends more than it may loses it.
    fn push(&mut self, bytes: Vec<u8>) {
        if let (Some(queue), Some(held)) = (&self.queue, &self.taken) {
            let before = held.fetch_add(cost(&bytes), Ordering::Relaxed);
            if before + cost(&bytes) > WINDOW || queue.send(bytes).is_err() {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        self.queue = None;
    }
}
