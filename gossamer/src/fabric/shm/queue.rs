//! Fragments on their way from one worker to another, in memory that both have mapped: a queue of `QUEUE_ENTRIES` entries.
//!
//! Invariants
//! - B2: one thread sends. It fills entry `n mod QUEUE_ENTRIES` only when `taken` has shown that fragment `n - QUEUE_ENTRIES`
//!   was taken.
//! - B3: one thread receives. It reads entry `n mod QUEUE_ENTRIES` only when `written` has shown that fragment `n` is
//!   there, and only until it says through `taken` that it is done.

use crate::atomic::{AtomicU32, Ordering, SharedCell};
use crate::fabric::{Busy, FRAGMENT_BYTES, Fragment};
use crate::wire::refusal::Malformed;
use crate::wire::row::RowLayout;

/// Fragments that may be under way from one worker to another.
pub(crate) const QUEUE_ENTRIES: usize = if cfg!(loom) { 2 } else { 8 };

/// All zeros is an empty queue, so that it may lie in a new segment.
#[repr(C, align(128))]
pub(super) struct FragmentQueue {
    /// Fragments written so far, wrapping.
    written: CacheLine,
    /// Fragments taken so far, wrapping.
    taken: CacheLine,
    entries: [SharedCell<QueueEntry>; QUEUE_ENTRIES],
}

/// A cache line of its own.
#[repr(C, align(128))]
struct CacheLine(AtomicU32);

#[repr(C, align(128))]
struct QueueEntry {
    bytes: [u8; FRAGMENT_BYTES],
    length: u32,
    ticket: u64,
    row_bytes: u64,
    row_align: u8,
}

impl QueueEntry {
    /// The fragment in this entry.
    ///
    /// # Errors
    /// If the entry claims more bytes than it can hold.
    fn fragment(&self) -> Result<Fragment<'_>, Malformed> {
        let row = RowLayout { bytes: self.row_bytes, align: self.row_align };
        let bytes =
            self.bytes.get(..self.length as usize).ok_or_else(Malformed::instead_of::<Fragment<'_>>)?;
        Ok(Fragment { ticket: self.ticket, row, bytes })
    }

    fn fill(&mut self, fragment: Fragment<'_>) {
        let Fragment { ticket, row, bytes } = fragment;
        (self.ticket, self.row_bytes, self.row_align) = (ticket, row.bytes, row.align);
        self.length = bytes.len() as u32;
        self.bytes[..bytes.len()].copy_from_slice(bytes);
    }
}

impl FragmentQueue {
    fn entry(&self, number: u32) -> &SharedCell<QueueEntry> {
        &self.entries[number as usize % QUEUE_ENTRIES]
    }

    /// Whether an entry is free for the sender.
    pub(super) fn has_room(&self) -> bool {
        // Relaxed: only the sender writes it.
        let written = self.written.0.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `receive`: the receiver is done with the entry.
        written.wrapping_sub(self.taken.0.load(Ordering::Acquire)) < QUEUE_ENTRIES as u32
    }

