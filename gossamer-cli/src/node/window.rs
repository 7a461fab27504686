//! Limits how many bytes may be under way: a sender waits until the receiver has used up what it got. So neither holds
//! much, and messages of other kinds are never stuck behind them.

use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// The bytes that may be under way in one direction.
pub const WINDOW: usize = 256 * 1024;

/// The sender's count.
#[derive(Debug)]
pub struct Window {
    free: Semaphore,
    used: AtomicUsize,
}

impl Default for Window {
    fn default() -> Self {
        Self { free: Semaphore::new(WINDOW), used: AtomicUsize::new(0) }
    }
}

impl Window {
    /// Waits until this many bytes (at most [`WINDOW`]) may be sent, and counts them as sent.
    pub async fn take(&self, bytes: usize) {
        let bytes = bytes.min(WINDOW);
        if let Ok(permit) = self.free.acquire_many(u32::try_from(bytes).unwrap_or(u32::MAX)).await {
            permit.forget();
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The receiver has used up this many bytes. Any beyond those that were sent do not count.
    pub fn give(&self, bytes: usize) {
        let used = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_sub(bytes)));
        let (Ok(used) | Err(used)) = used;
        self.free.add_permits(bytes.min(used));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_gives_back_more_than_it_got_widens_nothing() {
        let window = Window::default();
        window.give(usize::MAX);
        assert_eq!(window.free.available_permits(), WINDOW);
    }
}
