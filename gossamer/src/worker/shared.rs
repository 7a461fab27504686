//! What the threads of a runtime, and threads outside it, share.

use crate::counters::trace::{EventKind, TraceEvent};
use crate::worker::config::Config;
use crate::worker::mailbox::Mailbox;
use crate::worker::nodes::peers::Peers;
use crate::worker::nodes::replicas::Replicas;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The phase of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(crate) enum Phase {
    Running,
    /// `main` has returned: fibers are cancelled, requests in flight are served.
    Draining,
    /// Nothing is in flight: properties are dropped, and requests that this sends are served.
    Dropping,
    /// Workers leave their loops.
    Ended,
}

impl Phase {
    /// The phase with the number `self as u8`.
    pub(crate) fn numbered(number: u8) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Draining,
            2 => Self::Dropping,
            _ => Self::Ended,
        }
    }
}

/// How often to check whether everything is quiet.
pub(crate) const QUIET_LOOK: Duration = Duration::from_micros(50);

/// Whether nothing is under way on any node, in the present phase: two looks at each find it quiet (`end/activity.rs`), with nothing
/// done between, so all were quiet at the moment between the looks.
pub(crate) fn is_quiescent(look: impl Fn() -> Option<u64>) -> bool {
    matches!((look(), look()), (Some(first), Some(second)) if first == second)
}

/// One runtime.
pub(crate) struct Shared {
    /// Process-wide number of worker 0 of node 0; the others follow.
    pub(crate) base: u32,
    pub(crate) config: Config,
    /// Those of the workers of this node.
    pub(crate) mailboxes: Box<[Mailbox]>,
    /// Index of the first worker of this node.
    pub(crate) first: usize,
    /// The processors that these workers may use have to serve more workers than there are processors.
    pub(crate) is_crowded: bool,
    /// The other nodes, if there are any.
    pub(crate) peers: Option<Peers>,
    /// The copies that this node has of replicated values.
    pub(crate) replicas: Replicas,
    /// Rounds of collectives that this node has taken part in.
    rounds: AtomicU64,
    /// Whether the first worker has to keep checking until everything is quiet.
    pub(super) settling: AtomicBool,
    phase: AtomicU8,
}

/// Process-wide numbers are never reused, so that a trust of an ended runtime cannot be taken for one of another.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);
static RUNTIMES: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

fn runtimes() -> std::sync::MutexGuard<'static, Vec<Weak<Shared>>> {
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The oldest runtime of this process.
pub(crate) fn oldest() -> Option<Arc<Shared>> {
    runtimes().iter().find_map(Weak::upgrade)
}

/// The runtimes of this process, each by the number of its first worker.
pub(crate) fn living() -> Vec<u32> {
    runtimes().iter().filter_map(Weak::upgrade).map(|shared| shared.base).collect()
}

impl Shared {
    /// Registers a runtime, so that `Trustee`s find it from any thread. `None` if the numbers have run out.
    pub(crate) fn register(
        config: Config,
        mailboxes: Box<[Mailbox]>,
        is_crowded: bool,
        peers: Option<Peers>,
    ) -> Option<Arc<Self>> {
        let (first, workers) = peers
            .as_ref()
            .map_or((0, mailboxes.len()), |peers| (peers.workers_of(peers.node()).start, peers.workers()));
        let count = u32::try_from(workers).ok()?;
        let taken = |next: u32| next.checked_add(count);
        let base = NEXT_NUMBER.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        let phase = AtomicU8::new(Phase::Running as u8);
        let shared = Arc::new(Self {
            base,
            config,
            mailboxes,
            first,
            is_crowded,
            peers,
            replicas: Replicas::default(),
            rounds: AtomicU64::new(0),
            settling: AtomicBool::new(false),
            phase,
        });
        let mut runtimes = runtimes();
        runtimes.retain(|runtime| runtime.strong_count() > 0);
        runtimes.push(Arc::downgrade(&shared));
        Some(shared)
    }

    /// The runtime, and the index in it, of the worker with this number, if it still exists.
    pub(crate) fn find(number: u32) -> Option<(Arc<Self>, usize)> {
        runtimes().iter().filter_map(Weak::upgrade).find_map(|shared| {
            let index = number.wrapping_sub(shared.base) as usize;
            (index < shared.workers()).then_some((shared, index))
        })
    }

    /// The runtimes of this process that have not ended.
    pub(crate) fn all() -> Vec<Arc<Self>> {
        runtimes().iter().filter_map(Weak::upgrade).filter(|shared| shared.phase() < Phase::Ended).collect()
    }

    /// The number of the next collective of this node.
    pub(crate) fn next_round(&self) -> u64 {
        self.rounds.fetch_add(1, Ordering::Relaxed)
    }

    /// How many workers all nodes have together. A worker's index counts over all of them.
    pub(crate) fn workers(&self) -> usize {
        self.peers.as_ref().map_or(self.mailboxes.len(), Peers::workers)
    }

    /// Whether a worker is of this node.
    #[inline(always)]
    pub(crate) fn is_here(&self, worker: usize) -> bool {
        worker.wrapping_sub(self.first) < self.mailboxes.len()
    }

    /// The mailbox of a worker of this node.
    #[inline(always)]
    pub(crate) fn mailbox(&self, worker: usize) -> &Mailbox {
        &self.mailboxes[worker - self.first]
    }

    /// The mailbox of a worker, if it is of this node, or otherwise that of one here that sends for threads.
    pub(crate) fn mailbox_towards(&self, worker: usize) -> &Mailbox {
        self.mailbox(if self.is_here(worker) { worker } else { self.first })
    }

    /// Wakes a worker of any node if it sleeps. Call this after publishing what it should see.
    #[inline(always)]
    pub(crate) fn ring(&self, worker: usize) {
        if self.is_here(worker) {
            self.mailbox(worker).ring();
        } else if let Some(peers) = &self.peers {
            peers.ring(worker);
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // Acquire: pairs with the Release in `advance_to`.
        Phase::numbered(self.phase.load(Ordering::Acquire))
    }

    /// Advances the phase, and wakes all workers to notice.
    pub(crate) fn advance_to(&self, phase: Phase) {
        if let Some(ring) = self.mailboxes.first().and_then(|first| first.counters.trace.as_ref()) {
            ring.push(TraceEvent { number: phase as u64, ..TraceEvent::now(EventKind::Phase) });
        }
        // Release: pairs with the Acquire in `phase`.
        self.phase.store(phase as u8, Ordering::Release);
        if phase == Phase::Draining {
            self.mailboxes.iter().for_each(|mailbox| mailbox.inbox.close_to_requests());
        }
        self.wake_all();
    }

    /// Wakes all workers to look at what is not work.
    fn wake_all(&self) {
        // Not `ring`: a worker about to sleep looks for work.
        self.mailboxes.iter().for_each(Mailbox::wake);
    }
}
