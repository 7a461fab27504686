//! [`par_fold`] and [`par_map_reduce`]: parallel folds over numbers, on all workers.

use crate::collections::IndexRange;
use crate::collections::layout::or_all;
use crate::collections::self_scheduling::{ChunkLength, OwnNumbers, of_iteration, on_workers};
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};
use std::ops::Range;

/// Folds each chunk of a range of numbers, on all workers of all nodes: the closure turns `initial` and the first
/// number of a chunk into a value, that and the next number into the next value, and so on. Returns the last value of
/// each chunk, in the order of the numbers.
///
/// Chunks are handed out as by [`par_for_each`](crate::collections::par_for_each). Where they begin depends only on
/// the number of workers, so the same number of workers returns the same values.
///
/// ```
/// use gossamer::collections;
///
/// #[gossamer::delegate]
/// fn powers(terms: usize, base: f64) -> f64 {
///     let sums = collections::par_fold(0..terms, 0.0, |sum, term| sum + base.powi(-(term as i32)));
///     sums.into_iter().sum()
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// assert!((powers(100, 2.0) - 2.0).abs() < 1e-9);
/// # });
/// ```
///
/// # Cost
/// Like [`par_for_each`](crate::collections::par_for_each); the value of each chunk comes back.
///
/// # Panics
/// Like [`par_for_each`](crate::collections::par_for_each).
#[track_caller]
pub fn par_fold<A: NoRef + Clone, F>(range: Range<usize>, initial: A, closure: F) -> Vec<A>
where
    F: FnOnce(A, usize) -> A + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    let fold = move |()| move |before, number| closure(before, number);
    fold_around::<F, _, _, _, _>(range.into(), initial, fold, ())
}

/// Like [`par_fold`], with `arguments`, which each call gets by reference.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::par_fold_with;
/// let sums = par_fold_with(0..100, 0, |sum, number, by: &usize| sum + number / by, 10);
/// assert_eq!(sums.into_iter().sum::<usize>(), 450);
/// # });
/// ```
///
/// # Panics
/// Like [`par_fold`].
#[track_caller]
pub fn par_fold_with<C: NoRef + Clone, A: NoRef + Clone, F>(
    range: Range<usize>,
    initial: A,
    closure: F,
    arguments: C,
) -> Vec<A>
where
    F: Fn(A, usize, &C) -> A + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    let lend = move |arguments: C| move |before, number| closure(before, number, &arguments);
    fold_around::<F, _, _, _, _>(range.into(), initial, lend, arguments)
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_fold_with_arguments_first<C: Captured + Clone, A: NoRef + Clone, F, G>(
    range: Range<usize>,
    initial: A,
    arguments: C,
    closure: F,
) -> Vec<A>
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(A, usize) -> A,
{
    const { refuse_captures::<F>() };
    fold_around::<F, _, _, _, _>(range.into(), initial, closure, arguments)
}

/// Maps each number of a range to a value with one closure, and reduces neighbouring values with another, on all
/// workers of all nodes. Returns `None` if the range is empty.
///
/// The second closure should be associative. If it is not, as with floating-point numbers, the same number of workers
/// still returns the same result ([`par_fold`]). It captures nothing. A marked function makes it a constant, like the
/// first; elsewhere it can go to other nodes if it is written `const { |one, other| … }`, or is a plain `fn`.
///
/// ```
/// use gossamer::collections;
///
/// #[gossamer::delegate]
/// fn largest(below: usize, by: usize) -> Option<(usize, usize)> {
///     collections::par_map_reduce(2..below, |start| (start * start % by, start), |one, other| one.max(other))
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// assert_eq!(largest(50, 17), Some((16, 47)));
/// # });
/// ```
///
/// # Cost
/// Like [`par_for_each`](crate::collections::par_for_each); the value of each chunk comes back.
///
/// # Panics
/// Like [`par_for_each`](crate::collections::par_for_each).
#[track_caller]
pub fn par_map_reduce<U: NoRef, F, R>(range: Range<usize>, map: F, reduce: R) -> Option<U>
where
    F: FnOnce(usize) -> U + Send + WithoutCaptures + 'static,
    R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    map_reduce_around::<F, _, _, _, _, _>(range.into(), move |()| move |number| map(number), (), reduce)
}

