//! What the other nodes of a machine may touch of one worker: who has something new for it, and its doorbell.
//!
//! A sender publishes (a fragment, a lane in use), then sets its bit, then raises the count. The reader looks only at
//! the count until it has changed, then clears each bit before it looks at what that sender has published. So the
//! reader sees what was published before it cleared the bit, and what comes later sets the bit again.

use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::memory::segment::Segment;
use crate::sys::sync::doorbell::Doorbell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of one worker's notifier without its senders. The size of the whole is a multiple of it, so no two workers
/// share a cache line.
const LINE: usize = 128;

/// The notifier of one worker.
#[derive(Clone, Copy)]
pub(crate) struct Notifier<'a> {
    header: &'a NotifierHeader,
    /// A bit for each worker of the rack.
    senders: &'a [AtomicU64],
}

#[repr(C, align(128))]
struct NotifierHeader {
    doorbell: Doorbell,
    /// Raised when a sender has something new.
    arrivals: AtomicU32,
}

impl<'a> Notifier<'a> {
    #[inline(always)]
    pub(crate) fn doorbell(self) -> &'a Doorbell {
        &self.header.doorbell
    }

    /// Says that a worker has published something.
    pub(super) fn announce(self, sender: usize) {
        // Release: pairs with the Acquire in `senders`, so that the reader that takes the bit sees what was published.
        self.senders[sender / 64].fetch_or(1 << (sender % 64), Ordering::Release);
        // Release: pairs with the Acquire in `arrivals`, so that a reader that sees the count sees the bit.
        self.header.arrivals.fetch_add(1, Ordering::Release);
    }

    /// The number of announcements so far, wrapping.
    #[inline(always)]
    pub(super) fn arrivals(self) -> u32 {
        // Acquire: pairs with the Release in `announce`.
        self.header.arrivals.load(Ordering::Acquire)
    }

    /// Takes the bits of the workers that have announced something.
    pub(super) fn senders(self) -> impl Iterator<Item = usize> + use<'a> {
        self.senders.iter().enumerate().flat_map(|(index, word)| {
            // Acquire: pairs with the Release in `announce`. Relaxed: a look that saves the write; a bit set since is
            // found the next time.
            let bits = match word.load(Ordering::Relaxed) {
                0 => 0,
                _ => word.swap(0, Ordering::Acquire),
            };
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| index * 64 + bit)
        })
    }
}

/// The notifiers of the workers of one node.
pub(crate) struct Notifiers {
    segment: Segment,
    workers: usize,
    /// Workers of the rack.
    senders: usize,
}

impl Notifiers {
    /// The notifiers of the `workers` of this node, for a rack of `senders` workers.
    ///
    /// # Errors
    /// If there is not enough memory, or no descriptor left.
    pub(crate) fn create(workers: usize, senders: usize) -> io::Result<Self> {
        Ok(Self { segment: Segment::create(workers * Self::stride(senders))?, workers, senders })
    }

    /// The notifiers of another node.
    ///
    /// # Errors
    /// If the descriptor is not that of notifiers of this many workers.
    pub(crate) fn attach(descriptor: OwnedFd, workers: usize, senders: usize) -> io::Result<Self> {
        Ok(Self { segment: Segment::attach(descriptor, workers * Self::stride(senders))?, workers, senders })
    }

    fn stride(senders: usize) -> usize {
        (size_of::<NotifierHeader>() + Self::words(senders) * size_of::<AtomicU64>()).next_multiple_of(LINE)
    }

    fn words(senders: usize) -> usize {
        senders.div_ceil(64)
    }

    /// The notifier of one worker, by its number in its node.
    #[inline]
    pub(crate) fn of(&self, worker: usize) -> Notifier<'_> {
        assert!(worker < self.workers, "worker {worker} of {}", self.workers);
        let start = self.segment.start().as_ptr().wrapping_add(worker * Self::stride(self.senders));
        // SAFETY: T2, E1: inside the segment (asserted), which lives as long as `self`; all zeros is a valid one.
        let header = unsafe { &*start.cast::<NotifierHeader>() };
        let senders = start.wrapping_add(size_of::<NotifierHeader>()).cast::<AtomicU64>();
        // SAFETY: T2, E1: as above, after the line.
        let senders = unsafe { std::slice::from_raw_parts(senders, Self::words(self.senders)) };
        Notifier { header, senders }
    }
}

impl AsFd for Notifiers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whatever_another_process_writes_is_a_notifier() {
        let notifiers = Notifiers::create(2, 100).unwrap();
        let bytes = notifiers.segment.len();
        // SAFETY: E1: inside the segment, which nothing else uses.
        unsafe { notifiers.segment.start().as_ptr().write_bytes(0xa5, bytes) };
        let notifier = notifiers.of(1);
        assert!(notifier.doorbell().is_asleep());
        assert!(notifier.doorbell().needs_ring() && !notifier.doorbell().needs_ring());
        assert_eq!(notifier.arrivals(), 0xa5a5_a5a5);
        let senders: Vec<_> = notifier.senders().collect();
        assert_eq!((senders.len(), senders.last()), (64, Some(&127)), "also such as there are not");
        assert_eq!(notifier.senders().next(), None);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    /// Two senders publish and announce, the reader looks each time the count changes: it never misses what was
    /// published.
    #[test]
    fn what_is_announced_is_found() {
        loom::model(|| {
            let header = Arc::new(NotifierHeader { doorbell: Doorbell::new(), arrivals: AtomicU32::new(0) });
            let shared = Arc::new(([AtomicU64::new(0)], [AtomicU32::new(0), AtomicU32::new(0)]));
            let senders: Vec<_> = (0..2)
                .map(|sender| {
                    let (header, shared) = (Arc::clone(&header), Arc::clone(&shared));
                    loom::thread::spawn(move || {
                        shared.1[sender].store(1, Ordering::Relaxed);
                        Notifier { header: &header, senders: &shared.0 }.announce(sender);
                    })
                })
                .collect();
            let notifier = Notifier { header: &header, senders: &shared.0 };
            let (mut seen, mut found) = (0, [0; 2]);
            let mut look = || {
                let arrivals = notifier.arrivals();
                if arrivals != seen {
                    seen = arrivals;
                    notifier
                        .senders()
                        .for_each(|sender| found[sender] += shared.1[sender].load(Ordering::Relaxed));
                }
            };
            look();
            look();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            look();
            assert_eq!(found, [1, 1]);
        });
    }
}
