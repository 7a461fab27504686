//! [`timeout`]: waiting for a limited time.

use crate::waiting::{block_on, sleep_async};
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// The time of a [`timeout`] has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(Duration);

impl Elapsed {
    /// The duration that was waited for.
    ///
    /// ```
    /// use gossamer::{sync::oneshot, timeout};
    /// use std::time::Duration;
    /// let (_sender, never) = oneshot::channel::<u64>();
    /// let elapsed = timeout(Duration::from_millis(2), never).unwrap_err();
    /// let next = elapsed.duration() * 2; // be more patient the next time
    /// assert_eq!(next, Duration::from_millis(4));
    /// ```
    pub fn duration(&self) -> Duration {
        self.0
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not ready after {:?}", self.0)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}

/// Waits for a future for at most `duration`; a fiber lets other fibers run meanwhile.
///
/// Any future will do: a [`Pending`](crate::Pending), a [`JoinHandle`](crate::JoinHandle), those of
/// [`sync`](crate::sync) and of sockets (`read_async`, not `read`), an `async` block. When the time has passed the future is dropped; pass it as
/// `&mut` to use it again. Dropping it stops neither a request nor a fiber: the request is served, but nobody waits
/// for its answer.
///
/// ```
/// use std::time::Duration;
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let slow = gossamer::spawn(|| gossamer::sleep(Duration::from_secs(3600)));
/// let outcome = gossamer::timeout(Duration::from_millis(5), slow);
/// assert_eq!(outcome.unwrap_err().to_string(), "not ready after 5ms");
/// # });
/// ```
///
/// # Errors
/// If the time has passed and the future is still not ready.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; and if the future does.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    block_on(timeout_async(duration, future))
}

/// Like [`timeout`], as a future.
///
/// ```
/// use gossamer::{block_on, sync::oneshot, timeout_async};
/// let (_sender, never) = oneshot::channel::<u64>();
/// let waited = block_on(async { timeout_async(std::time::Duration::from_millis(1), never).await });
/// assert!(waited.is_err());
/// ```
///
/// # Errors
/// If the time has passed and the future is still not ready.
pub async fn timeout_async<F: IntoFuture>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut sleep) = (pin!(future.into_future()), sleep_async(duration));
    poll_fn(|context| {
        // Poll the future first: if it is ready it has not timed out, however late this poll is.
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut sleep).poll(context).map(|()| Err(Elapsed(duration)))
    })
    .await
}
