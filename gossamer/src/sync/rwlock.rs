//! [`RwLock`]: a value for many who read or one who writes.

use crate::sync::{RwLockReadGuard, RwLockWriteGuard, TryLockError, awaited, wait};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A value that many read at once or one writes, first come, first served, so that readers do not keep a writer out. A clone is the
/// same. As with a [`Mutex`](crate::sync::Mutex), guards may be held over blocking calls, and nothing is poisoned.
///
/// ```
/// use gossamer::sync::RwLock;
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let settings = RwLock::new(String::from("old"));
/// {
///     let (one, another) = (settings.read(), settings.read());
///     assert_eq!(*one, *another);
/// }
/// *settings.write() = String::from("new");
/// # });
/// ```
#[derive(Default)]
pub struct RwLock<T>(Arc<tokio::sync::RwLock<T>>);

impl<T> RwLock<T> {
    /// Around a value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(tokio::sync::RwLock::new(value)))
    }

    /// Waits until nobody writes, nor waits to.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// let name = RwLock::new("old");
    /// let (one, another) = (name.read(), name.read()); // both at once
    /// assert_eq!(*one, *another);
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback. One who reads already and calls this waits for ever if a writer waits in between.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        wait(self.0.read(), "read")
    }

    /// As [`read`](Self::read), to be awaited. Dropped, it loses its place in the queue and nothing else.
    pub fn read_async(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        awaited(self.0.read(), "read")
    }

    /// Reads if nobody writes, nor waits to.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// let name = RwLock::new("old");
    /// let _writer = name.write();
    /// assert!(name.try_read().is_err());
    /// ```
    ///
    /// # Errors
    /// If somebody does.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.0.try_read()
    }

    /// Waits until nobody reads or writes.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// let name = RwLock::new("old");
    /// *name.write() = "new";
    /// assert_eq!(*name.read(), "new");
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback. One who reads or writes already and calls this waits for ever.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        wait(self.0.write(), "write")
    }

    /// As [`write`](Self::write), to be awaited. Dropped, it loses its place in the queue and nothing else.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let name = RwLock::new("old");
    /// *name.write_async().await = "new";
    /// assert_eq!(*name.read_async().await, "new");
    /// # });
    /// ```
    pub fn write_async(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        awaited(self.0.write(), "write")
    }

    /// Writes if nobody reads or writes.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// let name = RwLock::new("old");
    /// let _reader = name.read();
    /// assert!(name.try_write().is_err());
    /// ```
    ///
    /// # Errors
    /// If somebody does.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.0.try_write()
    }
}

impl<T> Clone for RwLock<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
