//! A queue of values with many senders and one receiver. Its ends stay on their node: see [`sync`](crate::sync).
//!
//! ```
//! use gossamer::sync::mpsc;
//! # gossamer::run(gossamer::Config::default().threads(2), || {
//! let (sender, receiver) = mpsc::channel(16); // the seventeenth waits
//! for number in 0..4 {
//!     let _detached = gossamer::spawn_with(|(sender, number)| sender.send(number).unwrap(), (sender.clone(), number));
//! }
//! drop(sender); // the loop ends when all senders are gone
//! let mut numbers: Vec<i32> = receiver.collect();
//! numbers.sort_unstable();
//! assert_eq!(numbers, [0, 1, 2, 3]);
//! # });
//! ```
//!
//! Values of one sender arrive in order. A bounded queue makes its senders wait; an unbounded queue grows as long as
//! its receiver is slower than its senders.

use crate::sync::{awaited, wait};
use error::{SendError, TryRecvError, TrySendError};
use std::fmt;
use std::future::Future;

pub use tokio::sync::mpsc::error;

/// The sending end of a queue with a bound. A clone is another sender.
pub struct Sender<T>(tokio::sync::mpsc::Sender<T>);

/// The receiving end of a queue with a bound; as an iterator it ends when all senders are gone.
pub struct Receiver<T>(tokio::sync::mpsc::Receiver<T>);

/// The sending end of a queue without a bound. A clone is another sender.
pub struct UnboundedSender<T>(tokio::sync::mpsc::UnboundedSender<T>);

/// The receiving end of a queue without a bound; as an iterator it ends when all senders are gone.
pub struct UnboundedReceiver<T>(tokio::sync::mpsc::UnboundedReceiver<T>);

/// A queue of at most `capacity` values.
///
/// ```
/// use gossamer::sync::mpsc;
/// let (sender, mut receiver) = mpsc::channel(2);
/// sender.send(1).unwrap();
/// assert_eq!(receiver.recv(), Some(1));
/// ```
///
/// # Panics
/// If `capacity` is 0.
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::sync::mpsc::channel(capacity);
    (Sender(sender), Receiver(receiver))
}

/// A queue without a bound.
///
/// ```
/// use gossamer::sync::mpsc;
/// let (sender, receiver) = mpsc::unbounded_channel();
/// (0..1000).for_each(|number| sender.send(number).unwrap()); // never waits
/// drop(sender);
/// assert_eq!(receiver.sum::<u64>(), 499_500);
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    (UnboundedSender(sender), UnboundedReceiver(receiver))
}

