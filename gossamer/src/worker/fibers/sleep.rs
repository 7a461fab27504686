//! What a worker does when a turn found nothing: spin a little, offer the processor, sleep until something happens.

use crate::worker::Worker;
use crate::worker::fibers::readiness::Sources;
use std::cell::{Cell, RefCell};
use std::io;
use std::time::{Duration, Instant};

/// Turns without work before the worker offers its processor to others: about the time a peer takes to answer. A look at a
/// connection counts as so many.
const SPINS: u32 = 400;
const SPINS_PER_CONNECTION: u32 = 3;
/// The same as a time, for turns that are long: where there are many lanes, or an RDMA device in software, which needs the processor.
const SPIN_TIME: Duration = Duration::from_micros(50);
/// Turns between two looks at the clock.
const CLOCK_EVERY: u32 = 32;
/// Offers before it sleeps.
const OFFERS: u32 = 20;

/// Socket events taken from the kernel at once.
const EVENTS: usize = 256;

/// How long a worker has been idle.
#[derive(Default)]
pub(crate) struct Idleness {
    turns: Cell<u32>,
    /// Since about when.
    since: Cell<Option<Instant>>,
}

impl Idleness {
    #[inline(always)]
    pub(crate) fn reset(&self) {
        self.turns.set(0);
    }

    /// One turn found nothing, with so many connections looked at; whether it is time to sleep.
    pub(crate) fn is_time_to_sleep(&self, connections: usize) -> bool {
        let mut turns = self.turns.get();
        let look = 1 + SPINS_PER_CONNECTION * connections as u32;
        if turns < SPINS && turns % CLOCK_EVERY < look && self.is_long(turns == 0) {
            turns = SPINS;
        }
        // Offers are counted one by one.
        let weight = if turns < SPINS { look } else { 1 };
        self.turns.set(turns.saturating_add(weight).min(SPINS.max(turns + 1)));
        if turns < SPINS {
            std::hint::spin_loop();
        } else if turns < SPINS + OFFERS {
            std::thread::yield_now();
        }
        turns >= SPINS + OFFERS
    }

    /// Whether it has been idle for as long as it is to spin, if it has not just begun to be.
    fn is_long(&self, begins: bool) -> bool {
        let now = Instant::now();
        let since = self.since.get().filter(|_| !begins).unwrap_or(now);
        self.since.set(Some(since));
        now - since >= SPIN_TIME
    }
}

impl Worker {
    /// Sleeps until a request, a response, a message, a timer or a socket needs the worker.
    pub(crate) fn sleep(&self) {
        // An event of a socket may have woken a fiber of another worker after this turn published.
        self.publish();
        self.flush_connections(false);
        let mailbox = &self.shared.mailbox(self.index);
        mailbox.doorbell.prepare_to_sleep();
        let notifier = self.shared.peers.as_ref().map(|peers| peers.notifier(self.index));
        notifier.into_iter().for_each(|notifier| notifier.doorbell().prepare_to_sleep());
        self.arm_connections();
        // The poller tells of changes, and one may have been taken for another's: so a last look, after the flags are up.
        let heard = self.hear_nodes() || !mailbox.inbox.is_empty();
        if !heard && !self.has_landed() && !self.fibers.scheduler.has_ready() && !self.can_send_arguments() {
            let now = Instant::now();
            let (timer, patience) = (self.fibers.timers.next(now), self.nodes.connections.patience());
            self.poll_sources(timer.into_iter().chain(patience).min());
        }
        mailbox.doorbell.awake();
        notifier.into_iter().for_each(|notifier| notifier.doorbell().awake());
    }

    /// Looks for socket events for at most `timeout` (`None`: until woken) and wakes who waits for them.
    pub(crate) fn poll_sources(&self, timeout: Option<Duration>) {
        self.fibers.poller.poll(timeout, &self.shared.mailbox(self.index).sources);
    }
}

/// What a worker sleeps in.
pub(crate) struct Poller {
    poll: RefCell<mio::Poll>,
    /// Made at the first look at the sockets.
    events: Cell<Option<mio::Events>>,
}

impl Poller {
    pub(crate) fn new(poll: mio::Poll) -> Self {
        Self { poll: RefCell::new(poll), events: Cell::new(None) }
    }

    fn poll(&self, timeout: Option<Duration>, sources: &Sources) {
        // Taken for the length of the call: a waker may be a user's, and lead back here.
        let mut events = self.events.take().unwrap_or_else(|| mio::Events::with_capacity(EVENTS));
        let outcome = self.poll.borrow_mut().poll(&mut events, timeout);
        match outcome {
            Ok(()) => sources.dispatch(&events),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Without its poller a worker would miss every wake-up: end, do not hang.
                eprintln!("gossamer: a worker cannot poll: {error}");
                std::process::abort();
            }
        }
        self.events.set(Some(events));
    }
}
