//! What a fiber notes for reports: cheap enough for every wait, and read only on its own worker.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::notice::BacktraceRequest;
use crate::sys::fibers::wait::{AnswerWait, Wait};
use std::cell::Cell;

/// The notes of a fiber.
#[derive(Default)]
pub(super) struct FiberNotes {
    /// The call that it waits in, or polls a future in.
    wait: Cell<Option<Wait>>,
    /// The addresses of the latches that it holds. Most fibers never hold one.
    #[expect(clippy::box_collection, reason = "one word of each fiber instead of three")]
    latches: Cell<Option<Box<Vec<usize>>>>,
    pub(super) backtrace_request: Cell<Option<Box<BacktraceRequest>>>,
}

impl Fiber {
    /// The call that it waits in, unless it waits for the answer of a trustee.
    pub(crate) fn wait(&self) -> Option<Wait> {
        self.notes.wait.get()
    }

    /// The answer that it waits for.
    pub(crate) fn answer(&self) -> Option<AnswerWait> {
        self.answer.get().filter(|_| self.awaits_answer())
    }

    /// The turn in which it was last resumed.
    pub(crate) fn resumed(&self) -> u64 {
        self.resumed.get()
    }

    /// The turn of its worker in which the running fiber was resumed last, and the number of its job there: the same
    /// pair again only if the job has not been suspended.
    ///
    /// # Panics
    /// If no fiber is running on this thread.
    pub(crate) fn running_job() -> (u64, u64) {
        Self::with_running(|fiber| (fiber.resumed.get(), fiber.description.get().serial))
    }

    /// The addresses of the latches that it holds.
    pub(crate) fn latches(&self) -> Vec<usize> {
        let latches = self.notes.latches.take();
        let addresses = latches.as_deref().cloned().unwrap_or_default();
        self.notes.latches.set(latches);
        addresses
    }

    /// Notes, on the running fiber, the call that it will wait in until the guard is dropped.
    pub(crate) fn note_wait(wait: Wait) -> WaitNote {
        WaitNote(Self::with_running(|fiber| fiber.notes.wait.replace(Some(wait))))
    }

    /// From here on it holds the latch at this address.
    pub(crate) fn add_latch(&self, address: usize) {
        let mut latches = self.notes.latches.take().unwrap_or_default();
        latches.push(address);
        self.notes.latches.set(Some(latches));
    }

    /// It no longer holds the latch at this address.
    pub(crate) fn remove_latch(&self, address: usize) {
        let Some(mut latches) = self.notes.latches.take() else { return };
        if let Some(place) = latches.iter().rposition(|held| *held == address) {
            latches.swap_remove(place);
        }
        self.notes.latches.set(Some(latches).filter(|latches| !latches.is_empty()));
    }
}

/// Restores what it replaced when dropped, on the fiber that made it.
pub(crate) struct WaitNote(Option<Wait>);

impl Drop for WaitNote {
    fn drop(&mut self) {
        Fiber::with_running(|fiber| fiber.notes.wait.set(self.0));
    }
}
