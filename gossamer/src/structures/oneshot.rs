//! One value from one sender to one receiver, which may wait as a fiber, a thread or an async task.
//!
//! Protocol (one byte of state; model-checked in `tests` below)
//!
//! ```text
//! EMPTY --receiver stores waker--> WAITING --sender stores value--> DONE
//!   ^------receiver takes waker back--|   \--sender dropped-------> CLOSED
//! EMPTY --sender stores value--> DONE,  EMPTY --sender dropped--> CLOSED
//! ```
//!
//! Invariants
//! - N1: the waker cell belongs to the receiver in EMPTY, to the sender from the swap that leaves WAITING.
//! - N2: the value cell belongs to the sender before DONE, to the receiver after it.
//! - Every AcqRel swap or exchange of the state pairs with those of the other side: each carries N1 or N2 over.

use crate::atomic::{AtomicU8, Ordering, SharedCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const EMPTY: u8 = 0;
const WAITING: u8 = 1;
const DONE: u8 = 2;
const CLOSED: u8 = 3;

struct OneshotState<T> {
    state: AtomicU8,
    value: SharedCell<Option<T>>,
    waker: SharedCell<Option<Waker>>,
}

// SAFETY: N1 and N2: each cell is used by one side at a time, handed over by the state. The waker is Send and Sync.
unsafe impl<T: Send> Send for OneshotState<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for OneshotState<T> {}

/// The end that gives the value; dropping it unused tells the receiver that none will come.
pub(crate) struct OneshotSender<T>(Arc<OneshotState<T>>);

/// The end that waits for the value.
pub(crate) struct OneshotReceiver<T>(Arc<OneshotState<T>>);

/// The sender was dropped without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// A new pair of ends.
pub(crate) fn channel<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let shared = Arc::new(OneshotState {
        state: AtomicU8::new(EMPTY),
        value: SharedCell::new(None),
        waker: SharedCell::new(None),
    });
    (OneshotSender(Arc::clone(&shared)), OneshotReceiver(shared))
}

impl<T> OneshotSender<T> {
    /// Whether the receiver exists.
    pub(crate) fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Gives the value and wakes the receiver.
    pub(crate) fn send(self, value: T) {
        // SAFETY: N2: the state is not DONE, since only this call sets it, and it consumes the sender.
        self.0.value.with_mut(|cell| unsafe { *cell = Some(value) });
        self.finish(DONE);
    }

    /// A callback that gives the value. Its type depends on that of the value only, wherever it is made.
    pub(crate) fn into_callback(self) -> impl FnOnce(T) + use<T> {
        |value| self.send(value)
    }

    fn finish(&self, state: u8) {
        if self.0.state.swap(state, Ordering::AcqRel) == WAITING {
            // SAFETY: N1: this swap left WAITING, so the waker is ours.
            let waker = self.0.waker.with_mut(|cell| unsafe { (*cell).take() });
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl<T> Drop for OneshotSender<T> {
    fn drop(&mut self) {
        // Relaxed: only this very thread of control ever stores DONE.
        if self.0.state.load(Ordering::Relaxed) != DONE {
            self.finish(CLOSED);
        }
    }
}

impl<T> OneshotReceiver<T> {
    /// Whether there is a value, or the news that none will come.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.0.state.load(Ordering::Acquire), DONE | CLOSED)
    }

    /// The outcome, if it is there.
    #[inline]
    pub(crate) fn try_take(&self) -> Option<Result<T, Closed>> {
        let state = self.0.state.load(Ordering::Acquire);
        matches!(state, DONE | CLOSED).then(|| self.take(state))
    }

    fn take(&self, state: u8) -> Result<T, Closed> {
        if state != DONE {
            return Err(Closed);
        }
        // SAFETY: N2: the state was read as DONE with Acquire, so the sender has let go of the value.
        self.0.value.with_mut(|cell| unsafe { (*cell).take() }).ok_or(Closed)
    }

    fn exchange(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.0.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }
}

impl<T> Future for OneshotReceiver<T> {
    type Output = Result<T, Closed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // One look: what was WAITING a moment ago may belong to the sender by now (N1).
        let state = self.0.state.load(Ordering::Acquire);
        if matches!(state, DONE | CLOSED) {
            return Poll::Ready(self.take(state));
        }
        if state == WAITING
            && let Err(finished) = self.exchange(WAITING, EMPTY)
        {
            return Poll::Ready(self.take(finished));
        }
        // SAFETY: N1: the state is EMPTY, which only the receiver leaves without finishing.
        self.0.waker.with_mut(|cell| unsafe { *cell = Some(context.waker().clone()) });
        match self.exchange(EMPTY, WAITING) {
            Ok(_) => Poll::Pending,
            Err(finished) => Poll::Ready(self.take(finished)),
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::future::block_on;

    #[test]
    fn a_value_sent_from_another_thread_is_received_once() {
        loom::model(|| {
            let (sender, receiver) = channel();
            loom::thread::spawn(move || sender.send(7));
            assert_eq!(block_on(receiver), Ok(7));
        });
    }

    #[test]
    fn a_sender_dropped_without_a_value_wakes_the_receiver() {
        loom::model(|| {
            let (sender, receiver) = channel::<u8>();
            loom::thread::spawn(move || drop(sender));
            assert_eq!(block_on(receiver), Err(Closed));
        });
    }
}
