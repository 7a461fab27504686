//! How a worker sleeps until something happens, and how it checks its sockets while it is busy.

use crate::counters::trace::{self, EventKind, TraceEvent};
use crate::sys::threads::affinity;
use crate::worker::Worker;
use crate::worker::fibers::sources::Sources;
use crate::worker::shared::Phase;
use crate::worker::watch::doze;
use std::cell::{Cell, RefCell};
use std::io;
use std::time::{Duration, Instant};

/// Socket events taken from the kernel at once.
const EVENTS: usize = 256;

impl Worker {
    /// Sleeps until a request, a response, a message, a timer or a socket needs the worker. Returns whether a socket did.
    pub(crate) fn sleep(&self) -> bool {
        // An event of a socket may have woken a fiber of another worker after this turn published.
        self.publish();
        self.flush_connections(false);
        if self.shared.phase() == Phase::Running {
            // So that those that wait until all work is done need not wake it.
            self.rest(Phase::Running);
        }
        let mailbox = &self.shared.mailbox(self.index);
        mailbox.doorbell.prepare_to_sleep();
        let notifier = self.shared.peers.as_ref().map(|peers| peers.notifier(self.index));
        notifier.into_iter().for_each(|notifier| notifier.doorbell().prepare_to_sleep());
        self.arm_connections();
        // The poller reports changes, and one may have been taken together with another: so a last check, after the
        // flags are up.
        let heard = self.hear_nodes() || !mailbox.inbox.is_empty();
        let mut by_socket = false;
        let held_back_for = self.held_back_for();
        let has_landed = self.has_responses() || held_back_for.is_none() && self.has_requests();
        let has_work = heard || has_landed || self.fibers.scheduler.has_ready() || self.can_send_large();
        if !has_work && !self.finds_quiet() {
            let asleep = Instant::now();
            self.counters.time.fall_asleep(asleep);
            // Those that wait for this processor have it now.
            self.fibers.woken.forget();
            by_socket = self.poll_sources(self.time_to_sleep().into_iter().chain(held_back_for).min());
            mailbox.view.note_processor(affinity::here());
            doze::woken();
            if let Some(ring) = &self.counters.trace {
                ring.push(TraceEvent::since(EventKind::Sleep, trace::at(asleep)));
            }
        }
        mailbox.doorbell.awake();
        notifier.into_iter().for_each(|notifier| notifier.doorbell().awake());
        by_socket
    }

    /// How long there is nothing to do, if nobody wakes the worker (`None`: for ever).
    fn time_to_sleep(&self) -> Option<Duration> {
        let patience = self.nodes.connections.patience();
        // The clock is read only if there is a timer.
        let timer = Some(&self.fibers.timers).filter(|timers| !timers.is_empty());
        timer.and_then(|timers| timers.next(Instant::now())).into_iter().chain(patience).min()
    }

    /// Looks for socket events for at most `timeout` (`None`: until woken) and wakes who waits for them. Returns whether there was one.
    pub(crate) fn poll_sources(&self, timeout: Option<Duration>) -> bool {
        let found = self.fibers.poller.poll(timeout, &self.shared.mailbox(self.index).sources);
        if found {
            self.note_event();
        }
        found
    }
}

/// Turns between two checks of the sockets while the worker is busy.
const POLL_EVERY: u32 = 64;
/// Time between two checks, for long turns.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// Turns between two looks at the clock.
const CLOCK_EVERY: u32 = 8;

/// When a worker that does not sleep checks its sockets.
#[derive(Default)]
pub(crate) struct PollClock {
    /// Turns since it has last asked.
    turns: u32,
    since: Option<Instant>,
}

impl PollClock {
    /// A turn is over. Returns whether it is time to ask.
    #[inline]
    pub(crate) fn is_due(&mut self, busy: bool) -> bool {
        self.turns += 1;
        // Turns without work are short.
        let looks = busy && self.turns.is_multiple_of(CLOCK_EVERY);
        self.turns >= POLL_EVERY || (looks && self.is_long())
    }

    fn is_long(&mut self) -> bool {
        self.since.get_or_insert_with(Instant::now).elapsed() >= POLL_INTERVAL
    }

    /// The poller has been asked.
    #[inline]
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
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

    fn poll(&self, timeout: Option<Duration>, sources: &Sources) -> bool {
        // Taken for the duration of the call: a waker may be the user's, and call back here.
        let mut events = self.events.take().unwrap_or_else(|| mio::Events::with_capacity(EVENTS));
        let outcome = self.poll.borrow_mut().poll(&mut events, timeout);
        let found = match outcome {
            Ok(()) => sources.dispatch(&events),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            Err(error) => {
                // Without its poller a worker would miss every wake-up: end the process instead of hanging.
                eprintln!("gossamer: a worker cannot poll: {error}");
                std::process::abort();
            }
        };
        self.events.set(Some(events));
        found
    }
}
