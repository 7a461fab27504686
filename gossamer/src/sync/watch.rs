//! The latest value, and notification of changes. Its ends stay on their node: see [`sync`](crate::sync).
//!
//! ```
//! use gossamer::sync::watch;
//! # gossamer::run(gossamer::Config::default().threads(2), || {
//! let (running, mut is_running) = watch::channel(true);
//! let server = gossamer::spawn_with(
//!     |mut is_running| is_running.wait_for(|running| !running).is_ok(), // a server's last fiber
//!     is_running.clone(),
//! );
//! running.send(false).unwrap();
//! assert!(server.join());
//! assert!(is_running.changed().is_ok());
//! # });
//! ```
//!
//! A receiver sees only the latest value, not each one in between.

use crate::sync::{awaited, wait};
use crate::trust::without_suspending;
use error::{RecvError, SendError};
use std::fmt;
use std::future::Future;

pub use tokio::sync::watch::error;

/// The end that changes the value.
pub struct Sender<T>(tokio::sync::watch::Sender<T>);

/// The end that watches the value. A clone has seen what this one has seen.
pub struct Receiver<T>(tokio::sync::watch::Receiver<T>);

/// A value that is watched, and its first receiver.
///
/// ```
/// use gossamer::sync::watch;
/// let (level, seen) = watch::channel(1);
/// level.send(2).unwrap();
/// assert_eq!(seen.get(), 2);
/// ```
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::sync::watch::channel(value);
    (Sender(sender), Receiver(receiver))
}

impl<T> Sender<T> {
    /// Replaces the value, and wakes those that wait for a change.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (level, mut seen) = watch::channel(1);
    /// level.send(2).unwrap();
    /// seen.changed().unwrap();
    /// assert_eq!(seen.get(), 2);
    /// ```
    ///
    /// # Errors
    /// If there is no receiver: the value comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value)
    }

    /// Changes the value in place, whether or not there is a receiver. `change` must not suspend its fiber.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (list, seen) = watch::channel(vec![1]);
    /// list.send_modify(|list| list.push(2));
    /// assert_eq!(seen.with(Vec::len), 2);
    /// ```
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        without_suspending(|| self.0.send_modify(change));
    }

    /// Looks at the value. `look` must not suspend its fiber.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (list, seen) = watch::channel(vec![1, 2]);
    /// list.send_modify(|list| list.push(3));
    /// assert_eq!(list.with(|list| list.iter().sum::<u32>()), 6); // without a clone of the list
    /// ```
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        without_suspending(|| look(&self.0.borrow()))
    }

    /// Another receiver, which has seen the present value.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (level, seen) = watch::channel(1);
    /// drop(seen);
    /// assert!(level.is_closed());
    /// assert_eq!(level.subscribe().get(), 1);
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver(self.0.subscribe())
    }

    /// Whether there is no receiver.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (sender, receiver) = watch::channel("starting");
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed()); // no need to report any more
    /// ```
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<T> Receiver<T> {
    /// Waits for a value that this receiver has not seen, and marks it as seen.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (level, mut seen) = watch::channel(1);
    /// level.send(2).unwrap();
    /// assert!(seen.changed().is_ok());
    /// drop(level);
    /// assert!(seen.changed().is_err()); // nothing new will come
    /// ```
    ///
    /// # Errors
    /// If the sender is gone, and the latest value was seen.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn changed(&mut self) -> Result<(), RecvError> {
        wait(self.0.changed(), "changed")
    }

    /// Like [`changed`](Self::changed), as a future. Dropped before it is ready, nothing is marked as seen.
    ///
    /// ```
    /// use gossamer::{block_on, sync::watch};
    /// let (sender, mut state) = watch::channel("starting");
    /// sender.send("running").unwrap();
    /// assert!(block_on(state.changed_async()).is_ok());
    /// assert_eq!(state.get(), "running");
    /// ```
    pub fn changed_async(&mut self) -> impl Future<Output = Result<(), RecvError>> {
        awaited(self.0.changed(), "changed")
    }

    /// Waits until `is_it` returns true for the value; returns at once if it already does. `is_it` must not suspend
    /// its fiber.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (level, mut seen) = watch::channel(1);
    /// level.send(7).unwrap();
    /// seen.wait_for(|level| *level > 5).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the sender is gone before `is_it` returns true.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn wait_for(&mut self, is_it: impl FnMut(&T) -> bool) -> Result<(), RecvError> {
        wait(self.0.wait_for(is_it), "wait_for").map(drop)
    }

    /// Whether there is a value that this receiver has not seen.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (level, seen) = watch::channel(1);
    /// assert_eq!(seen.has_changed().ok(), Some(false));
    /// level.send(2).unwrap();
    /// assert_eq!(seen.has_changed().ok(), Some(true));
    /// ```
    ///
    /// # Errors
    /// If the sender is gone.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.0.has_changed()
    }

    /// Looks at the value. `look` must not suspend its fiber.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (list, mut seen) = watch::channel(vec![1, 2]);
    /// list.send(vec![3, 4, 5]).unwrap();
    /// seen.changed().unwrap();
    /// assert_eq!(seen.with(|list| list.len()), 3); // without a clone of the list
    /// ```
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        without_suspending(|| look(&self.0.borrow()))
    }

    /// A copy of the value.
    ///
    /// ```
    /// use gossamer::sync::watch;
    /// let (sender, state) = watch::channel("starting");
    /// sender.send_modify(|state| *state = "running");
    /// assert_eq!(state.get(), "running");
    /// ```
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|value| f.debug_tuple("Sender").field(value).finish())
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|value| f.debug_tuple("Receiver").field(value).finish())
    }
}
