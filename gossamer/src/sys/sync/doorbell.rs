//! How a worker goes to sleep without missing what is published meanwhile.
//!
//! Protocol (checked in `tests`): the sleeper raises its flag, then looks for work once more, and sleeps only if
//! there is none. The publisher publishes, then looks at the flag. Between its two steps each side has a SeqCst
//! fence; of two such fences one comes first, so at least one side sees the other's first step: the sleeper its
//! work, or the publisher the flag, and then it wakes the sleeper.

use crate::atomic::{AtomicU8, Ordering, fence};

/// The flag of one sleeper.
pub(crate) struct Doorbell {
    /// Zero: awake. Not a `bool`, since other processes may write it: any byte has to be a valid value.
    asleep: AtomicU8,
}

impl Doorbell {
    pub(crate) fn new() -> Self {
        Self { asleep: AtomicU8::new(0) }
    }

    /// Called by the sleeper, before it looks for work the last time.
    pub(crate) fn prepare_to_sleep(&self) {
        self.asleep.store(1, Ordering::Relaxed);
        // Pairs with the fence in `needs_ring`.
        fence(Ordering::SeqCst);
    }

    /// Called by the sleeper, when it found work after all or was woken.
    pub(crate) fn awake(&self) {
        self.asleep.store(0, Ordering::Relaxed);
    }

    /// Whether the sleeper sleeps, or is about to.
    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Called by a publisher, after publishing. Returns whether to wake the sleeper: of several publishers, only one
    /// gets `true`.
    #[inline]
    pub(crate) fn needs_ring(&self) -> bool {
        // Pairs with the fence in `prepare_to_sleep`.
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) != 0 && self.asleep.swap(0, Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::atomic::AtomicU64;
    use loom::sync::Arc;

    #[test]
    fn work_published_while_falling_asleep_is_seen_or_rings() {
        loom::model(|| {
            let shared = Arc::new((Doorbell::new(), AtomicU64::new(0)));
            let publisher = Arc::clone(&shared);
            let rang = loom::thread::spawn(move || {
                publisher.1.store(1, Ordering::Release);
                publisher.0.needs_ring()
            });
            shared.0.prepare_to_sleep();
            let seen = shared.1.load(Ordering::Acquire) == 1;
            let rang = rang.join().unwrap();
            assert!(seen || rang, "the worker would sleep over its work");
        });
    }
}
