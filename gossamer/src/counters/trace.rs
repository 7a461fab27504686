//! Events with their times, in a ring for each worker that keeps the latest ones.
//!
//! A batch of requests is an event when it is sent, when it is served, and when its answers are taken. Both ends of a
//! lane know its sequence number, so both pick the same batches, and nothing has to travel with them.
//!
//! Invariants
//! - Written by one: the fields of a slot are written by the thread that made its state odd. A thread that finds it
//!   odd does not wait, and drops the event: signal handlers also use a stream's ends.
//! - Read whole or not at all: a reader keeps what it has read of a slot only if the state was the same even number
//!   before and after.

use crate::atomic::fixed::AtomicU64;
use crate::structures::static_ref::StaticRef;
use std::panic::Location;
use std::sync::atomic::{Ordering, fence};
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

/// Events that a ring keeps: a mebibyte of them.
pub(crate) const EVENTS: usize = 16 * 1024;

/// A function that returns the name of a closure.
pub(crate) type ClosureName = fn() -> &'static str;

/// Which batches of a lane, and which turns of a worker, are picked: one in `every`, from the first on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    mask: u32,
    first: u32,
}

impl Sampling {
    /// Picks none.
    pub(crate) const NONE: Self = Self { mask: 0, first: 1 };

    /// One of `every`, a power of two.
    pub(crate) const fn one_of(every: u32) -> Self {
        let mask = every - 1;
        Self { mask, first: 1 & mask }
    }

    #[inline(always)]
    pub(crate) const fn picks(self, number: u32) -> bool {
        number & self.mask == self.first
    }

    /// Picks everything that this or the other picks.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self.first > self.mask, other.first > other.mask) {
            (true, _) => other,
            (_, true) => self,
            _ => Self::one_of(self.mask.min(other.mask) + 1),
        }
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// A batch of `count` requests with the number `number` goes to worker `peer`.
    Sent,
    /// One of worker `peer` is served.
    Served,
    /// The answers to one that went to `peer` have arrived.
    Answered,
    /// A turn of the worker's loop.
    Turn,
    /// A fiber runs, until it waits or ends.
    Fiber,
    /// The worker sleeps.
    Sleep,
    /// Data for other nodes is passed to the kernel or to the device, on `count` connections.
    Flush,
    /// The sender of a stream (`peer` identifies it) has handed over all blocks below `number`.
    BlocksHandedOver,
    /// Its receiver has released all blocks below `number`.
    BlocksReleased,
    /// The runtime has reached phase `number`.
    Phase,
}

impl EventKind {
    const ALL: [Self; 10] = [
        Self::Sent,
        Self::Served,
        Self::Answered,
        Self::Turn,
        Self::Fiber,
        Self::Sleep,
        Self::Flush,
        Self::BlocksHandedOver,
        Self::BlocksReleased,
        Self::Phase,
    ];

    /// The kind with this number, made by `as u8`.
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// An event. Its times are nanoseconds since [`epoch`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceEvent {
    pub(crate) kind: EventKind,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) peer: u32,
    pub(crate) count: u16,
    pub(crate) number: u64,
    /// Where the fiber was spawned.
    pub(crate) place: Option<&'static Location<'static>>,
    /// The closure that was served: the last one of its batch.
    pub(crate) closure: Option<&'static ClosureName>,
}

/// When the times of this process begin.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds since the times of this process begin, of an instant.
pub(crate) fn at(when: Instant) -> u64 {
    // What takes five centuries is not told apart.
    when.saturating_duration_since(*EPOCH).as_nanos() as u64
}

/// Nanoseconds since the times of this process begin.
pub(crate) fn now() -> u64 {
    at(Instant::now())
}

impl TraceEvent {
    /// One that begins and ends now.
    pub(crate) fn now(kind: EventKind) -> Self {
        Self::since(kind, now())
    }

    /// One that has begun then, and ends now.
    pub(crate) fn since(kind: EventKind, start: u64) -> Self {
        Self { kind, start, end: now().max(start), peer: 0, count: 0, number: 0, place: None, closure: None }
    }
}

struct EventSlot {
    /// 0: empty; odd: being written; otherwise twice the event's number, counted from 1.
    state: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
    number: AtomicU64,
    /// peer (32) | count (16) | kind (8)
    rest: AtomicU64,
    place: StaticRef<Location<'static>>,
    closure: StaticRef<ClosureName>,
}

/// The last events of a worker, or of the other threads of a process.
pub(crate) struct TraceRing {
    pub(crate) sampling: Sampling,
    slots: Box<[EventSlot]>,
    /// Events so far.
    next: AtomicU64,
}

impl std::fmt::Debug for TraceRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceRing").field("sampling", &self.sampling).finish_non_exhaustive()
    }
}

impl TraceRing {
    pub(crate) fn new(sampling: Sampling) -> Self {
        // Before the first event: it must not be initialised in a signal handler.
        LazyLock::force(&EPOCH);
        let zero = || AtomicU64::new(0);
        let slot = |_| EventSlot {
            state: zero(),
            start: zero(),
            end: zero(),
            number: zero(),
            rest: zero(),
            place: StaticRef::none(),
            closure: StaticRef::none(),
        };
        Self { sampling, slots: (0..EVENTS).map(slot).collect(), next: zero() }
    }

