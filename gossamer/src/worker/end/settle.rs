//! Waiting until all work is done, while the runtime goes on.
//!
//! Worker 0 of node 0, the *coordinator*, knows which fibers wait. In one process it looks at all workers (`activity`)
//! when it is passive itself, and answers them. Of several nodes each has a *reporter*, its first worker, and the
//! coordinator, which is that of node 0, asks them in waves, as F. Mattern does ("Algorithms for distributed
//! termination detection", 1987):
//!
//! 1. The coordinator looks at its own node. If all is quiet there, it asks all reporters.
//! 2. A reporter answers as soon as its look finds its node quiet, with the work that was done there.
//! 3. When all have given the same answers as in the wave before, none of them has done anything between those
//!    answers, and each was quiet at the moment of the coordinator's look, as was node 0: all that waited then are
//!    answered. Otherwise there is another wave.
//!
//! A question is a request like any other, but is not counted as work. A busy node answers when it is quiet, so nothing
//! has to ask repeatedly. A look does not answer a fiber that begins to wait after it.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::rows::Rows;
use crate::worker::end::activity::{look, sum};
use crate::worker::nodes::answers::Outcome;
use crate::worker::nodes::peers::Peers;
use crate::worker::shared::{Phase, Shared};
use crate::worker::{Worker, with_worker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

/// The worker that knows which fibers wait.
const COORDINATOR: usize = 0;

/// The part of one worker.
#[derive(Default)]
pub(crate) struct Settling {
    /// The phase for which this worker has shown that it is passive.
    passive: Cell<Option<Phase>>,
    /// Messages taken, timers and sockets that woke somebody, less the questions among the requests served.
    events: Cell<u64>,
    /// Fibers that wait.
    waiting: Cell<usize>,
    /// At the coordinator: those that asked to be told, in order.
    waiters: RefCell<Vec<(u32, (u32, u64))>>,
    wave: RefCell<Wave>,
}

/// A round of questions to all other nodes.
#[derive(Default)]
struct Wave {
    /// The number of waiters that waited when it began.
    covered: usize,
    /// Nodes that have not answered.
    missing: usize,
    /// Whether one answer differs from the wave before.
    differs: bool,
    /// By node: the work at its last answer.
    work: Vec<Option<u64>>,
}

impl Wave {
    /// A node has answered. If the wave is over, returns whether it has found everything quiet throughout.
    fn take(&mut self, node: usize, work: u64) -> Option<bool> {
        if let Some(last) = self.work.get_mut(node) {
            self.differs |= last.replace(work) != Some(work);
        }
        self.missing = self.missing.checked_sub(1)?;
        (self.missing == 0).then_some(!self.differs)
    }
}

/// A fiber that waits until all work is done, and so does not count as work.
pub(crate) struct Settler(Rc<Cell<bool>>);

impl Settler {
    fn end(here: &Worker, over: &Cell<bool>) {
        if !over.replace(true) {
            here.end.settling.waiting.set(here.end.settling.waiting.get() - 1);
        }
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        with_worker(|here| Self::end(here, &self.0));
    }
}

impl Shared {
    /// Whether the reporter of this node has to keep looking until everything is quiet.
    #[inline]
    pub(crate) fn is_settling(&self) -> bool {
        // Relaxed: a worker that becomes passive reads it again, behind the fence in `Activity::end`.
        self.settling.load(Ordering::Relaxed)
    }

    fn set_settling(&self, settling: bool) {
        self.settling.store(settling, Ordering::Relaxed);
        // Before the reporter looks: pairs with the fence in `Activity::end`.
        fence(Ordering::SeqCst);
    }

    /// Looks at all workers of this node: returns how much they have done so far, if all were passive at one moment
    /// of the present phase.
    pub(crate) fn look(&self) -> Option<u64> {
        let activities = self.mailboxes.iter().map(|mailbox| &mailbox.activity);
        look(
            activities,
            || self.mailboxes.iter().any(|mailbox| !mailbox.inbox.is_empty()),
            self.phase() as u8,
        )
    }
}

impl Worker {
    /// Calls `then` when all workers of all nodes have nothing left to do but wait for this. The running fiber counts
    /// as waiting until the returned value is dropped.
    pub(crate) fn when_settled(&self, then: impl FnOnce(Outcome) + 'static) -> Settler {
        type Asked = (u32, (u32, u64));
        let waiting = Rc::new(Cell::new(false));
        self.end.settling.waiting.set(self.end.settling.waiting.get() + 1);
        let over = Rc::clone(&waiting);
        let ticket = self.expect_new(Box::new(move |outcome| {
            // From here on it counts again as a fiber that has not ended.
            with_worker(|here| Settler::end(here, &over));
            then(outcome);
        }));
        if self.index == COORDINATOR {
            self.start_settling(self.index as u32, ticket);
        } else {
            let settle = |_: &mut Root, (client, ticket): Asked| {
                with_worker(|here| here.start_settling(client, ticket))
            };
            self.tell_worker(
                COORDINATOR,
                Delegated::travelling::<Root, _>(settle),
                (self.index as u32, ticket),
            );
        }
        Settler(waiting)
    }

    fn start_settling(&self, client: u32, ticket: (u32, u64)) {
        self.end.settling.waiters.borrow_mut().push((client, ticket));
        if self.end.settling.wave.borrow().missing == 0 {
            self.shared.set_settling(true);
        }
    }

    /// Whether this worker has shown that it is passive, and still is: nothing has arrived that a turn would take up.
    #[inline(always)]
    pub(in crate::worker) fn rests(&self) -> bool {
        self.end.settling.passive.get().is_some() && !self.is_called()
    }

    /// Whether a passive worker has to become active; if so, it is active when this returns (Q3).
    fn is_called(&self) -> bool {
        let has_something = self.has_requests()
            || self.has_responses()
            || !self.shared.mailbox(self.index).inbox.is_empty()
            || self.fibers.scheduler.has_ready()
            || !self.fibers.timers.is_empty()
            || self.has_outstanding()
            || self.end.grace.is_pending();
        if has_something {
            self.begin_activity();
        }
        has_something
    }

    /// This worker is about to do something (Q3).
    pub(in crate::worker) fn begin_activity(&self) {
        if self.end.settling.passive.take().is_some() {
            self.shared.mailbox(self.index).activity.begin();
        }
    }

    /// Something has arrived outside a lane, and is about to be taken.
    pub(in crate::worker) fn note_event(&self) {
        self.begin_activity();
        self.end.settling.events.set(self.end.settling.events.get().wrapping_add(1));
    }

    /// Shows that this worker is passive in a phase, if it is (Q4). Returns whether it is.
    pub(in crate::worker) fn rest(&self, phase: Phase) -> bool {
        if self.end.settling.passive.get() == Some(phase) {
            return true;
        }
        let waiting = if phase == Phase::Running { self.end.settling.waiting.get() } else { 0 };
        if self.fibers.scheduler.live() > waiting || self.has_outstanding() || self.end.grace.is_pending() {
            return false;
        }
        let work = self.served().wrapping_add(self.end.settling.events.get());
        self.shared.mailbox(self.index).activity.end(phase as u8, work);
        self.end.settling.passive.set(Some(phase));
        if phase == Phase::Running && !self.is_reporter() && self.shared.is_settling() {
            let mut activities = self.shared.mailboxes.iter().map(|mailbox| &mailbox.activity);
            if sum(&mut activities, phase as u8).is_some() {
                self.shared.mailbox(self.shared.first).ring();
            }
        }
        true
    }

    fn is_reporter(&self) -> bool {
        self.index == self.shared.first
    }

    /// Whether the look that this worker was asked for finds everything quiet.
    pub(in crate::worker) fn finds_quiet(&self) -> bool {
        let asked = self.is_reporter() && self.shared.is_settling() && self.shared.phase() == Phase::Running;
        asked && self.shared.look().is_some()
    }

    /// At the end of a turn, while somebody waits: shows whether this worker is passive, and if it is the reporter
    /// and everything is quiet, reports so. Returns whether it did.
    pub(in crate::worker) fn settle(&self) -> bool {
        let work = if self.rest(Phase::Running) && self.is_reporter() { self.shared.look() } else { None };
        let Some(work) = work else { return false };
        self.begin_activity();
        self.shared.set_settling(false);
        match &self.shared.peers {
            Some(peers) if peers.node() > 0 => self.report_quiet(peers.node() as u32, work),
            Some(peers) if peers.nodes() > 1 => self.begin_wave(peers),
            _ => self.answer_waiters(usize::MAX),
        }
        true
    }

    fn begin_wave(&self, peers: &Peers) {
        {
            let mut wave = self.end.settling.wave.borrow_mut();
            wave.covered = self.end.settling.waiters.borrow().len();
            wave.missing = peers.nodes() - 1;
            wave.differs = false;
            wave.work.resize(peers.nodes(), None);
        }
        let ask = |_: &mut Root, ()| {
            with_worker(|here| {
                // This is counted among the requests served, and is no work.
                here.end.settling.events.set(here.end.settling.events.get().wrapping_sub(1));
                here.shared.set_settling(true);
            });
        };
        for node in 1..peers.nodes() {
            self.tell_worker(peers.workers_of(node).start, Delegated::travelling::<Root, _>(ask), ());
        }
        self.publish();
        self.flush_connections(false);
    }

    fn report_quiet(&self, node: u32, work: u64) {
        let seen = |_: &mut Root, (node, work): (u32, u64)| with_worker(|here| here.take_report(node, work));
        self.tell_worker(COORDINATOR, Delegated::travelling::<Root, _>(seen), (node, work));
        self.publish();
        self.flush_connections(false);
    }

    fn take_report(&self, node: u32, work: u64) {
        let (outcome, covered) = {
            let mut wave = self.end.settling.wave.borrow_mut();
            (wave.take(node as usize, work), wave.covered)
        };
        match outcome {
            Some(true) => self.answer_waiters(covered),
            Some(false) => self.shared.set_settling(true),
            None => {}
        }
    }

    /// Everything was quiet when the first `covered` waiters already waited.
    fn answer_waiters(&self, covered: usize) {
        let mut waiters = self.end.settling.waiters.take();
        let later = waiters.split_off(covered.min(waiters.len()));
        self.shared.set_settling(!later.is_empty());
        self.end.settling.waiters.replace(later);
        for (client, ticket) in waiters {
            self.answer(client as usize, ticket, Ok(Rows::default()));
        }
    }
}
