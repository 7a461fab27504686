//! What a suspended fiber waits for, as reports say it.

use crate::sys::fibers::job::JobId;
use std::any::type_name;
use std::panic::Location;

/// A call that a fiber waits in, or may have to wait in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) call: &'static str,
    /// Where the call was made.
    pub(crate) at: &'static Location<'static>,
    pub(crate) on: WaitsOn,
}

/// What it waits for, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitsOn {
    /// Whatever the call says: a socket, a time, a thread. Something other than a fiber may end the wait.
    Event,
    /// A message, a lock, or other fibers, which are not known: fibers of this node, or threads of its process, end it.
    Others,
    /// The result of a closure or a fiber of this name, from the worker with this index.
    Result { of: fn() -> &'static str, worker: u32 },
    /// The end of a fiber: its job, on the worker of this index.
    Job { worker: u32, job: JobId },
    /// The fibers that hold the latch at this address.
    Latch(usize),
    /// This many others at the barrier at this address.
    Barrier { address: usize, parties: u32 },
    /// Something that only the worker with this index does.
    Worker(u32),
}

impl Wait {
    /// In a call of the caller's caller.
    #[track_caller]
    pub(crate) fn in_call(call: &'static str) -> Self {
        Self { call, at: Location::caller(), on: WaitsOn::Event }
    }

    pub(crate) fn on(self, on: WaitsOn) -> Self {
        Self { on, ..self }
    }
}

/// Whether a call was made by the standard library, for a method of a trait such as `read_line`: which line of the
/// program called that, only a backtrace knows.
pub(crate) fn is_in_std(at: &Location<'_>) -> bool {
    // The second, where the sources of the standard library are installed.
    at.file().starts_with("/rustc/") || at.file().contains("/rustlib/src/rust/library/")
}

/// A wait for the answer of a trustee, as the hot path notes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerWait {
    pub(crate) at: &'static Location<'static>,
    pub(crate) names: &'static AnswerNames,
    /// Index of the trustee, among the workers of all nodes.
    pub(crate) trustee: u32,
}

/// What is delegated: one word for the hot path.
#[derive(Debug)]
pub(crate) struct AnswerNames {
    pub(crate) closure: fn() -> &'static str,
    /// The type of the property.
    pub(crate) property: fn() -> &'static str,
}

impl AnswerNames {
    /// The names of a closure of type `N` and a property of type `T`.
    pub(crate) const fn of<N, T>() -> &'static Self {
        const { &Self { closure: type_name::<N>, property: type_name::<T> } }
    }
}

/// Names a fiber among those of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FiberName {
    pub(crate) worker: u32,
    pub(crate) serial: u64,
}
