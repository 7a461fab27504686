//! [`par_for_each`]: a loop over numbers, on all workers.

use crate::collections::IndexRange;
use crate::collections::self_scheduling::{ChunkLength, OwnNumbers, on_workers};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};
use std::ops::Range;

/// Calls a closure for each number of a range, on all workers of all nodes, and waits until that is done.
/// [`IndexRange`] does so on some workers.
///
/// Workers ask for numbers as they need them, in chunks that become smaller towards the end, which balances uneven
/// work. If numbers take as long as those before, no chunk takes longer than 50 us or a sixteenth of the loop so
/// far. The closure runs in a fiber, so it may wait. The order and the workers are not defined; but if there are fewer
/// numbers than workers, each is called on a worker of its own, the first on the caller's.
///
/// ```
/// use gossamer::collections::{self, DistVec};
///
/// #[gossamer::delegate]
/// fn divisors(most: usize) -> Vec<u64> {
///     let counts = DistVec::filled(most + 1, 0_u64);
///     let by = counts.clone();
///     collections::par_for_each(1..most + 1, move |divisor| {
///         (divisor..=most).step_by(divisor).for_each(|number| by.update(number, |count| *count += 1));
///     });
///     counts.to_vec()
/// }
///
/// let counts = gossamer::run(gossamer::Config::default().threads(2), || divisors(6));
/// assert_eq!(counts, [0, 1, 2, 2, 3, 2, 4]);
/// ```
///
/// # Cost
/// A fiber on each worker, started by one message for each node (for each worker if there is only one node), or for
/// each number if these are fewer, by a message for each; it has the captures of the closure, which are cloned for
/// each worker, and each call borrows them. The first two chunks of a worker come with it. For others it sends a
/// request of 16 bytes, with an answer of 16: with `n` numbers and `w` workers there are at most about `4 w ln n` such
/// chunks, fewer if they take less than 5 us, and up to `16 w (1 + ln t)` more if the loop takes `t` milliseconds.
/// Without numbers nothing is sent.
///
/// # Panics
/// If the closure panics, with the number that it was called for: that worker stops there, and the others finish the
/// chunks that they have begun, and the two that each begins with. Where the caller cannot wait; on a thread that is not a worker.
#[track_caller]
pub fn par_for_each<F>(range: Range<usize>, closure: F)
where
    F: FnOnce(usize) + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    for_each_around::<F, _, _, _>(range.into(), move |()| move |number| closure(number), ());
}

/// Like [`par_for_each`], with `arguments`, which each call gets by reference.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::{DistVec, par_for_each_with};
/// let squares = DistVec::filled(100, 0_usize);
/// let square = |number: usize, squares: &DistVec<usize>| squares.set(number, number * number);
/// par_for_each_with(0..100, square, squares.clone());
/// assert_eq!(squares.get(9), 81);
/// # });
/// ```
///
/// # Panics
/// Like [`par_for_each`].
#[track_caller]
pub fn par_for_each_with<C: NoRef + Clone, F>(range: Range<usize>, closure: F, arguments: C)
where
    F: Fn(usize, &C) + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    let lend = move |arguments: C| move |number| closure(number, &arguments);
    for_each_around::<F, _, _, _>(range.into(), lend, arguments);
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_for_each_with_arguments_first<C: Captured + Clone, F, G>(
    range: Range<usize>,
    arguments: C,
    closure: F,
) where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize),
{
    const { refuse_captures::<F>() };
    for_each_around::<F, _, _, _>(range.into(), closure, arguments);
}

#[track_caller]
pub(super) fn for_each_around<N: 'static, C: NoRef + Clone, F, G>(range: IndexRange, closure: F, arguments: C)
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize),
{
    require_fiber("par_for_each");
    let body = move |numbers: OwnNumbers, arguments: C| {
        numbers.for_each(closure(arguments));
    };
    on_workers::<N, _, _, _>(range.into_parts(), ChunkLength::Timed, body, arguments);
}
