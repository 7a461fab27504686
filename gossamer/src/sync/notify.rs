//! [`Notify`]: a wake-up without a value.

use crate::sync::{awaited, wait};
use std::future::Future;
use std::sync::Arc;

/// Wakes one waiter, who may also come later, or all that wait now. A clone is the same.
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
    /// Without waiters, and without a stored wake-up.
    ///
    /// ```
    /// use gossamer::sync::Notify;
    /// use std::time::Duration;
    /// let stop = Notify::new();
    /// assert!(gossamer::timeout(Duration::from_millis(1), stop.notified_async()).is_err()); // nobody has said so
    /// stop.clone().notify_one();
    /// stop.notified();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes the one that has waited longest. If nobody waits, one wake-up is stored for the next waiter.
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

    /// Wakes all that wait now. Nothing is stored.
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
    /// ```
    /// use gossamer::sync::Notify;
    /// let ready = Notify::new();
    /// let other = std::thread::spawn({ let ready = ready.clone(); move || ready.notify_one() });
    /// ready.notified(); // whichever of the two comes first
    /// other.join().unwrap();
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn notified(&self) {
        wait(self.0.notified(), "notified");
    }

    /// Like [`notified`](Self::notified), as a future. It counts as waiting for [`notify_waiters`](Self::notify_waiters) from this call
    /// on, for [`notify_one`](Self::notify_one) from its first poll on. If it is dropped with a wake-up, the next
    /// waiter gets that.
    ///
    /// ```
    /// use gossamer::{sync::Notify, timeout};
    /// let ready = Notify::new();
    /// let nobody = timeout(std::time::Duration::from_millis(1), ready.notified_async());
    /// assert!(nobody.is_err());
    /// ready.notify_one();
    /// assert!(timeout(std::time::Duration::from_secs(60), ready.notified_async()).is_ok());
    /// ```
    pub fn notified_async(&self) -> impl Future<Output = ()> + Send + use<> {
        awaited(Arc::clone(&self.0).notified_owned(), "notified")
    }
}