    /// Records an event. By any thread, though those of a worker mostly come from its own thread.
    #[cold]
    pub(crate) fn push(&self, event: TraceEvent) {
        // Relaxed: it only hands out places.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = &self.slots[number as usize % EVENTS];
        // Relaxed: the exchange looks again.
        let state = slot.state.load(Ordering::Relaxed);
        // Acquire: pairs with the Release below: the writer before is done.
        let is_ours = state & 1 == 0
            && slot.state.compare_exchange(state, state | 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !is_ours {
            return;
        }
        // Release: pairs with the fence in `read`: who has read any of what follows sees the odd state.
        fence(Ordering::Release);
        let rest = u64::from(event.peer) << 32 | u64::from(event.count) << 16 | event.kind as u64;
        // Relaxed, all: ordered by the fences and the state.
        for (field, value) in [
            (&slot.start, event.start),
            (&slot.end, event.end),
            (&slot.number, event.number),
            (&slot.rest, rest),
        ] {
            field.store(value, Ordering::Relaxed);
        }
        slot.place.set(event.place);
        slot.closure.set(event.closure);
        // Release: pairs with the Acquire in `read` and the one above.
        slot.state.store(2 * (number + 1), Ordering::Release);
    }

    /// The recorded events, in order, and how many were overwritten.
    pub(crate) fn read(&self) -> (Vec<TraceEvent>, u64) {
        let mut events: Vec<_> = self.slots.iter().filter_map(EventSlot::read).collect();
        events.sort_unstable_by_key(|(number, _)| *number);
        // Relaxed: it stands for itself.
        let lost = self.next.load(Ordering::Relaxed).saturating_sub(events.len() as u64);
        (events.into_iter().map(|(_, event)| event).collect(), lost)
    }
}

impl EventSlot {
    fn read(&self) -> Option<(u64, TraceEvent)> {
        // Acquire: pairs with the Release at the end of `push`.
        let state = self.state.load(Ordering::Acquire);
        if state == 0 || state & 1 == 1 {
            return None;
        }
        // Relaxed: kept only if the state is the same behind them.
        let [start, end, number, rest] =
            [&self.start, &self.end, &self.number, &self.rest].map(|field| field.load(Ordering::Relaxed));
        let (place, closure) = (self.place.get(), self.closure.get());
        // Acquire: pairs with the fence in `push`.
        fence(Ordering::Acquire);
        // Relaxed: ordered by the fence.
        if self.state.load(Ordering::Relaxed) != state {
            return None;
        }
        let kind = EventKind::numbered(rest as u8)?;
        let (peer, count) = ((rest >> 32) as u32, (rest >> 16) as u16);
        Some((state / 2, TraceEvent { kind, start, end, peer, count, number, place, closure }))
    }
}

/// Events of threads that are not workers; none unless a runtime of the process is traced.
static OUTSIDE: OnceLock<TraceRing> = OnceLock::new();

/// From now on events of threads that are not workers are also recorded.
pub(crate) fn trace_outside() {
    OUTSIDE.get_or_init(|| TraceRing::new(Sampling::one_of(1)));
}

/// The ring of threads that are not workers, if there is one.
#[inline]
pub(crate) fn outside() -> Option<&'static TraceRing> {
    OUTSIDE.get()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn numbered(number: u64) -> TraceEvent {
        TraceEvent { number, peer: number as u32, count: number as u16, ..TraceEvent::now(EventKind::Sent) }
    }

    #[test]
    fn a_ring_keeps_the_last_events_and_counts_the_others() {
        let ring = TraceRing::new(Sampling::one_of(64));
        (0..EVENTS as u64 + 10).for_each(|number| ring.push(numbered(number)));
        let (events, lost) = ring.read();
        assert_eq!((events.len(), lost), (EVENTS, 10));
        assert!(events.iter().map(|event| event.number).eq(10..EVENTS as u64 + 10));
    }

    #[test]
    fn one_of_so_many_is_picked_from_the_first_on() {
        let picked =
            |sampling: Sampling| (1..=200).filter(|number| sampling.picks(*number)).collect::<Vec<_>>();
        assert_eq!(picked(Sampling::one_of(64)), [1, 65, 129, 193]);
        assert_eq!(picked(Sampling::one_of(1)).len(), 200);
        assert!(picked(Sampling::NONE).is_empty());
        assert_eq!(picked(Sampling::one_of(64).or(Sampling::NONE)), [1, 65, 129, 193]);
        assert_eq!(picked(Sampling::one_of(64).or(Sampling::one_of(2))).len(), 100);
        assert_eq!(picked(Sampling::one_of(64).or(Sampling::one_of(128))), [1, 65, 129, 193]);
    }

    #[test]
    fn what_is_read_while_others_write_is_whole() {
        let (ring, stop) = (TraceRing::new(Sampling::NONE), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (ring, stop) = (&ring, &stop);
                scope.spawn(move || {
                    let mut number = writer;
                    while !stop.load(Ordering::Relaxed) {
                        ring.push(numbered(number));
                        number += 2;
                    }
                });
            }
            for _ in 0..20 {
                for event in ring.read().0 {
                    assert_eq!((event.peer, event.count), (event.number as u32, event.number as u16));
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
