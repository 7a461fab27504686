//! How node 0 leads the others once all have met: through the phases of the runtime to its end; and how each side
//! watches the other, so that no node outlives a lost one.

use crate::NoRef;
use crate::rack::heartbeat::{limit, watch};
use crate::rack::hello::Member;
use crate::rack::loss::{is_seen_by_one, loss};
use crate::rack::message::{MessageSocket, MessageWriter};
use crate::rack::survivors::{self, Survivors};
use crate::rack::traces::{self, Gathering, TracePart};
use crate::sys::threads::bystander::Bystander;
use crate::trace::NodeTrace;
use crate::worker::end::fate;
use crate::worker::end::last_trace;
use crate::worker::end::quiet;
use crate::worker::shared::{Phase, Shared};
use crate::worker::watch::overdue::Overdue;
use std::io;
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often to check whether the end takes long.
const LOOK: Duration = Duration::from_millis(2500);
/// Time to tell the others of an end; a node that is not told sees its connection close.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What nodes say to each other on their control connection.
#[derive(NoRef, Clone, Debug)]
pub(super) enum Control {
    /// A sign of life.
    Alive,
    /// To node 0: this node has its workers and its connections to all others.
    Ready,
    /// From node 0: the runtime has reached this phase.
    Enter(u8),
    /// From node 0: is all quiet?
    Look,
    /// To node 0: how much was done so far, if all is quiet.
    Seen(Option<u64>),
    /// From node 0: which events does the node have?
    GiveTrace,
    /// To node 0: some of them.
    Traced(TracePart),
    /// From node 0: everything is done.
    End,
    /// From node 0: another node is lost.
    Abort,
    /// To a higher node, when node 0 is lost: this node has said so.
    Reported,
}

/// Node 0 ends all within this time if the lost node is silent for it as well.
const NODE_0_SEES_IT: Duration = Duration::from_secs(2);
/// Time for nodes to send their traces.
const TRACES: Duration = Duration::from_secs(10);
/// The same when a node is lost: a launcher ends all nodes half a second after it has learned of the loss.
const TRACES_IN_HASTE: Duration = Duration::from_millis(200);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Node 0's side.
pub(crate) struct Leader {
    others: Arc<Vec<Mutex<MessageWriter>>>,
    /// A signal from each node that is ready.
    ready: mpsc::Receiver<()>,
    /// What the nodes saw, in turn.
    seen: Vec<mpsc::Receiver<Option<u64>>>,
    /// The application is ending: nodes may end.
    ending: Arc<AtomicBool>,
    /// All nodes have started.
    started: Arc<AtomicBool>,
    traces: Arc<Gathering>,
}

impl Leader {
    /// Watches all other nodes.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(sockets: Vec<MessageSocket>, members: &[Member]) -> io::Result<Self> {
        let halves = sockets.into_iter().map(MessageSocket::split).collect::<io::Result<Vec<_>>>()?;
        let (readers, writers): (Vec<_>, Vec<_>) = halves.into_iter().unzip();
        let others = Arc::new(writers.into_iter().map(Mutex::new).collect::<Vec<_>>());
        let (ending, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let traces = Arc::new(Gathering::new(others.len()));
        let mut seen = Vec::new();
        let (is_ready, ready) = mpsc::channel();
        for (index, reader) in readers.into_iter().enumerate() {
            let (answer, answers) = mpsc::channel();
            seen.push(answers);
            let is_ready = is_ready.clone();
            let (others, member) = (Arc::clone(&others), members[index + 1].clone());
            let (ending, started, traces) = (Arc::clone(&ending), Arc::clone(&started), Arc::clone(&traces));
            thread::Builder::new().name(format!("gossamer-node-{}", index + 1)).spawn(move || {
                let _bystander = Bystander::here();
                let take = |message| {
                    let heard = match message {
                        Control::Seen(seen) => answer.send(seen).is_ok(),
                        Control::Ready => is_ready.send(()).is_ok(),
                        Control::Traced(part) => {
                            traces.take(index, part);
                            true
                        }
                        _ => true,
                    };
                    if heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                };
                let outcome = watch(reader, &others[index], limit(), take);
                if outcome.is_err() && !started.load(Ordering::Relaxed) {
                    survivors::wait_for_own_reason();
                }
                traces.lose(index);
                // AcqRel: the first loss is the cause; losses that follow from it, or from the end, are not reported.
                if let Err(error) = outcome
                    && !ending.swap(true, Ordering::AcqRel)
                {
                    last_trace::write_last();
                    // Of a report that nobody gets the others learn by the end of this node, and one of them reports.
                    if fate::report_loss(index + 1, &loss(index + 1, &member, &error)) {
                        abort(&others);
                    }
                    fate::end_quietly();
                }
            })?;
        }
        Ok(Self { others, ready, seen, ending, started, traces })
    }