    /// # Safety
    /// The caller is the one sender (B2).
    ///
    /// # Panics
    /// If the fragment has more than `FRAGMENT_BYTES`.
    pub(super) unsafe fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        assert!(fragment.bytes.len() <= FRAGMENT_BYTES, "{} bytes for an entry", fragment.bytes.len());
        if !self.has_room() {
            return Err(Busy);
        }
        // Relaxed: only the sender writes it.
        let written = self.written.0.load(Ordering::Relaxed);
        self.entry(written).with_mut(|entry| {
            // SAFETY: B2: the entry is free (`has_room`), and the caller is the only sender.
            unsafe { &mut *entry }.fill(fragment);
        });
        // Release: pairs with the Acquire in `receive`, so that a receiver that sees the number sees the entry.
        self.written.0.store(written.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes what is there, in order; each fragment stays until `told` returns. Returns whether there was any.
    ///
    /// # Errors
    /// Those of `told`; or no sender of this program wrote what is there.
    ///
    /// # Safety
    /// The caller is the one receiver (B3).
    pub(super) unsafe fn receive(
        &self,
        mut told: impl FnMut(Fragment<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Malformed> {
        // Relaxed: only the receiver writes it.
        let mut taken = self.taken.0.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `send`.
        let under_way = self.written.0.load(Ordering::Acquire).wrapping_sub(taken);
        if under_way > QUEUE_ENTRIES as u32 {
            return Err(Malformed::instead_of::<Fragment<'_>>());
        }
        for _ in 0..under_way {
            self.entry(taken).with(|entry| {
                // SAFETY: B3: the fragment is there, and stays until `taken` says otherwise.
                told(unsafe { &*entry }.fragment()?)
            })?;
            taken = taken.wrapping_add(1);
            // Release: pairs with the Acquire in `has_room`: the entry belongs to the sender again.
            self.taken.0.store(taken, Ordering::Release);
        }
        Ok(under_way > 0)
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    impl FragmentQueue {
        fn new() -> Self {
            let entry = || QueueEntry {
                ticket: 0,
                row_bytes: 0,
                row_align: 0,
                length: 0,
                bytes: [0; FRAGMENT_BYTES],
            };
            let line = || CacheLine(AtomicU32::new(0));
            let entries = std::array::from_fn(|_| SharedCell::new(entry()));
            Self { written: line(), taken: line(), entries }
        }
    }

    /// Every entry is used twice, so that the sender writes again what the receiver gave back.
    #[test]
    fn fragments_come_whole_and_in_order() {
        loom::model(|| {
            let queue = Arc::new(FragmentQueue::new());
            let theirs = Arc::clone(&queue);
            let count = QUEUE_ENTRIES as u64 + 1;
            let sender = loom::thread::spawn(move || {
                for number in 0..count {
                    let bytes = number.to_ne_bytes();
                    let row = RowLayout { bytes: number, align: 0 };
                    // SAFETY: this thread alone sends.
                    while unsafe { theirs.send(Fragment { ticket: number, row, bytes: &bytes }) }.is_err() {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut next = 0;
            while next < count {
                // SAFETY: this thread alone receives.
                let received = unsafe {
                    queue.receive(|fragment| {
                        assert_eq!((fragment.ticket, fragment.bytes), (next, &next.to_ne_bytes()[..]));
                        next += 1;
                        Ok(())
                    })
                };
                if received == Ok(false) {
                    loom::thread::yield_now();
                }
            }
            sender.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;
    use crate::fabric::watchdog;
    use crate::sys::memory::segment::Segment;
    use crate::sys::process::fork::{Child, fork};
    use std::os::fd::AsFd;

    /// Seconds after which a child ends by itself.
    const PATIENCE: u32 = 60;
    const BYTES: usize = size_of::<FragmentQueue>();

    /// A queue as each of two processes has mapped it.
    fn mapped() -> [Segment; 2] {
        let first = Segment::create(BYTES).unwrap();
        let again = first.as_fd().try_clone_to_owned().unwrap();
        [Segment::attach(again, BYTES).unwrap(), first]
    }

    fn queue(segment: &Segment) -> &FragmentQueue {
        // SAFETY: T2: the segment has the size of a queue, and zeros are a valid one.
        unsafe { segment.start().cast().as_ref() }
    }

    fn count(segment: &Segment, written: u32, taken: u32) {
        queue(segment).written.0.store(written, Ordering::Relaxed);
        queue(segment).taken.0.store(taken, Ordering::Relaxed);
    }

    /// Sends the next fragment, which its ticket, its length and its bytes identify. Returns whether there was room.
    fn send(queue: &FragmentQueue, bytes: &mut [u8]) -> bool {
        let number = queue.written.0.load(Ordering::Relaxed);
        let bytes = &mut bytes[..number as usize % 5000];
        bytes.fill(number as u8);
        let row = RowLayout { bytes: number.into(), align: 0 };
        // SAFETY: each of these tests has one sender.
        unsafe { queue.send(Fragment { ticket: number.into(), row, bytes }) }.is_ok()
    }

    /// Takes what is there, and checks that it is whole and in order. Returns how many fragments there were.
    fn receive(queue: &FragmentQueue) -> u32 {
        let mut next = queue.taken.0.load(Ordering::Relaxed);
        let first = next;
        let told = |Fragment { ticket, row, bytes }: Fragment<'_>| {
            assert_eq!((ticket, row.bytes), (next.into(), next.into()), "out of order");
            assert_eq!(bytes.len(), next as usize % 5000);
            assert!(bytes.iter().all(|byte| *byte == next as u8), "fragment {next} is torn");
            next = next.wrapping_add(1);
            Ok(())
        };
        // SAFETY: each of these tests has one receiver.
        unsafe { queue.receive(told) }.unwrap();
        next.wrapping_sub(first)
    }

    fn fork_with(body: impl FnOnce()) -> Child {
        // SAFETY: sending and receiving, as done here, take no lock and allocate nothing.
        unsafe { fork(PATIENCE, body) }
    }

    #[test]
    fn fragments_come_whole_and_in_order_when_the_counters_wrap() {
        let _watched = watchdog::watch();
        let [ours, theirs] = mapped();
        count(&ours, u32::MAX - 500, u32::MAX - 500);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut sent, mut bytes) = (0, [0; 5000]);
                while sent < 1000 {
                    sent += u32::from(send(queue(&theirs), &mut bytes));
                }
            });
            let mut came = 0;
            while came < 1000 {
                came += receive(queue(&ours));
            }
        });
        assert_eq!(queue(&ours).taken.0.load(Ordering::Relaxed), 499);
    }

    #[test]
    fn counters_that_no_sender_writes_are_refused() {
        let [ours, theirs] = mapped();
        let numbers = [0, 1, 7, 8, 9, 1 << 31, u32::MAX - 8, u32::MAX];
        for (written, taken) in numbers.into_iter().flat_map(|first| numbers.map(|second| (first, second))) {
            count(&theirs, written, taken);
            let mut came = 0;
            // SAFETY: as in `receive`.
            let received = unsafe {
                queue(&ours).receive(|_| {
                    came += 1;
                    Ok(())
                })
            };
            let there = written.wrapping_sub(taken);
            let expected = (there <= QUEUE_ENTRIES as u32).then_some(there);
            assert_eq!(received.ok().map(|_| came), expected, "{written} written, {taken} taken");
            send(queue(&ours), &mut [0; 5000]);
        }
    }

    #[test]
    fn an_entry_that_says_it_has_more_bytes_than_an_entry_is_refused() {
        for length in [FRAGMENT_BYTES as u32 + 1, 1 << 31, u32::MAX] {
            let [ours, theirs] = mapped();
            queue(&theirs).entry(0).with_mut(|entry| {
                // SAFETY: nothing else uses it.
                unsafe { (*entry).length = length }
            });
            count(&theirs, 1, 0);
            // SAFETY: as in `receive`.
            assert!(unsafe { queue(&ours).receive(|_| Ok(())) }.is_err(), "{length}");
        }
    }

    #[test]
    fn what_a_killed_sender_has_sent_comes_whole_and_another_goes_on() {
        let _watched = watchdog::watch();
        let [ours, theirs] = mapped();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..50 {
            let sender = fork_with(|| {
                let mut bytes = [0; 5000];
                loop {
                    send(queue(&theirs), &mut bytes);
                }
            });
            let (mut came, until) = (0, random.u32(1..300));
            while came < until {
                came += receive(queue(&ours));
            }
            sender.kill();
            sender.wait();
            while receive(queue(&ours)) > 0 {}
        }
    }

    #[test]
    fn what_a_killed_receiver_has_not_taken_comes_to_another() {
        let _watched = watchdog::watch();
        let [ours, theirs] = mapped();
        let (mut random, mut bytes) = (fastrand::Rng::with_seed(2), [0; 5000]);
        for _ in 0..50 {
            let receiver = fork_with(|| {
                loop {
                    receive(queue(&theirs));
                }
            });
            let (mut sent, until) = (0, random.u32(1..300));
            while sent < until {
                sent += u32::from(send(queue(&ours), &mut bytes));
            }
            receiver.kill();
            assert_ne!(receiver.wait(), 0, "it was killed");
            while send(queue(&ours), &mut bytes) {}
            assert!(receive(queue(&theirs)) > 0 && queue(&ours).has_room());
        }
    }
}
