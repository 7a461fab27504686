//! What loops that emit go over, and what the fiber of one worker does.

use crate::NoRef;
use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::worker::Cancelled;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a loop goes over, elements of a collection or numbers, and the workers that do so.
pub trait Domain: Sized {
    /// What the fiber of a worker has of it.
    type Own;

    /// Runs a closure in a fiber on each worker, and returns the results when all have ended. It captures the user's
    /// closure of type `N`, and others that were checked (`require_constant`), and nothing else.
    fn on_workers<N: 'static, C: NoRef + Clone, F>(&self, run: F, arguments: C) -> Vec<u64>
    where
        F: FnOnce(&Self::Own, C) -> u64 + Send + Copy + 'static;

    /// Refuses a second closure that cannot go to all workers.
    fn require_constant<M>(&self, call: &str);
}

/// A closure that is called for each element of a domain.
pub trait Emit<S: Domain, K, A> {
    /// Calls it for all elements of a worker, and hands over what it emits.
    fn visit(&self, own: &S::Own, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>);
}

/// The loop of one worker; returns how many pairs it has sent. After a panic of the user's closure, what was emitted
/// before takes effect all the same.
pub(super) fn run<S: Domain, K: NoRef, A: NoRef>(
    own: &S::Own,
    emit: &impl Emit<S, K, A>,
    mut handle: impl UpdateHandle<K, A>,
) -> u64 {
    let mut out = Emitted::new(handle.spread());
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| emit.visit(own, &mut out, &mut handle))) {
        if !payload.is::<Cancelled>() {
            out.send(&mut handle);
            // The first error is the one to report.
            drop(handle.finish());
        }
        resume_unwind(payload);
    }
    out.send(&mut handle);
    if let Err(error) = handle.finish() {
        error.resume();
    }
    out.sent()
}
