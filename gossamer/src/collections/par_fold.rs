//! [`par_fold`] and [`par_map_reduce`]: numbers made values, on all workers.

use crate::collections::par_for_each::{Remaining, on_all_workers, run_chunks};
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::{NoRef, Trust, Trustee};
use std::ops::Range;

/// Makes one value of each chunk of the numbers of a range, on all workers of all nodes: of `initial` and the first number a closure makes another, of
/// that and the next number the next, and so on. Returns the last of each chunk, in the order of the numbers.
///
/// Chunks are handed out as by [`par_for_each`](crate::collections::par_for_each). Where they begin depends on the number of workers and on nothing else, so
/// as many workers return the same values.
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
/// As [`par_for_each`](crate::collections::par_for_each); the value of each chunk comes back.
///
/// # Panics
/// As [`par_for_each`](crate::collections::par_for_each).
#[track_caller]
pub fn par_fold<A: NoRef + Clone, F>(range: Range<usize>, initial: A, closure: F) -> Vec<A>
where
    F: FnOnce(A, usize) -> A + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    fold_around::<F, _, _, _>(range, initial, move |before, number, ()| closure(before, number), ())
}

/// As [`par_fold`], with a clone of `arguments` for each number.
///
/// # Panics
/// As [`par_fold`].
#[track_caller]
pub fn par_fold_with<A: NoRef + Clone, C: NoRef + Clone, F>(
    range: Range<usize>,
    initial: A,
    closure: F,
    arguments: C,
) -> Vec<A>
where
    F: FnOnce(A, usize, C) -> A + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    fold_around::<F, _, _, _>(range, initial, closure, arguments)
}

/// As the macros write it (`trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_fold_with_arguments_first<A: NoRef + Clone, C: Captured + Clone, F>(
    range: Range<usize>,
    initial: A,
    arguments: C,
    closure: F,
) -> Vec<A>
where
    F: FnOnce(A, usize, C) -> A + Send + Copy + 'static,
{
    par_fold_with(range, initial, closure, arguments)
}

/// Makes a value of each number of a range by one closure, and of these one by another, which makes one of two neighbours; `None` if there are no
/// numbers. On all workers of all nodes.
///
/// The second closure is to be associative. If it is not, as with floating-point numbers, as many workers return the same all the same
/// ([`par_fold`]). It captures nothing. A marked function makes it a constant, as the first; elsewhere it goes to other nodes
/// if it is written `const { |one, other| … }`, or is a plain `fn`.
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
/// As [`par_for_each`](crate::collections::par_for_each); the value of each chunk comes back.
///
/// # Panics
/// As [`par_for_each`](crate::collections::par_for_each).
#[track_caller]
pub fn par_map_reduce<U: NoRef, F, R>(range: Range<usize>, map: F, reduce: R) -> Option<U>
where
    F: FnOnce(usize) -> U + Send + Copy + 'static,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    map_reduce_around::<F, _, _, _, _>(range, move |number, ()| map(number), (), reduce)
}

/// As [`par_map_reduce`], with a clone of `arguments` for each number.
///
/// # Panics
/// As [`par_map_reduce`].
#[track_caller]
pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
    range: Range<usize>,
    map: F,
    arguments: C,
    reduce: R,
) -> Option<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    map_reduce_around::<F, _, _, _, _>(range, map, arguments, reduce)
}

/// As the macros write it (`trust::arguments_first`).
#[doc(hidden)]
#[track_caller]
pub fn par_map_reduce_with_arguments_first<C: Captured + Clone, U: NoRef, F, R>(
    range: Range<usize>,
    arguments: C,
    map: F,
    reduce: R,
) -> Option<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    par_map_reduce_with(range, map, arguments, reduce)
}

#[track_caller]
fn map_reduce_around<N, C: NoRef + Clone, U: NoRef, F, R>(
    range: Range<usize>,
    map: F,
    arguments: C,
    reduce: R,
) -> Option<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
    R: FnOnce(U, U) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<R>() };
    require_constant::<R>(Trustee::all().into_iter(), "par_map_reduce");
    let body = move |remaining: &Trust<Remaining>, arguments: C| {
        let mut chunks: Vec<(usize, Option<U>)> = Vec::new();
        run_chunks(remaining, |number, is_first| {
            let mapped = map(number, arguments.clone());
            match chunks.last_mut().filter(|_| !is_first) {
                None => chunks.push((number, Some(mapped))),
                Some((_, reduced)) => *reduced = reduced.take().map(|before| reduce(before, mapped)),
            }
        });
        chunks
    };
    in_order(on_all_workers::<N, _, _, _>(range, body, arguments)).reduce(|one, other| reduce(one, other))
}

#[track_caller]
fn fold_around<N, A: NoRef + Clone, C: NoRef + Clone, F>(
    range: Range<usize>,
    initial: A,
    closure: F,
    arguments: C,
) -> Vec<A>
where
    F: FnOnce(A, usize, C) -> A + Send + Copy + 'static,
{
    let body = move |remaining: &Trust<Remaining>, (initial, arguments): (A, C)| {
        let mut chunks: Vec<(usize, Option<A>)> = Vec::new();
        run_chunks(remaining, |number, is_first| {
            if is_first {
                chunks.push((number, Some(initial.clone())));
            }
            // It is missing only while the closure has it.
            if let Some((_, folded)) = chunks.last_mut() {
                *folded = folded.take().map(|before| closure(before, number, arguments.clone()));
            }
        });
        chunks
    };
    in_order(on_all_workers::<N, _, _, _>(range, body, (initial, arguments))).collect()
}

/// The values of chunks, each of which comes with its first number, in the order of the numbers.
fn in_order<A>(chunks: Vec<Vec<(usize, Option<A>)>>) -> impl Iterator<Item = A> {
    let mut chunks: Vec<_> = chunks.into_iter().flatten().collect();
    chunks.sort_unstable_by_key(|(start, _)| *start);
    chunks.into_iter().filter_map(|(_, value)| value)
}
