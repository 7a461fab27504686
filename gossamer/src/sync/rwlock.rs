//! [`RwLock`]: a value for many readers or one writer.

use crate::sync::{RwLockReadGuard, RwLockWriteGuard, TryLockError, awaited, wait};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A value with many readers or one writer at a time, first come, first served, so that readers cannot starve a
/// writer. A clone is the same lock. As with a [`Mutex`](crate::sync::Mutex), guards may be held across blocking
/// calls, and nothing is poisoned.
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
    /// A lock around a value.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::sync::RwLock;
    /// let prices = RwLock::new(vec![3, 5]);
    /// let reader = gossamer::spawn_with(|prices| prices.read().len(), prices.clone());
    /// assert_eq!(reader.join(), 2);
    /// prices.write().push(8);
    /// assert_eq!(prices.read().iter().sum::<u32>(), 16);
    /// # });
    /// ```
    pub fn new(value: T) -> Self {
        Self(Arc::new(tokio::sync::RwLock::new(value)))
    }

    /// Waits until nobody writes or waits to write.
    ///
    /// ```
    /// use gossamer::sync::RwLock;
    /// let name = RwLock::new("old");
    /// let (one, another) = (name.read(), name.read()); // both at once
    /// assert_eq!(*one, *another);
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback. A caller that already reads waits for ever if a writer came in between.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        wait(self.0.read(), "read")
    }

    /// Like [`read`](Self::read), as a future. Dropping it only loses its place in the queue.
    ///
    /// ```
    /// use gossamer::{block_on, sync::RwLock};
    /// let name = RwLock::new("tea");
    /// assert_eq!(*block_on(name.read_async()), "tea");
    /// ```
    pub fn read_async(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        awaited(self.0.read(), "read")
    }

    /// Reads if nobody writes or waits to write.
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
    /// In a delegated closure or a callback. A caller that already reads or writes waits for ever.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        wait(self.0.write(), "write")
    }

    /// Like [`write`](Self::write), as a future. Dropping it only loses its place in the queue.
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
