//! [`Notify`]: a wake-up without a value.

use crate::sync::{awaited, wait};
use std::future::Future;
use std::sync::Arc;

/// Wakes who waits: one, who may also come later, or all who wait now. A clone is the same.
///
/// ```
/// use gossamer::sync::Notify;
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let begin = Notify::new();
/// let waiter = gossamer::spawn_with(|begin| begin.notified(), begin.clone());
/// begin.notify_one(); // whether or not it waits already
/// waiter.join();
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Notify(Arc<tokio::sync::Notify>);

impl Notify {
    /// With nobody waiting, and no wake-up kept.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes the one who has waited longest. If nobody waits, one wake-up is kept for the next who does.
    ///
    /// ```
    /// use gossamer::sync::Notify;
    /// let ready = Notify::new();
    /// ready.notify_one(); // kept for the next
    /// ready.notified();
    /// ```
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait now. Nothing is kept.
    ///
    /// ```
    /// use gossamer::sync::Notify;
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let ready = Notify::new();
    /// let (one, other) = (ready.notified_async(), ready.notified_async());
    /// ready.notify_waiters(); // both wait since they were made
    /// gossamer::block_on(one);
    /// gossamer::block_on(other);
    /// # });
    /// ```
    pub fn notify_waiters(&self) {
        self.0.notify_waiters();
    }

    /// Waits for a wake-up.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn notified(&self) {
        wait(self.0.notified(), "notified");
    }

    /// As [`notified`](Self::notified), to be awaited. It counts as waiting for [`notify_waiters`](Self::notify_waiters) from this call
    /// on, for [`notify_one`](Self::notify_one) from its first poll on. Dropped, it hands a wake-up that it has on to the next.
    pub fn notified_async(&self) -> impl Future<Output = ()> + Send + use<> {
        awaited(Arc::clone(&self.0).notified_owned(), "notified")
    }
}
