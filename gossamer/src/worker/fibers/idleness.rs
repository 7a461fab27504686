//! What a worker does when a turn found nothing: spin, offer its processor to others, or sleep; and how it learns
//! which is best.
//!
//! Spinning pays if work arrives sooner than a sleep and a wake-up take, and if nobody else wants the processor. So a
//! worker adapts to what has happened:
//!
//! - **Whether others want the processor.** If an offer (`sched_yield`) takes longer than one that nobody accepts,
//!   somebody else has run. If that was short, the others soon wait for this worker: they are workers that share its
//!   processor, or clients of a server. Then it does not spin, but offers: they go on, and nobody has to be woken. If it
//!   was long ([`LONG`]), the processor is used by somebody that does not wait for the worker, and offering makes the
//!   worker late; then it sleeps instead, since the kernel prefers threads that wake up to those that never sleep.
//! - **What ended its idle times**, if it watches sockets of the program. If a socket did, its patience is halved:
//!   polling in vain and sleeping both cost a system call. If it was work that spinning finds, within the allowed time
//!   ([`SPIN_TIME`]), its patience grows. So a worker whose work all comes from sockets sleeps at once, and one that
//!   answers another worker spins. Beside others it offers only once, so that the poller returns many events at once.
//!   A worker without sockets has all its work from other workers, and is patient: if two that answer each other slept,
//!   each would delay the other's work.
//!
//! What was learned about others is forgotten after a number of idle times ([`MEMORY`]) in which nobody accepted an
//! offer. A worker that does not spin offers now and then to find out ([`PROBE_EVERY`]).

use crate::counters::worker::WorkerCounters;
use crate::worker::fibers::wake_policy::WakePolicy;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Turns without work before the worker offers its processor to others, at most: about the time a peer takes to
/// answer. Checking a connection counts as some turns.
const SPINS: u32 = 400;
const SPINS_PER_CONNECTION: u32 = 3;
/// The same as a time, for long turns: with many lanes, or with an RDMA device in software, which needs the
/// processor.
const SPIN_TIME: Duration = Duration::from_micros(50);
/// Turns between two looks at the clock.
const CLOCK_EVERY: u32 = 32;
/// Offers before it sleeps, at most,
const OFFERS: u32 = 20;
/// and of a worker without sockets if others have accepted some. They take as long as it would spin.
const OFFERS_TO_OTHERS: u32 = 100;
/// An offer that nobody accepts takes less than this,
const OFFER_TIME: Duration = Duration::from_micros(5);
/// or this if workers share processors: a peer that offers at once as well gives the processor back sooner.
const OFFER_TIME_AMONG_WORKERS: Duration = Duration::from_micros(1);
/// An offer accepted by somebody that does not wait for the worker takes more than this,
const LONG: Duration = Duration::from_micros(500);
/// or this if workers share processors: then all others may have their turns before the worker runs again.
const LONG_AMONG_WORKERS: Duration = Duration::from_millis(5);
/// Idle times for which it remembers that somebody accepted an offer.
const MEMORY: u32 = 64;
/// To ask whether somebody still uses the processor for long takes that long. So a worker without sockets remembers it
/// four times as long each time that it finds it so, up to this.
const LONGEST_MEMORY: u32 = 16_384;
/// Idle times without an offer, of a worker that is not patient enough to make one.
const PROBE_EVERY: u32 = 16;
/// The constant part by which patience grows.
const GROWTH: u32 = 32;

/// How long a worker has been idle, and what it has learned.
pub(crate) struct Idleness {
    /// Since when it is idle; `None` while it is busy.
    since: Cell<Option<Instant>>,
    turns: Cell<u32>,
    offers: Cell<u32>,
    /// It has slept since.
    has_slept: Cell<bool>,
    /// Somebody has accepted an offer that took this long.
    accepted: Duration,
    /// An offer takes long if it takes longer than this, unless the worker watches sockets.
    long: Duration,
    /// A socket has had something since.
    by_socket: Cell<bool>,
    /// It watches sockets of the program, and so learns patience.
    learns: Cell<bool>,
    /// Turns that it spins.
    patience: Cell<u32>,
    company: Cell<Company>,
    wake_policy: WakePolicy,
    /// Idle times to come in which it remembers its company; and how many next time, if the last offer took long again.
    memory: Cell<u32>,
    next_memory: Cell<u32>,
    /// The last offer took long.
    was_long: Cell<bool>,
    /// Idle times since the last offer.
    unoffered: Cell<u32>,
    /// The last reading of the clock in an idle time that counts: shorter ones are not worth reading the clock.
    counted: Cell<Option<Instant>>,
    counters: Arc<WorkerCounters>,
}

/// Who wants the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    Nobody,
    /// They run for a short time.
    Brief,
    Long,
}

impl Idleness {
    /// `is_crowded`: there are more workers than processors for them.
    pub(crate) fn new(counters: Arc<WorkerCounters>, is_crowded: bool) -> Self {
        Self {
            since: Cell::default(),
            turns: Cell::default(),
            offers: Cell::default(),
            has_slept: Cell::default(),
            accepted: if is_crowded { OFFER_TIME_AMONG_WORKERS } else { OFFER_TIME },
            long: if is_crowded { LONG_AMONG_WORKERS } else { LONG },
            by_socket: Cell::default(),
            learns: Cell::default(),
            patience: Cell::new(SPINS),
            company: Cell::new(Company::Nobody),
            wake_policy: WakePolicy::new(),
            memory: Cell::default(),
            next_memory: Cell::new(MEMORY),
            was_long: Cell::default(),
            unoffered: Cell::default(),
            counted: Cell::default(),
            counters,
        }
    }