/// Like [`par_map_reduce`], with `arguments`, which each call gets by reference.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::par_map_reduce_with;
/// let largest = par_map_reduce_with(0..100, |number, of: &usize| number * number % of, 97, |one, other| one.max(other));
/// assert_eq!(largest, Some(96));
/// # });
/// ```
///
/// # Panics
/// Like [`par_map_reduce`].
#[track_caller]
pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
    range: Range<usize>,
    map: F,
    arguments: C,
    reduce: R,
) -> Option<U>
where
    F: Fn(usize, &C) -> U + Send + WithoutCaptures + 'static,
    R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    let lend = move |arguments: C| move |number| map(number, &arguments);
    map_reduce_around::<F, _, _, _, _, _>(range.into(), lend, arguments, reduce)
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_map_reduce_with_arguments_first<C: Captured + Clone, U: NoRef, F, G, R>(
    range: Range<usize>,
    arguments: C,
    map: F,
    reduce: R,
) -> Option<U>
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize) -> U,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    map_reduce_around::<F, _, _, _, _, _>(range.into(), map, arguments, reduce)
}

#[track_caller]
pub(super) fn map_reduce_around<N: 'static, C: NoRef + Clone, U: NoRef, F, G, R>(
    range: IndexRange,
    map: F,
    arguments: C,
    reduce: R,
) -> Option<U>
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize) -> U,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    require_fiber("par_map_reduce");
    const { refuse_captures::<R>() };
    let (numbers, trustees) = range.into_parts();
    let of_loop = or_all(trustees.clone());
    require_constant::<R>(of_loop.into_iter(), "par_map_reduce");
    let body = move |numbers: OwnNumbers, arguments: C| {
        let map = map(arguments);
        let step = |before, number| Some(reduced(before, map(number), reduce));
        fold_chunks(&numbers, || None, step, of_iteration)
    };
    in_order(on_workers::<N, _, _, _>((numbers, trustees), ChunkLength::Fixed, body, arguments))
        .reduce(|one, other| reduce(one, other))
}

#[track_caller]
pub(super) fn fold_around<N: 'static, A: NoRef + Clone, C: NoRef + Clone, F, G>(
    range: IndexRange,
    initial: A,
    closure: F,
    arguments: C,
) -> Vec<A>
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(A, usize) -> A,
{
    require_fiber("par_fold");
    let body = move |numbers: OwnNumbers, (initial, arguments): (A, C)| {
        let closure = closure(arguments);
        let step = |before: Option<A>, number| before.map(|before| closure(before, number));
        fold_chunks(&numbers, || Some(initial.clone()), step, of_iteration)
    };
    in_order(on_workers::<N, _, _, _>(range.into_parts(), ChunkLength::Fixed, body, (initial, arguments)))
        .collect()
}

/// The chunks that a fiber was given, by their first numbers, and what was made of each: nothing if it had nothing.
pub(super) type ChunkValues<A> = Vec<(usize, Option<A>)>;

/// Folds each chunk that a fiber gets. A value is absent while the step has it.
pub(super) fn fold_chunks<A>(
    numbers: &OwnNumbers,
    initial: impl Fn() -> Option<A>,
    mut step: impl FnMut(Option<A>, usize) -> Option<A>,
    say: impl FnOnce(usize, String) -> String,
) -> ChunkValues<A> {
    let mut chunks = ChunkValues::new();
    let fold = |stretch: Range<usize>, is_first, at: &mut usize| {
        *at = stretch.start;
        if is_first {
            chunks.push((stretch.start, initial()));
        }
        if let Some((_, folded)) = chunks.last_mut() {
            // In a variable of its own, which may be in registers.
            let mut value = folded.take();
            for number in stretch {
                *at = number;
                value = step(value, number);
            }
            *folded = value;
        }
    };
    numbers.for_each_stretch(fold, say);
    chunks
}

/// A value and the next one, reduced.
pub(super) fn reduced<U>(before: Option<U>, next: U, reduce: impl FnOnce(U, U) -> U) -> U {
    match before {
        Some(before) => reduce(before, next),
        None => next,
    }
}

/// The values of chunks, in the order of the chunks' first numbers.
pub(super) fn in_order<A>(chunks: Vec<ChunkValues<A>>) -> impl Iterator<Item = A> {
    let mut chunks: Vec<_> = chunks.into_iter().flatten().collect();
    chunks.sort_unstable_by_key(|(start, _)| *start);
    chunks.into_iter().filter_map(|(_, value)| value)
}
