//! How node 0 leads the others once all have met: through the phases of the runtime to its end; and how each side watches the
//! other, so that none outlives one that is lost.

use crate::NoRef;
use crate::rack::hello::Member;
use crate::rack::message::{receive, send};
use crate::rack::survivors::{LINGER, Survivors};
use crate::transport::socket::Socket;
use crate::worker::end::fate;
use crate::worker::end::quiet;
use crate::worker::end::settle::AllNodes;
use crate::worker::shared::{Phase, Shared};
use crate::worker::watch::overdue::Overdue;
use crate::worker::watch::stall::{self, StallWatch};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time to tell others of an end; who does not hear it sees the connection closed.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What nodes say to each other on their control connection.
#[derive(NoRef, Clone, Debug)]
pub(super) enum Control {
    /// A sign of life.
    Alive,
    /// To node 0: this node has its workers and its ways to all others.
    Ready,
    /// From node 0: the runtime has come so far.
    Enter(u8),
    /// From node 0: say when all is quiet, or not any more.
    Settle(bool),
    /// From node 0: is all quiet?
    Look,
    /// To node 0: how much was done so far, if all is quiet.
    Seen(Option<u64>),
    /// From node 0: all is done.
    End,
    /// From node 0: another node is lost.
    Abort,
}

/// Silence after which a node counts as lost.
pub(crate) fn silence() -> Duration {
    let seconds = std::env::var("GOSSAMER_SILENCE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(10))
}

/// Reads what comes, and shows life meanwhile, until `take` breaks.
///
/// # Errors
/// If the other side is lost: with `TimedOut` if only silence tells, maybe in the middle of a message.
fn watch(
    mut socket: Socket,
    writer: &Mutex<Socket>,
    silence: Duration,
    mut take: impl FnMut(Control) -> ControlFlow<()>,
) -> io::Result<()> {
    let silent =
        || io::Error::new(io::ErrorKind::TimedOut, format!("it was silent for {} s", silence.as_secs()));
    // The kernel says that it would have to wait.
    let stalled = |error: io::Error| if error.kind() == io::ErrorKind::WouldBlock { silent() } else { error };
    socket.set_patience(silence)?;
    let (mut heard, mut beaten) = (Instant::now(), Instant::now());
    loop {
        match socket.wait_until_readable(beaten + BEAT) {
            Ok(()) => {
                let message = receive(&mut socket).map_err(stalled)?;
                heard = Instant::now();
                if take(message).is_break() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(error) => return Err(error),
        }
        if beaten.elapsed() >= BEAT {
            send(&mut lock(writer), Control::Alive).map_err(stalled)?;
            beaten = Instant::now();
        }
        if heard.elapsed() > silence {
            return Err(silent());
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says what is known of a node that is lost.
fn loss(node: usize, member: &Member, error: &io::Error) -> String {
    let how = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "its process ended".to_owned()
        }
        _ => error.to_string(),
    };
    format!("node {node} (process {} on {}) is lost: {how}", member.pid, member.host)
}

/// All nodes of a rack, for whoever waits until all work is done.
pub(crate) struct Rack {
    pub(crate) leader: Arc<Mutex<Leader>>,
    pub(crate) here: Weak<Shared>,
}

impl AllNodes for Rack {
    fn settle(&self, settling: bool) {
        lock(&self.leader).settle(settling);
        self.here.upgrade().into_iter().for_each(|here| here.settle(settling));
    }

    fn look(&self) -> Option<u64> {
        let here = self.here.upgrade().map_or(Some(0), |here| here.look())?;
        Some(lock(&self.leader).look()?.wrapping_add(here))
    }
}

/// Node 0's side.
pub(crate) struct Leader {
    others: Arc<Vec<Mutex<Socket>>>,
    /// A sign of each node that is ready.
    ready: mpsc::Receiver<()>,
    /// What the nodes saw, in turn.
    seen: Vec<mpsc::Receiver<Option<u64>>>,
    /// The application ends: nodes may go.
    ending: Arc<AtomicBool>,
    /// All nodes have started.
    started: Arc<AtomicBool>,
}

impl Leader {
    /// Watches all other nodes.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(sockets: Vec<Socket>, members: &[Member]) -> io::Result<Self> {
        let readers = sockets.iter().map(Socket::try_clone).collect::<io::Result<Vec<_>>>()?;
        let others = Arc::new(sockets.into_iter().map(Mutex::new).collect::<Vec<_>>());
        let (ending, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut seen = Vec::new();
        let (is_ready, ready) = mpsc::channel();
        for (index, reader) in readers.into_iter().enumerate() {
            let (answer, answers) = mpsc::channel();
            seen.push(answers);
            let is_ready = is_ready.clone();
            let (others, member) = (Arc::clone(&others), members[index + 1].clone());
            let (ending, started) = (Arc::clone(&ending), Arc::clone(&started));
            thread::Builder::new().name(format!("gossamer-node-{}", index + 1)).spawn(move || {
                let take = |message| {
                    let heard = match message {
                        Control::Seen(seen) => answer.send(seen).is_ok(),
                        Control::Ready => is_ready.send(()).is_ok(),
                        _ => true,
                    };
                    if heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                };
                let outcome = watch(reader, &others[index], silence(), take);
                if outcome.is_err() && !started.load(Ordering::Relaxed) {
                    // It may have given up for a reason that this node is about to find, too, and tells.
                    thread::sleep(LINGER);
                }
                // AcqRel: the first loss is the cause; those that follow from it, or from the end, are no news.
                if let Err(error) = outcome
                    && !ending.swap(true, Ordering::AcqRel)
                {
                    abort(&others);
                    fate::end(&loss(index + 1, &member, &error), true);
                }
            })?;
        }
        Ok(Self { others, ready, seen, ending, started })
    }

    /// Waits until all other nodes are ready. One that is lost meanwhile ends the process.
    pub(crate) fn wait_until_ready(&self) {
        for _ in self.others.iter() {
            // Their watchers hold the other ends for as long as the process lives.
            let _ready = self.ready.recv();
        }
        self.started.store(true, Ordering::Relaxed);
    }

    /// Has all other nodes say when they are quiet, or not any more.
    fn settle(&self, settling: bool) {
        self.tell(&Control::Settle(settling));
    }

    /// Has all other nodes enter a phase.
    pub(crate) fn enter(&self, phase: Phase) {
        self.tell(&Control::Enter(phase as u8));
    }

    fn tell(&self, message: &Control) {
        for other in self.others.iter() {
            // Its watcher sees that it is lost.
            let _lost = send(&mut lock(other), message.clone());
        }
    }

    /// What each of the other nodes has done so far, if all is quiet there.
    fn look_at_each(&self) -> Vec<Option<u64>> {
        self.tell(&Control::Look);
        // All are heard, also if one has said no: answers come in turn. A lost node ends the process.
        self.seen.iter().map(|seen| seen.recv().ok().flatten()).collect()
    }

    /// Which other nodes are not quiet, a line each.
    pub(crate) fn unquiet(&self) -> String {
        let seen = self.look_at_each().into_iter().enumerate();
        seen.filter(|(_, seen)| seen.is_none())
            .map(|(place, _)| format!("\n  node {}, which says more", place + 1))
            .collect()
    }

    /// How much all other nodes have done so far, if all is quiet there.
    pub(crate) fn look(&self) -> Option<u64> {
        self.look_at_each().into_iter().try_fold(0_u64, |sum, seen| Some(sum.wrapping_add(seen?)))
    }

    /// Lets the other nodes end.
    pub(crate) fn end(&self) {
        // Release: pairs with the AcqRel of the watchers.
        self.ending.store(true, Ordering::Release);
        self.tell(&Control::End);
    }

    /// Ends the other nodes, since `main` panicked.
    pub(crate) fn abort(&self) {
        self.ending.store(true, Ordering::Release);
        abort(&self.others);
    }
}

impl Drop for Leader {
    /// A node that could not start says why, and may go on: the others are no concern of its.
    fn drop(&mut self) {
        // Release: pairs with the AcqRel of the watchers.
        self.ending.store(true, Ordering::Release);
    }
}

fn abort(others: &[Mutex<Socket>]) {
    for other in others {
        // Whoever holds the lock writes to a node that does not read.
        if let Ok(mut socket) = other.try_lock() {
            let _unheard = socket.set_patience(LAST_WORDS).and_then(|()| send(&mut socket, Control::Abort));
        }
    }
}

/// Watches a node of another machine that neither leads nor follows this one: the way to it may be cut while both reach node 0.
/// If it ends, node 0 sees that, and why.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn watch_peer(
    socket: Socket,
    node: usize,
    member: Member,
    survivors: Arc<Survivors>,
) -> io::Result<()> {
    let writer = Mutex::new(socket.try_clone()?);
    thread::Builder::new().name(format!("gossamer-node-{node}")).spawn(move || {
        if let Err(error) = watch(socket, &writer, silence(), |_| ControlFlow::Continue(())) {
            if error.kind() == io::ErrorKind::TimedOut {
                fate::end(&loss(node, &member, &error), true);
            }
            survivors.lose(node);
        }
    })?;
    Ok(())
}

/// Another node's side.
pub(crate) struct Follower {
    writer: Arc<Mutex<Socket>>,
    /// Set once the runtime has started: node 0 leads it after all are ready.
    runtime: Arc<OnceLock<Arc<Shared>>>,
    ended: mpsc::Receiver<()>,
    /// This node could not start.
    gave_up: Arc<AtomicBool>,
}

impl Drop for Follower {
    /// As that of `Leader`.
    fn drop(&mut self) {
        self.gave_up.store(true, Ordering::Relaxed);
    }
}

impl Follower {
    /// Watches node 0, and does as it says.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(socket: Socket, leader: Member, survivors: Arc<Survivors>) -> io::Result<Self> {
        let writer = Arc::new(Mutex::new(socket.try_clone()?));
        let runtime = Arc::new(OnceLock::<Arc<Shared>>::new());
        let (end, ended) = mpsc::channel();
        let gave_up = Arc::new(AtomicBool::new(false));
        let follower = Self {
            writer: Arc::clone(&writer),
            runtime: Arc::clone(&runtime),
            ended,
            gave_up: Arc::clone(&gave_up),
        };
        thread::Builder::new().name("gossamer-node-0".to_owned()).spawn(move || {
            let take = |message| {
                match (message, runtime.get()) {
                    (Control::Enter(phase), Some(shared)) => shared.advance_to(Phase::numbered(phase)),
                    (Control::Settle(settling), Some(shared)) => shared.settle(settling),
                    (Control::Look, Some(shared)) => {
                        // Node 0 is lost otherwise, which the next read sees.
                        let _lost = send(&mut lock(&writer), Control::Seen(shared.look()));
                    }
                    (Control::End, _) => return ControlFlow::Break(()),
                    (Control::Abort, _) => fate::end("another node is lost", false),
                    _ => {}
                }
                ControlFlow::Continue(())
            };
            let outcome = watch(socket, &writer, silence(), take);
            if outcome.is_err() && runtime.get().is_none() {
                // As in `Leader::start`.
                thread::sleep(LINGER);
                if gave_up.load(Ordering::Relaxed) {
                    return;
                }
            }
            match outcome {
                // Whoever waits for it is there, or has ended the process.
                Ok(()) => drop(end.send(())),
                // That it is silent maybe this node alone sees; that it has ended, all.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    fate::end(&loss(0, &leader, &error), true)
                }
                Err(error) if survivors.are_none() => {
                    fate::report(&loss(0, &leader, &error));
                    thread::sleep(LINGER);
                    fate::end("", false)
                }
                Err(_) => fate::end("", false),
            }
        })?;
        Ok(follower)
    }

    /// Tells node 0 that this node is ready, and follows it to the end.
    pub(crate) fn follow(self, shared: Arc<Shared>) {
        let (mut watch, mut overdue) = (StallWatch::of([&shared]), None);
        let _first = self.runtime.set(Arc::clone(&shared));
        // Node 0 is lost otherwise, which the watcher sees.
        let _lost = send(&mut lock(&self.writer), Control::Ready);
        while self.ended.recv_timeout(stall::LOOK) == Err(RecvTimeoutError::Timeout) {
            watch.look();
            let ending = Some(shared.phase()).filter(|phase| *phase != Phase::Running);
            let lasted = ending.and_then(|_| overdue.get_or_insert_with(Overdue::new).is_due());
            if let Some(lasted) = lasted.filter(|_| shared.look().is_none()) {
                quiet::report(lasted, &quiet::what_keeps(&shared));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_that_falls_silent_in_the_middle_of_a_message_is_silent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[9, 0, 0, 0, 1]).unwrap();
        let socket = Socket::Unix(ours);
        let writer = Mutex::new(socket.try_clone().unwrap());
        let lost = watch(socket, &writer, Duration::from_millis(50), |_| ControlFlow::Continue(()));
        assert_eq!(lost.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
