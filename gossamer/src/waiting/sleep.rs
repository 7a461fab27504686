//! [`Sleep`]: a moment that has arrived, as a future.

use crate::worker;
use crate::worker::fibers::timer::Timer;
use crate::worker::fibers::wake::poll_or_wait;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use futures_timer::Delay;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A future that is ready once `duration` has passed since this call: [`sleep`](crate::sleep) for [`select!`](crate::select) and
/// for async code.
///
/// A worker fires it from its own list of timers, any other thread from a thread of this process that does nothing else.
///
/// ```
/// use std::time::Duration;
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// gossamer::block_on(gossamer::sleep_async(Duration::from_millis(1)));
/// # });
/// ```
pub fn sleep_async(duration: Duration) -> Sleep {
    Sleep(Deadline { due: Instant::now().checked_add(duration), set: Set::Nowhere })
}

/// What [`sleep_async`] returns.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep(Deadline);

struct Deadline {
    /// None: later than any clock tells.
    due: Option<Instant>,
    set: Set,
}

/// Who will wake the one who waits.
enum Set {
    Nowhere,
    OnWorker { shared: Arc<Shared>, worker: usize, timer: Timer, waker: Waker },
    Outside(Delay),
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        poll_or_wait(Pin::new(&mut self.0), context, "sleep")
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Pending };
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.clear();
            return Poll::Ready(());
        }
        self.set_for(due, context.waker());
        match &mut self.set {
            Set::Outside(delay) => Pin::new(delay).poll(context),
            Set::Nowhere | Set::OnWorker { .. } => Poll::Pending,
        }
    }
}

impl Deadline {
    /// Has `waker` woken at `due`, by the worker whose code this is, if it is one's.
    fn set_for(&mut self, due: Instant, waker: &Waker) {
        worker::with(|here| match here {
            Some(here) => {
                if let Set::OnWorker { shared, worker, waker: known, .. } = &self.set
                    && Arc::ptr_eq(shared, &here.shared)
                    && *worker == here.index
                    && known.will_wake(waker)
                {
                    return;
                }
                self.clear();
                let timer = here.fibers.timers.register(due, waker.clone());
                let shared = Arc::clone(&here.shared);
                self.set = Set::OnWorker { shared, worker: here.index, timer, waker: waker.clone() };
            }
            None if matches!(self.set, Set::Outside(_)) => {}
            None => {
                self.clear();
                self.set = Set::Outside(Delay::new(due.saturating_duration_since(Instant::now())));
            }
        });
    }

    /// Nobody waits any more.
    fn clear(&mut self) {
        let Set::OnWorker { shared, worker, timer, .. } = std::mem::replace(&mut self.set, Set::Nowhere)
        else {
            return;
        };
        worker::with(|here| {
            match here.filter(|here| Arc::ptr_eq(&here.shared, &shared) && here.index == worker) {
                Some(here) => here.fibers.timers.cancel(timer),
                None => {
                    // Refused only when that runtime has ended, and its timers with it.
                    let cancel = Message::Request(Box::new(move |here| here.fibers.timers.cancel(timer)));
                    let _ended = shared.mailbox(worker).send(cancel);
                }
            }
        });
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("due", &self.0.due).finish_non_exhaustive()
    }
}