impl<T> Sender<T> {
    /// Sends a value as soon as there is room.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, receiver) = mpsc::channel(1);
    /// sender.send(1).unwrap();
    /// drop(receiver);
    /// assert_eq!(sender.send(2).unwrap_err().0, 2); // nobody will have it
    /// ```
    ///
    /// # Errors
    /// If the receiver is gone: the value comes back.
    ///
    /// # Panics
    /// In a delegated closure or a callback: use [`try_send`](Self::try_send) there.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        wait(self.0.send(value), "send")
    }

    /// Like [`send`](Self::send), as a future. If it is dropped before it is ready, the value is dropped and not
    /// sent.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// sender.send_async(1).await.unwrap();
    /// assert_eq!(receiver.recv_async().await, Some(1));
    /// # });
    /// ```
    pub fn send_async(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> {
        awaited(self.0.send(value), "send")
    }

    /// Sends a value if there is room at once.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, _receiver) = mpsc::channel(1);
    /// assert!(sender.try_send(1).is_ok());
    /// assert!(sender.try_send(2).is_err()); // full
    /// ```
    ///
    /// # Errors
    /// If there is none, or the receiver is gone: the value comes back.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(value)
    }

    /// Waits until the receiver is gone.
    ///
    /// ```
    /// use gossamer::{block_on, sync::mpsc};
    /// let (sender, receiver) = mpsc::channel::<u64>(1);
    /// drop(receiver); // nobody wants any more of it
    /// block_on(sender.closed_async());
    /// assert!(sender.is_closed());
    /// ```
    pub fn closed_async(&self) -> impl Future<Output = ()> {
        awaited(self.0.closed(), "closed")
    }

    /// Whether the receiver is gone.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, receiver) = mpsc::channel::<u64>(1);
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// How many values there is room for now.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, _receiver) = mpsc::channel(3);
    /// sender.send(1).unwrap();
    /// assert_eq!(sender.capacity(), 2);
    /// ```
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<T> UnboundedSender<T> {
    /// Sends a value. Never waits.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, mut receiver) = mpsc::unbounded_channel();
    /// sender.send("tea").unwrap(); // also in a delegated closure or a callback
    /// assert_eq!(receiver.recv(), Some("tea"));
    /// drop(receiver);
    /// assert_eq!(sender.send("milk").unwrap_err().0, "milk"); // it comes back
    /// ```
    ///
    /// # Errors
    /// If the receiver is gone: the value comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value)
    }

    /// Waits until the receiver is gone.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::sync::mpsc;
    /// let (sender, mut receiver) = mpsc::unbounded_channel::<u64>();
    /// let producer = gossamer::spawn_with(|sender| gossamer::block_on(sender.closed_async()), sender.clone());
    /// sender.send(1).unwrap();
    /// assert_eq!(receiver.recv(), Some(1));
    /// drop(receiver);
    /// producer.join(); // it has stopped
    /// # });
    /// ```
    pub fn closed_async(&self) -> impl Future<Output = ()> {
        awaited(self.0.closed(), "closed")
    }

    /// Whether the receiver is gone.
    ///
    /// ```
    /// use gossamer::sync::mpsc;
    /// let (sender, receiver) = mpsc::unbounded_channel::<u64>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed()); // no need to prepare another value
    /// ```
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// What both kinds of queues have in common.
macro_rules! ends {
    ($sender:ident, $receiver:ident) => {
        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender))
                    .field("is_closed", &self.is_closed())
                    .finish_non_exhaustive()
            }
        }

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver)).field("len", &self.len()).finish_non_exhaustive()
            }
        }

        impl<T> $receiver<T> {
            /// Waits for the next value; `None` if all senders are gone and all their values were received.
            ///
            /// ```
            /// use gossamer::sync::mpsc;
            /// let (sender, mut receiver) = mpsc::unbounded_channel();
            /// sender.send(1).unwrap();
            /// drop(sender);
            /// assert_eq!((receiver.recv(), receiver.recv()), (Some(1), None));
            /// ```
            ///
            /// # Panics
            /// In a delegated closure or a callback.
            #[track_caller]
            pub fn recv(&mut self) -> Option<T> {
                wait(self.0.recv(), "recv")
            }

            /// Like [`recv`](Self::recv), as a future. If it is dropped before it is ready, nothing was taken.
            ///
            /// ```
            /// use gossamer::{block_on, sync::mpsc};
            /// let (sender, mut receiver) = mpsc::channel(1);
            /// sender.send(7).unwrap();
            /// assert_eq!(block_on(receiver.recv_async()), Some(7));
            /// ```
            pub fn recv_async(&mut self) -> impl Future<Output = Option<T>> {
                awaited(self.0.recv(), "recv")
            }

            /// The next value, if it is there.
            ///
            /// ```
            /// use gossamer::sync::mpsc;
            /// let (sender, mut receiver) = mpsc::unbounded_channel();
            /// assert!(receiver.try_recv().is_err()); // nothing yet
            /// sender.send(1).unwrap();
            /// assert_eq!(receiver.try_recv(), Ok(1));
            /// ```
            ///
            /// # Errors
            /// If there is none, or all senders are also gone.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.0.try_recv()
            }

            /// Refuses new values from now on. Those already sent can still be received.
            ///
            /// ```
            /// use gossamer::sync::mpsc;
            /// let (sender, mut receiver) = mpsc::unbounded_channel();
            /// sender.send(1).unwrap();
            /// receiver.close();
            /// assert!(sender.send(2).is_err());
            /// assert_eq!(receiver.recv(), Some(1));
            /// ```
            pub fn close(&mut self) {
                self.0.close();
            }

            /// The number of values that wait.
            ///
            /// ```
            /// use gossamer::sync::mpsc;
            /// let (sender, receiver) = mpsc::unbounded_channel();
            /// sender.send(1).unwrap();
            /// assert_eq!(receiver.len(), 1);
            /// ```
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Whether no value waits.
            ///
            /// ```
            /// use gossamer::sync::mpsc;
            /// let (sender, receiver) = mpsc::channel(1);
            /// assert!(receiver.is_empty());
            /// sender.send(7).unwrap();
            /// assert!(!receiver.is_empty());
            /// ```
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl<T> Iterator for $receiver<T> {
            type Item = T;

            fn next(&mut self) -> Option<T> {
                self.recv()
            }
        }
    };
}

ends!(Sender, Receiver);
ends!(UnboundedSender, UnboundedReceiver);
