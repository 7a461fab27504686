//! What loops that emit go over, and what the fiber of one worker does.

use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::lane::catch::{caught, resume};
use crate::worker::Cancelled;
use crate::{NoRef, Trustee};
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

    /// These workers.
    fn trustees(&self) -> Vec<Trustee>;
}

/// A closure that is called for each element of a domain.
pub trait Emit<S: Domain, K: NoRef, A: NoRef> {
    /// Calls it for all elements of a worker, and hands over what it emits.
    fn visit(&self, own: &S::Own, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>);
}

/// The loop of one worker; returns how many pairs it has sent. Whatever panics, all that was emitted takes effect before
/// the panic goes on.
pub(super) fn run<S: Domain, K: NoRef, A: NoRef>(
    own: &S::Own,
    emit: &impl Emit<S, K, A>,
    mut handle: impl UpdateHandle<K, A>,
) -> u64 {
    let mut out = Emitted::new(&handle);
    let visited = catch_unwind(AssertUnwindSafe(|| emit.visit(own, &mut out, &mut handle)));
    let visited = visited.map_err(|payload| {
        if payload.is::<Cancelled>() {
            resume_unwind(payload);
        }
        caught(payload)
    });
    out.send(&mut handle);
    let (count, failed) = out.end();
    let finished = handle.finish();
    // Only one panic can go on. That of the loop itself has ended it.
    if let Some(failed) = visited.err().or(failed) {
        resume(failed);
    }
    if let Err(error) = finished {
        error.resume();
    }
    count
}
