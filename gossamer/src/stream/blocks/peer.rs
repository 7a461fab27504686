//! What an end knows of the process that shares its ring, in memory that this one cannot write: nobody waits for one that is gone,
//! whatever it has left in the ring.

use crate::stream::blocks::flow::Flow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How long those who sleep have to notice, before they are woken again.
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

    /// Somebody is about to sleep, and looks after each wake whether the other is gone.
    pub(crate) fn enter(&self) {
        // Relaxed: who is counted too late is woken in the next round.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        // Relaxed: as above.
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The other is gone: has all who sleep look again, until nobody does. Once would not do: whose memory it was may have changed the
    /// word on which they sleep just before.
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
