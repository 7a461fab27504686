//! What an end knows about the process that shares its ring, in memory which that process cannot write: nobody waits
//! for a process that is gone, whatever it left in the ring.

use crate::stream::blocks::flow::Flow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How long sleepers have to notice, before they are woken again.
const PAUSE: Duration = Duration::from_millis(1);

/// The other process, or the other end in this one.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    gone: AtomicBool,
    /// How many sleep in this process.
    sleepers: AtomicU32,
}

impl Peer {
    pub(crate) fn is_gone(&self) -> bool {
        // Acquire: pairs with the Release in `end`: who sees it sees all that was known of the other before.
        self.gone.load(Ordering::Acquire)
    }

    /// A thread is about to sleep, and will check after each wake-up whether the other is gone.
    pub(crate) fn enter(&self) {
        // Relaxed: a thread that is counted too late is woken in the next round.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        // Relaxed: as above.
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The other is gone: makes all sleepers look again, until none is left. Once is not enough: the other process
    /// may have changed the word that they sleep on just before.
    pub(crate) fn end(&self, flow: &Flow) {
        // Release: pairs with the Acquire in `is_gone`.
        self.gone.store(true, Ordering::Release);
        // Relaxed: as above.
        while self.sleepers.load(Ordering::Relaxed) > 0 {
            flow.wake_unasked();
            thread::sleep(PAUSE);
        }
    }
}
