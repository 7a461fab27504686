//! The answer of a blocking call, which is put into its frame (A3, A4: `call.rs`).

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::AnswerWait;
use crate::worker::{self, Worker};
use std::cell::Cell;
use std::rc::Rc;

/// The completion that puts an answer into the caller's frame, and resumes its fiber. Its type depends on that of the
/// result only: a closure that is written in the calls would be compiled for each delegated closure.
///
/// # Safety
/// The frame of `answer`, which is empty, is not left before the completion has run or was dropped.
#[inline(always)]
pub(super) unsafe fn answering<U: 'static>(
    answer: &Cell<Option<U>>,
    fiber: Rc<Fiber>,
) -> impl FnOnce(U) + 'static + use<U> {
    let place = &raw const *answer;
    move |outcome| {
        // SAFETY: guaranteed by the caller of `answering`.
        let answer = unsafe { &*place };
        // SAFETY: one thread, and no reference into the cell. It holds nothing that a plain write would lose.
        unsafe { answer.as_ptr().write(Some(outcome)) };
        unpark(fiber);
    }
}

/// Waits until a completion has put an answer into the caller's frame.
#[inline(always)]
pub(super) fn wait_for<U>(here: &Worker, answer: &Cell<Option<U>>, awaited: AnswerWait) -> U {
    loop {
        if let Some(outcome) = answer.take() {
            return outcome;
        }
        // SAFETY: A3: `answer` is only read while the fiber runs, on the thread that writes it.
        here.wait_for_answer(awaited, || unsafe { (*answer.as_ptr()).is_some() });
    }
}

#[inline(always)]
fn unpark(fiber: Rc<Fiber>) {
    // SAFETY: the reference is given up in this frame. It is the worker of `fiber`: a completion is run, or dropped, by the
    // worker that made it, which outlives its fibers (A4).
    if let Some(worker) = unsafe { worker::get() } {
        worker.fibers.scheduler.unpark(fiber);
    }
}
