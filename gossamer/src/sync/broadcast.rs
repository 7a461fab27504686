//! A queue whose every value goes to every receiver. Its ends stay on their node: see [`sync`](crate::sync).
//!
//! ```
//! use gossamer::sync::broadcast;
//! # gossamer::run(gossamer::Config::default().threads(2), || {
//! let (news, mut reader) = broadcast::channel(16);
//! let other = gossamer::spawn_with(|mut reader: broadcast::Receiver<u64>| reader.recv().unwrap(), news.subscribe());
//! news.send(7).unwrap();
//! assert_eq!((reader.recv(), other.join()), (Ok(7), 7));
//! # });
//! ```
//!
//! Senders never wait: a receiver that falls behind by more than the capacity loses the oldest values, and learns how
//! many from [`error::RecvError::Lagged`].

use crate::sync::{awaited, wait};
use crate::trust::without_suspending;
use error::{RecvError, SendError, TryRecvError};
use std::fmt;
use std::future::Future;

pub use tokio::sync::broadcast::error;

/// The sending end. A clone is another sender.
pub struct Sender<T>(tokio::sync::broadcast::Sender<T>);

/// A receiver of all values that are sent after it was made.
pub struct Receiver<T>(tokio::sync::broadcast::Receiver<T>);

/// A queue that keeps the latest `capacity` values (rounded up to a power of two), and its first receiver.
///
/// ```
/// use gossamer::sync::broadcast;
/// let (news, mut one) = broadcast::channel(4);
/// let mut other = news.subscribe();
/// news.send("rain").unwrap();
/// assert_eq!((one.recv(), other.recv()), (Ok("rain"), Ok("rain")));
/// ```
///
/// # Panics
/// If `capacity` is 0, or more than half of `usize::MAX`.
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::sync::broadcast::channel(capacity);
    (Sender(sender), Receiver(receiver))
}

impl<T> Sender<T> {
    /// Sends a value to all receivers, and returns how many there are. Never waits.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// let (news, reader) = broadcast::channel(4);
    /// assert_eq!(news.send("rain").ok(), Some(1));
    /// drop(reader);
    /// assert!(news.send("snow").is_err());
    /// ```
    ///
    /// # Errors
    /// If there is no receiver: the value comes back.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        // The oldest value may be dropped under a lock.
        without_suspending(|| self.0.send(value))
    }

    /// A further receiver, of what is sent from now on.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// let (sender, mut early) = broadcast::channel(8);
    /// sender.send("before").unwrap();
    /// let mut late = sender.subscribe();
    /// sender.send("after").unwrap();
    /// assert_eq!((early.recv(), late.recv()), (Ok("before"), Ok("after")));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver(self.0.subscribe())
    }

    /// The number of receivers.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// let (sender, receiver) = broadcast::channel::<u64>(8);
    /// let other = sender.subscribe();
    /// assert_eq!(sender.receiver_count(), 2);
    /// drop((receiver, other));
    /// assert_eq!(sender.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.0.receiver_count()
    }
}

impl<T: Clone> Receiver<T> {
    /// Waits for the next value.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// use broadcast::error::RecvError;
    /// let (news, mut reader) = broadcast::channel(2);
    /// (1..=5).for_each(|number| drop(news.send(number)));
    /// assert_eq!(reader.recv(), Err(RecvError::Lagged(3))); // 1, 2 and 3 are lost
    /// assert_eq!(reader.recv(), Ok(4));
    /// ```
    ///
    /// # Errors
    /// If values were lost because this receiver was too slow (the next call continues after them), or all senders
    /// are gone.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, RecvError> {
        wait(self.0.recv(), "recv")
    }

    /// Like [`recv`](Self::recv), as a future. If it is dropped before it is ready, nothing was taken.
    ///
    /// ```
    /// use gossamer::{block_on, sync::broadcast};
    /// let (sender, mut receiver) = broadcast::channel(8);
    /// sender.send(7).unwrap();
    /// assert_eq!(block_on(receiver.recv_async()), Ok(7));
    /// ```
    pub fn recv_async(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        awaited(self.0.recv(), "recv")
    }

    /// The next value, if there is one.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// let (news, mut reader) = broadcast::channel(2);
    /// assert!(reader.try_recv().is_err());
    /// news.send(1).unwrap();
    /// assert_eq!(reader.try_recv(), Ok(1));
    /// ```
    ///
    /// # Errors
    /// If there is none, values were lost, or all senders are gone.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        without_suspending(|| self.0.try_recv())
    }

    /// A further receiver, of what is sent from now on.
    ///
    /// ```
    /// use gossamer::sync::broadcast;
    /// let (sender, behind) = broadcast::channel(8);
    /// sender.send(1).unwrap();
    /// let mut fresh = behind.resubscribe(); // skips what `behind` has not read
    /// sender.send(2).unwrap();
    /// assert_eq!(fresh.recv(), Ok(2));
    /// ```
    #[must_use]
    pub fn resubscribe(&self) -> Self {
        Self(self.0.resubscribe())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("receiver_count", &self.receiver_count()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.0.len()).finish_non_exhaustive()
    }
}
