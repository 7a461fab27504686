//! [`Mutex`]: exclusive access to a value.

use crate::sync::{MutexGuard, TryLockError, awaited, wait};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A value that fibers of one node, threads and tasks use one at a time, first come, first served. A clone is the
/// same lock.
///
/// The guard may be held across blocking calls; a guard of `std` must not. A panic does not poison the value. If
/// several workers use a value, a [`Trust`](crate::Trust) is usually better: see [`sync`](crate::sync).
///
/// ```
/// use gossamer::sync::Mutex;
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let log = Mutex::new(Vec::new());
/// let other = gossamer::spawn_with(|log| log.lock().push("other"), log.clone());
/// {
///     let mut log = log.lock();
///     log.push("begins");
///     gossamer::yield_now(); // nobody comes in between
///     log.push("ends");
/// }
/// other.join();
/// assert_eq!(log.lock().len(), 3);
/// # });
/// ```
#[derive(Default)]
pub struct Mutex<T>(Arc<tokio::sync::Mutex<T>>);

impl<T> Mutex<T> {
    /// A lock around a value.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::sync::Mutex;
    /// let count = Mutex::new(0);
    /// let fibers = [(); 4].map(|()| gossamer::spawn_with(|count| *count.lock() += 1, count.clone()));
    /// fibers.map(|fiber| fiber.join());
    /// assert_eq!(*count.lock(), 4);
    /// # });
    /// ```
    pub fn new(value: T) -> Self {
        Self(Arc::new(tokio::sync::Mutex::new(value)))
    }

    /// Waits until nobody holds the value, and holds it until the guard is dropped.
    ///
    /// ```
    /// use gossamer::sync::Mutex;
    /// let count = Mutex::new(0);
    /// *count.lock() += 1;
    /// assert_eq!(*count.lock(), 1);
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback. A caller that already holds the value waits for ever.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        wait(self.0.lock(), "lock")
    }

    /// Like [`lock`](Self::lock), as a future. Dropping it only loses its place in the queue.
    ///
    /// ```
    /// use gossamer::sync::Mutex;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let count = Mutex::new(0);
    /// *count.lock_async().await += 1;
    /// # });
    /// ```
    pub fn lock_async(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        awaited(self.0.lock(), "lock")
    }

    /// Takes the value if nobody holds it.
    ///
    /// ```
    /// use gossamer::sync::Mutex;
    /// let count = Mutex::new(0);
    /// let _held = count.lock();
    /// assert!(count.try_lock().is_err());
    /// ```
    ///
    /// # Errors
    /// If somebody holds it.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.0.try_lock()
    }

    /// The value, if this is the last clone.
    ///
    /// ```
    /// use gossamer::sync::Mutex;
    /// let count = Mutex::new(7);
    /// assert_eq!(count.into_inner(), Some(7));
    /// ```
    pub fn into_inner(self) -> Option<T> {
        Arc::into_inner(self.0).map(tokio::sync::Mutex::into_inner)
    }
}

impl<T> Clone for Mutex<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
