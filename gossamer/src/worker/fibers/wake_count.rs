//! A waker for tests, which counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// How often somebody was woken.
#[derive(Default)]
pub(super) struct WakeCount(AtomicUsize);

impl WakeCount {
    pub(super) fn wakes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