    /// A turn found something. Returns until when, at least, the worker was idle, if that counts.
    #[inline(always)]
    pub(crate) fn reset(&self) -> Option<Instant> {
        self.since.take().and_then(|since| self.learn(since))
    }

    /// Since when the worker is idle, if that counts.
    #[inline(always)]
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        self.counted.get().and(self.since.get())
    }

    /// The worker has asked its poller. Returns whether a socket had something.
    #[inline(always)]
    pub(crate) fn note_poll(&self, by_socket: bool) {
        self.by_socket.set(self.by_socket.get() || by_socket);
    }

    /// The worker has slept, until now.
    pub(crate) fn note_sleep(&self, now: Instant) {
        self.has_slept.set(true);
        self.wake_policy.note_sleep(self.learns.get());
        self.count(self.since.get().unwrap_or(now), now);
    }

    /// The worker has been idle until now at least.
    fn count(&self, since: Instant, now: Instant) {
        if self.counted.replace(Some(now)).is_none() {
            self.counters.time.end_work(since);
        }
    }

    fn learn(&self, since: Instant) -> Option<Instant> {
        let counted = self.counted.take();
        if let Some(until) = counted {
            self.counters.time.begin_work(until);
        }
        let patience = self.patience.get();
        let has_slept = self.has_slept.replace(false);
        if self.by_socket.take() {
            self.patience.set(patience / 2);
        } else if !has_slept || since.elapsed() < SPIN_TIME {
            self.patience.set(SPINS.min(2 * patience + GROWTH));
        }
        let memory = self.memory.get().saturating_sub(1);
        self.memory.set(memory);
        if memory == 0 {
            self.company.set(Company::Nobody);
        }
        self.unoffered.set(if self.offers.take() > 0 { 0 } else { self.unoffered.get() + 1 });
        self.turns.set(0);
        counted
    }

    /// One turn found nothing, after checking `connections` connections to nodes. Returns whether it is time to
    /// sleep. `learns`: it watches sockets of the program.
    pub(crate) fn is_time_to_sleep(&self, connections: usize, learns: bool) -> bool {
        self.learns.set(learns);
        let Some(since) = self.since.get() else {
            self.since.set(Some(Instant::now()));
            // Earlier events of sockets were the work of earlier turns.
            self.by_socket.set(false);
            return self.spins() == 0 && self.most_offers() == 0;
        };
        if self.has_slept.get() {
            return true;
        }
        let turns = self.turns.get();
        if turns < self.spins() {
            self.spin(turns, since, 1 + SPINS_PER_CONNECTION * connections as u32);
            return false;
        }
        if self.offers.get() < self.most_offers() {
            self.offer(since);
            return false;
        }
        true
    }

    /// Turns that it spins this time.
    fn spins(&self) -> u32 {
        match (self.company.get(), self.learns.get()) {
            (Company::Nobody, true) => self.patience.get(),
            (Company::Brief, _) | (Company::Long, true) => 0,
            (Company::Nobody | Company::Long, false) => SPINS,
        }
    }

    /// Offers that it makes this time.
    fn most_offers(&self) -> u32 {
        match (self.company.get(), self.learns.get()) {
            (Company::Nobody, true) => {
                let probes = u32::from(self.unoffered.get() >= PROBE_EVERY);
                probes.max(OFFERS * self.patience.get() / SPINS)
            }
            (Company::Nobody, false) => OFFERS,
            (Company::Brief, true) => 1,
            (Company::Brief, false) => OFFERS_TO_OTHERS,
            (Company::Long, _) => 0,
        }
    }

    fn spin(&self, turns: u32, since: Instant, look: u32) {
        let is_long = turns % CLOCK_EVERY < look && {
            let now = Instant::now();
            self.count(since, now);
            now.saturating_duration_since(since) >= SPIN_TIME
        };
        self.turns.set(if is_long { SPINS } else { turns.saturating_add(look) });
        std::hint::spin_loop();
    }

    fn offer(&self, since: Instant) {
        let before = Instant::now();
        self.count(since, before);
        std::thread::yield_now();
        self.offers.set(self.offers.get() + 1);
        let after = Instant::now();
        self.count(since, after);
        self.note_offer(after.saturating_duration_since(before));
    }

    /// An offer has taken this long.
    fn note_offer(&self, time: Duration) {
        let learns = self.learns.get();
        let is_long = time >= if learns { LONG } else { self.long };
        // After one long turn another worker offers the processor, too.
        let goes_on = self.was_long.replace(is_long) && is_long;
        if time < self.accepted {
            return;
        }
        let (company, memory, next) = match (learns, is_long) {
            (true, true) => (Company::Long, MEMORY, MEMORY),
            (false, true) if goes_on => (Company::Long, self.next_memory.get(), 4 * self.next_memory.get()),
            _ => (Company::Brief, MEMORY, MEMORY),
        };
        self.company.set(company);
        self.memory.set(memory);
        self.next_memory.set(next.min(LONGEST_MEMORY));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
