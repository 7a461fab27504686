//! What code that cannot wait may send: as much as it has to, within a limit for runaways. A worker with a long backlog is
//! held back meanwhile, so that a backlog grows no further than its program needs.
//!
//! A delegated closure cannot wait for room: the trustees of two closures that wait for each other would wait for ever.
//! So what it sends is queued. But a worker that has more than `Config::backlog` requests queued for one trustee does
//! not need more work that might send: it leaves its requests unserved, and so their senders wait in its place.
//!
//! - Z2: a worker is held back only while following the backlogs (of this worker for a trustee, of that one for
//!   another, …) leads to a worker without one, which serves. Those in a circle serve.
//! - Z3: whatever the others do, it serves a batch of each lane once in `PATIENCE`.
//!
//! Meanwhile it sleeps over the requests that have landed, if it has nothing else to do. What shortens its backlog, or
//! makes it part of a circle, is an answer to it or is followed by one, which wakes it.
//!
//! So nobody waits for ever: by Z3 alone every request is served in the end. Z2 is about speed, and may be decided by
//! what was true a moment ago.

use crate::worker::Worker;
use crate::worker::shared::Shared;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// For how long a worker is held back before it serves one batch of each lane.
const PATIENCE: Duration = Duration::from_secs(1);

/// More than `Config::backlog` times this many requests wait for no trustee: the program runs away.
const RUNAWAY: usize = 64;

/// The trustee for which a worker has a long backlog, for others to see. A hint: no data comes with it, so all accesses
/// are relaxed.
pub(crate) struct LongBacklog(AtomicUsize);

impl LongBacklog {
    const NONE: usize = usize::MAX;

    pub(crate) const fn none() -> Self {
        Self(AtomicUsize::new(Self::NONE))
    }

    fn set(&self, trustee: Option<usize>) {
        self.0.store(trustee.unwrap_or(Self::NONE), Ordering::Relaxed);
    }

    fn get(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed)).filter(|trustee| *trustee != Self::NONE)
    }
}

/// Whether a worker is to be held back.
#[derive(Default)]
pub(super) struct Restraint {
    /// It may have a long backlog.
    is_long: Cell<bool>,
    /// Since when it has served nothing, if it is held back.
    since: Cell<Option<Instant>>,
}

impl Restraint {
    #[inline(always)]
    pub(super) fn is_long(&self) -> bool {
        self.is_long.get()
    }
}

impl Worker {
    /// Checks that code which cannot wait may queue a request; pieces of large values count too.
    ///
    /// # Panics
    /// If there are too many.
    pub(crate) fn require_backlog(&self, trustee: usize) {
        let (waiting, limit) = (self.lane_to(trustee).client.backlog(), self.shared.config.backlog);
        if waiting >= limit {
            self.lanes.restraint.is_long.set(true);
            if waiting >= limit.saturating_mul(RUNAWAY) {
                self.too_many_waiting(waiting);
            }
        }
    }

    #[cold]
    fn too_many_waiting(&self, waiting: usize) -> ! {
        panic!(
            "{waiting} requests of worker {} to one trustee wait for room, sent by delegated closures or callbacks, which \
             cannot wait themselves. That is {RUNAWAY} times Config::backlog (GOSSAMER_BACKLOG): send from a fiber, which \
             can wait, or send less, or raise it",
            self.index
        )
    }

    /// How many batches of each lane this worker, which may have a long backlog, is to serve in this turn, at most.
    #[cold]
    #[inline(never)]
    pub(super) fn batches_in_spite_of_backlog(&self) -> u32 {
        let restraint = &self.lanes.restraint;
        let is_long = |trustee: &usize| self.has_long_backlog(*trustee);
        let long = self.lanes.connected().iter().copied().find(is_long);
        self.shared.mailbox(self.index).long_backlog.set(long);
        restraint.is_long.set(long.is_some());
        let is_held_back = long.is_some_and(|trustee| leads_to_a_server(&self.shared, trustee));
        if !is_held_back {
            restraint.since.set(None);
            return u32::MAX;
        }
        let now = Instant::now();
        let since = restraint.since.get().unwrap_or(now);
        let is_patient = now.duration_since(since) < PATIENCE;
        restraint.since.set(Some(if is_patient { since } else { now }));
        u32::from(!is_patient)
    }

    /// How much longer this worker is held back, if it is, unless it learns that its backlog has become shorter.
    pub(super) fn held_back_for(&self) -> Option<Duration> {
        self.lanes.restraint.since.get().map(|since| PATIENCE.saturating_sub(since.elapsed()))
    }

    fn has_long_backlog(&self, trustee: usize) -> bool {
        self.lane_to(trustee).client.backlog() >= self.shared.config.backlog
    }
}

/// Whether a worker serves, or waits (perhaps through others) for one that does. Those of other nodes are taken for
/// held back, since nobody here sees whether they are.
fn leads_to_a_server(shared: &Shared, mut trustee: usize) -> bool {
    for _ in &shared.mailboxes {
        if !shared.is_here(trustee) {
            return false;
        }
        match shared.mailbox(trustee).long_backlog.get() {
            Some(next) => trustee = next,
            None => return true,
        }
    }
    false
}