    /// Waits until all other nodes are ready. If one is lost meanwhile, the process ends.
    pub(crate) fn wait_until_ready(&self) {
        for _ in self.others.iter() {
            // The watchers hold the other ends as long as the process lives.
            let _ready = self.ready.recv();
        }
        self.started.store(true, Ordering::Relaxed);
    }

    /// Makes all other nodes enter a phase.
    pub(crate) fn enter(&self, phase: Phase) {
        self.tell(&Control::Enter(phase as u8));
    }

    fn tell(&self, message: &Control) {
        for other in self.others.iter() {
            // Its watcher sees that it is lost.
            let _lost = lock(other).send(message.clone());
        }
    }

    /// What each of the other nodes has done so far, if all is quiet there.
    fn look_at_each(&self) -> Vec<Option<u64>> {
        self.tell(&Control::Look);
        // Hear all, even if one said no: answers come in turn. A lost node ends the process.
        self.seen.iter().map(|seen| seen.recv().ok().flatten()).collect()
    }

    /// The other nodes that are not quiet, one line each.
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

    /// What the other nodes have kept of events.
    pub(crate) fn traces(&self) -> Vec<NodeTrace> {
        self.traces.gather(&self.others, TRACES)
    }

    /// The same in a hurry: those that arrive soon.
    pub(crate) fn traces_in_haste(&self) -> impl Fn() -> Vec<NodeTrace> + Send + 'static {
        let (traces, others) = (Arc::clone(&self.traces), Arc::clone(&self.others));
        move || traces.gather(&others, TRACES_IN_HASTE)
    }

    /// Lets the other nodes end.
    pub(crate) fn end(&self) {
        // AcqRel: pairs with that of the watchers, one of which may be about to end this process.
        while self.ending.swap(true, Ordering::AcqRel) {
            thread::park();
        }
        self.tell(&Control::End);
    }

    /// Ends the other nodes, since `main` panicked.
    pub(crate) fn abort(&self) {
        // Release: pairs with the AcqRel of the watchers.
        self.ending.store(true, Ordering::Release);
        abort(&self.others);
    }
}

impl Drop for Leader {
    /// A node that could not start says why, and may go on without the others.
    fn drop(&mut self) {
        // AcqRel: pairs with that of the watchers.
        if !self.ending.swap(true, Ordering::AcqRel) {
            abort(&self.others);
        }
    }
}

fn abort(others: &[Mutex<MessageWriter>]) {
    say_last(others, &Control::Abort);
}

/// Tells other nodes something before this one ends.
pub(super) fn say_last<'a>(others: impl IntoIterator<Item = &'a Mutex<MessageWriter>>, message: &Control) {
    // For all of them together: many may be stopped.
    let due = Instant::now() + LAST_WORDS;
    for other in others {
        // Who holds the lock for longer than a moment is writing to a node that does not read.
        let writer = loop {
            match other.try_lock() {
                Err(_) if Instant::now() < due => thread::sleep(Duration::from_millis(1)),
                outcome => break outcome,
            }
        };
        if let Ok(mut writer) = writer {
            let patient = writer.socket().set_patience(LAST_WORDS);
            let _unheard = patient.and_then(|()| writer.send(message.clone()));
        }
    }
}

