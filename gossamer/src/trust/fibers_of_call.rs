//! [`FibersOfCall`] and [`on_all_workers`]: fibers that a call has started, and waits for.

use crate::lane::operation::refuse_captures;
use crate::trust::{Cancellers, JoinHandle, refuse_while_unwinding, rethrow, spawn_many};
use crate::worker::require_fiber;
use crate::{DelegationError, NoRef, Trustee};
use std::panic::Location;

/// The fibers that a call has started. If the call ends before they do, since its caller is cancelled or an argument
/// cannot be cloned, they are cancelled.
pub(crate) struct FibersOfCall<U> {
    handles: Vec<JoinHandle<U>>,
    cancellers: Cancellers,
}

impl<U> FibersOfCall<U> {
    /// # Panics
    /// Where the caller cannot wait: nothing is started then.
    #[track_caller]
    pub(crate) fn new() -> Self {
        refuse_while_unwinding("waits for fibers", "do that before");
        require_fiber("join");
        Self { handles: Vec::new(), cancellers: Cancellers::default() }
    }

    pub(crate) fn push(&mut self, handle: JoinHandle<U>) {
        self.cancellers.push(handle.canceller());
        self.handles.push(handle);
    }

    /// Waits for all, and returns their results in order. After a panic, which comes back to the caller, the others
    /// are cancelled.
    #[track_caller]
    pub(crate) fn joined(self) -> Vec<U> {
        self.joined_after(Cancellers::cancel)
    }

    /// Like [`joined`](Self::joined), but after a panic the others end by themselves.
    #[track_caller]
    pub(crate) fn all_joined(self) -> Vec<U> {
        self.joined_after(|_| ())
    }

    #[track_caller]
    fn joined_after(self, on_panic: impl Fn(&Cancellers)) -> Vec<U> {
        let Self { handles, cancellers } = self;
        let (mut results, mut failed): (Vec<U>, Option<DelegationError>) = (Vec::new(), None);
        for handle in handles {
            match handle.try_join() {
                Ok(result) => results.push(result),
                // Later errors are consequences of the first.
                Err(_) if failed.is_some() => {}
                Err(error) => {
                    failed = Some(error);
                    on_panic(&cancellers);
                }
            }
        }
        cancellers.forget();
        match failed {
            None => results,
            Some(error) => rethrow(error, Location::caller()),
        }
    }
}

/// A fiber on each worker of all nodes, which gets a clone of `arguments`: one message for each node. Waits for all, and
/// returns their results in the order of the workers, as [`FibersOfCall::all_joined`] does.
///
/// For a closure of this crate that wraps one of the user's, of type `N`, which decides whether it travels.
#[track_caller]
pub(crate) fn on_all_workers<N: 'static, C: NoRef + Clone, U: NoRef, F>(f: F, arguments: C) -> Vec<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<N>() };
    refuse_while_unwinding("waits for fibers", "do that before");
    require_fiber("join");
    let fibers = spawn_many::start::<N, _, _, _>("spawn", Trustee::all().len(), f, arguments);
    let cancellers = fibers.cancellers();
    let results = fibers.try_join();
    cancellers.forget();
    match results.into_iter().collect() {
        Ok(results) => results,
        Err(error) => rethrow(error, Location::caller()),
    }
}

impl<U> Extend<JoinHandle<U>> for FibersOfCall<U> {
    fn extend<I: IntoIterator<Item = JoinHandle<U>>>(&mut self, handles: I) {
        handles.into_iter().for_each(|handle| self.push(handle));
    }
}

impl<U> FromIterator<JoinHandle<U>> for FibersOfCall<U> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = JoinHandle<U>>>(handles: I) -> Self {
        let mut fibers = Self::new();
        fibers.extend(handles);
        fibers
    }
}
