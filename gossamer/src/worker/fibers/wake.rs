//! Waking a fiber from any thread, and waiting for a future as a fiber or as a thread.

use crate::lane::context::{self, Context};
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::Wait;
use crate::sys::threads::outside::Waiter;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// Names a fiber of a worker; what a fiber's `Waker` holds.
pub(crate) struct WakeHandle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) worker: usize,
    pub(crate) fiber: u32,
}

impl Wake for WakeHandle {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        worker::with(|current| match current {
            Some(here) if Arc::ptr_eq(&here.shared, &self.shared) => here.wake(self.worker, self.fiber),
            _ => {
                // Refused only when the runtime has ended, and its fibers with it.
                let _ended = self.shared.mailbox(self.worker).send(Message::Wake { fiber: self.fiber });
            }
        });
    }
}

impl Worker {
    fn wake(&self, worker: usize, fiber: u32) {
        if worker == self.index {
            self.fibers.scheduler.unpark_index(fiber);
        } else {
            self.tell(worker, Delegated::of::<Root, _>(|_: &mut Root, fiber| resume_here(fiber)), fiber);
        }
    }
}

/// Makes a fiber of this worker runnable; the operation that another worker sends.
fn resume_here(fiber: u32) {
    worker::with(|worker| {
        if let Some(worker) = worker {
            worker.fibers.scheduler.unpark_index(fiber);
        }
    });
}

/// Waits for a future: a fiber lets the others run meanwhile, a thread that is not a worker sleeps, and so does a
/// coroutine of may.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; `call` is named in the message.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F, call: &'static str) -> F::Output {
    wait_for(future, Wait::in_call(call), Worker::park)
}

/// Like `block_on`, where it is known who ends the wait.
#[track_caller]
pub(crate) fn block_on_as<F: Future>(future: F, wait: Wait) -> F::Output {
    wait_for(future, wait, Worker::park)
}

/// Like `block_on`, but not even the end of the runtime unwinds the waiting fiber: for results that are certain to
/// arrive.
#[track_caller]
pub(crate) fn block_on_to_the_end<F: Future>(future: F, call: &'static str) -> F::Output {
    wait_for(future, Wait::in_call(call), Worker::park_to_the_end)
}

/// Polls a future of this crate. If it is not ready, and another executor polls it in a fiber, the fiber waits here:
/// that executor would block the thread, and so the worker that has to make the future ready.
///
/// # Panics
/// Where such an executor runs in a delegated closure or a callback, which cannot wait; `call` is named in the message.
pub(crate) fn poll_or_wait<F: Future>(
    mut future: Pin<&mut F>,
    context: &mut std::task::Context<'_>,
    call: &'static str,
) -> Poll<F::Output> {
    match future.as_mut().poll(context) {
        Poll::Pending if is_polled_by_a_stranger() => Poll::Ready(block_on(future, call)),
        polled => polled,
    }
}

/// A future of this crate for any executor, as `poll_or_wait` polls it.
pub(crate) async fn awaited<F: Future>(future: F, call: &'static str) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| poll_or_wait(future.as_mut(), context, call)).await
}

/// Whether the calling code is a worker's, and it is not `block_on` that polls.
fn is_polled_by_a_stranger() -> bool {
    match context::current() {
        Context::Outside => false,
        Context::Fiber => Fiber::running().is_none_or(|fiber| fiber.wait().is_none()),
        Context::Loop | Context::Steady | Context::Delegated => true,
    }
}

/// Like `block_on_as`, for calls that often need not wait: now and then the fiber still lets others run.
#[track_caller]
pub(crate) fn block_on_in_turn<F: Future>(future: F, wait: Wait) -> F::Output {
    let output = block_on_as(future, wait);
    worker::with(|worker| worker.filter(|_| context::current() == Context::Fiber).map(Worker::take_turn));
    output
}

#[track_caller]
fn wait_for<F: Future>(future: F, wait: Wait, park: fn(&Worker)) -> F::Output {
    let future = pin!(future);
    let is_fiber = context::current() != Context::Outside && worker::with(|worker| worker.is_some());
    if is_fiber {
        worker::require_fiber(wait.call);
    }
    match worker::with(|worker| worker.filter(|_| is_fiber).map(Worker::fiber_waker)) {
        Some(waker) => {
            let _noted = Fiber::note_wait(wait);
            poll_until_ready(future, &waker, || worker::with(|worker| worker.map_or((), park)))
        }
        None => {
            let waiter = Waiter::here();
            poll_until_ready(future, &waiter.waker(), || waiter.park())
        }
    }
}

fn poll_until_ready<F: Future>(mut future: Pin<&mut F>, waker: &Waker, park: impl Fn()) -> F::Output {
    let mut context = std::task::Context::from_waker(waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        park();
    }
}