/// Watches a node on another machine that neither leads nor follows this one: the connection may be cut while both
/// reach node 0. If that node ends, node 0 sees it, and why.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn watch_peer(
    socket: MessageSocket,
    node: usize,
    member: Member,
    survivors: Arc<Survivors>,
) -> io::Result<()> {
    let (reader, writer) = socket.split()?;
    let writer = Arc::new(Mutex::new(writer));
    survivors.keep_remote(node, &writer);
    thread::Builder::new().name(format!("gossamer-node-{node}")).spawn(move || {
        let _bystander = Bystander::here();
        let take = |message| {
            if matches!(message, Control::Reported) {
                survivors.hear(node);
            }
            ControlFlow::Continue(())
        };
        if let Err(error) = watch(reader, &writer, limit(), take) {
            if is_seen_by_one(&error) {
                thread::sleep(NODE_0_SEES_IT);
                if !survivors.has_given_up() {
                    fate::end_for(node, &loss(node, &member, &error));
                }
            }
            survivors.lose(node);
        }
    })?;
    Ok(())
}

/// Another node's side.
pub(crate) struct Follower {
    writer: Arc<Mutex<MessageWriter>>,
    /// Set once the runtime has started: node 0 leads it after all are ready.
    runtime: Arc<OnceLock<Arc<Shared>>>,
    ended: mpsc::Receiver<()>,
    survivors: Arc<Survivors>,
}

impl Drop for Follower {
    /// Like that of `Leader`: the others see that the connection has ended.
    fn drop(&mut self) {
        self.survivors.give_up();
        lock(&self.writer).socket().shutdown(Shutdown::Both);
    }
}

impl Follower {
    /// Watches node 0, and obeys it.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        socket: MessageSocket,
        leader: Member,
        survivors: Arc<Survivors>,
    ) -> io::Result<Self> {
        let (reader, writer) = socket.split()?;
        let writer = Arc::new(Mutex::new(writer));
        let runtime = Arc::new(OnceLock::<Arc<Shared>>::new());
        let (end, ended) = mpsc::channel();
        let follower = Self {
            writer: Arc::clone(&writer),
            runtime: Arc::clone(&runtime),
            ended,
            survivors: Arc::clone(&survivors),
        };
        thread::Builder::new().name("gossamer-node-0".to_owned()).spawn(move || {
            let _bystander = Bystander::here();
            let mut is_aborted = false;
            let take = |message| {
                match (message, runtime.get()) {
                    (Control::Enter(phase), Some(shared)) => shared.advance_to(Phase::numbered(phase)),
                    (Control::Look, Some(shared)) => {
                        // Node 0 is lost otherwise, which the next read sees.
                        let _lost = lock(&writer).send(Control::Seen(shared.look()));
                    }
                    (Control::End, _) => return ControlFlow::Break(()),
                    (Control::GiveTrace, Some(shared)) => {
                        // As above.
                        let _lost = traces::give(&writer, shared);
                    }
                    (Control::Abort, _) => {
                        is_aborted = true;
                        return ControlFlow::Break(());
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            };
            let outcome = watch(reader, &writer, limit(), take);
            if (outcome.is_err() || is_aborted) && runtime.get().is_none() {
                survivors::wait_for_own_reason();
                if survivors.has_given_up() {
                    return;
                }
            }
            if is_aborted {
                // Node 0 has the trace.
                last_trace::set(None);
                fate::end_quietly();
            }
            let Err(error) = outcome else {
                // The waiter is there, or has ended the process.
                let _waited_for = end.send(());
                return;
            };
            let has_to_report = fate::is_watched() || survivors.has_to_report();
            // A report that nobody gets is left to the next node.
            if has_to_report && fate::report_loss(0, &loss(0, &leader, &error)) {
                survivors.tell();
            }
            fate::end_quietly()
        })?;
        Ok(follower)
    }

    /// Tells node 0 that this node is ready, and follows it to the end.
    pub(crate) fn follow(self, shared: Arc<Shared>) {
        let (_waits, mut overdue) = (Bystander::here(), None);
        let _first = self.runtime.set(Arc::clone(&shared));
        // Node 0 is lost otherwise, which the watcher sees.
        let _lost = lock(&self.writer).send(Control::Ready);
        while self.ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let ending = Some(shared.phase()).filter(|phase| *phase != Phase::Running);
            let lasted = ending.and_then(|_| overdue.get_or_insert_with(Overdue::new).is_due());
            if let Some(lasted) = lasted.filter(|_| shared.look().is_none()) {
                quiet::report(lasted, &quiet::what_keeps(&shared));
            }
        }
    }
}
