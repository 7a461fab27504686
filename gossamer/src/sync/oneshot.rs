//! A channel for a single value. Its ends stay on their node: see [`sync`](crate::sync).
//!
//! ```
//! use gossamer::sync::oneshot;
//! # gossamer::run(gossamer::Config::default().threads(2), || {
//! let (answer, question) = oneshot::channel();
//! gossamer::spawn_with(|answer| answer.send(42), answer).join().unwrap();
//! assert_eq!(question.recv(), Ok(42));
//! # });
//! ```

use crate::sync::wait;
use crate::worker::fibers::wake::poll_or_wait;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use tokio::sync::oneshot::error;

/// The end that sends the value.
#[derive(Debug)]
pub struct Sender<T>(tokio::sync::oneshot::Sender<T>);

/// The end that waits for it; also a future.
#[derive(Debug)]
pub struct Receiver<T>(tokio::sync::oneshot::Receiver<T>);

/// Both ends.
///
/// ```
/// use gossamer::sync::oneshot;
/// let (answer, question) = oneshot::channel();
/// answer.send(42).unwrap();
/// assert_eq!(question.recv(), Ok(42));
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    (Sender(sender), Receiver(receiver))
}

impl<T> Sender<T> {
    /// Sends the value. Never waits.
    ///
    /// ```
    /// use gossamer::sync::oneshot;
    /// let (sender, receiver) = oneshot::channel();
    /// sender.send(42).unwrap();
    /// assert_eq!(receiver.recv(), Ok(42));
    ///
    /// let (sender, receiver) = oneshot::channel();
    /// drop(receiver);
    /// assert_eq!(sender.send(42), Err(42)); // nobody will get it
    /// ```
    ///
    /// # Errors
    /// If the receiver is gone: the value comes back.
    pub fn send(self, value: T) -> Result<(), T> {
        self.0.send(value)
    }

    /// Whether the receiver is gone.
    ///
    /// ```
    /// use gossamer::sync::oneshot;
    /// let (answer, question) = oneshot::channel::<u64>();
    /// drop(question);
    /// assert!(answer.is_closed()); // no need to compute it
    /// ```
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<T> Receiver<T> {
    /// Waits for the value.
    ///
    /// ```
    /// use gossamer::sync::oneshot;
    /// let (answer, question) = oneshot::channel::<u64>();
    /// drop(answer);
    /// assert!(question.recv().is_err());
    /// ```
    ///
    /// # Errors
    /// If the sender is gone and sent none.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn recv(self) -> Result<T, error::RecvError> {
        wait(self.0, "recv")
    }

    /// The value, if it has arrived.
    ///
    /// ```
    /// use gossamer::sync::oneshot;
    /// let (answer, mut question) = oneshot::channel();
    /// assert!(question.try_recv().is_err());
    /// answer.send(1).unwrap();
    /// assert_eq!(question.try_recv(), Ok(1));
    /// ```
    ///
    /// # Errors
    /// If it has not, or the sender is gone.
    pub fn try_recv(&mut self) -> Result<T, error::TryRecvError> {
        self.0.try_recv()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        poll_or_wait(Pin::new(&mut self.0), context, "recv")
    }
}
