//! [`par_emit`]: a loop over numbers that emits.

use crate::collections::IndexRange;
use crate::collections::emission::Emission;
use crate::collections::emission::domain::{Domain, Emit};
use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::collections::frontier::Make;
use crate::collections::layout::or_all;
use crate::collections::self_scheduling::{ChunkLength, OwnNumbers, on_workers};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures};
use std::ops::Range;

/// A loop over numbers, on all workers of all nodes, that emits arguments for elements of a vector, or for entries of a map:
/// `closure` is called with each number and an [`Emitted`] that takes pairs of an index or a key, and an argument.
/// Nothing is done before the [`Emission`] is applied or merged.
///
/// Workers ask for numbers as they need them ([`par_for_each`](crate::collections::par_for_each)). The closure runs in
/// a fiber, so it may wait.
///
/// ```
/// use gossamer::collections::{DistVec, par_emit};
///
/// #[gossamer::delegate]
/// fn divisors(most: usize) -> Vec<u64> {
///     let counts = DistVec::filled(most + 1, 0_u64);
///     par_emit(1..most + 1, |divisor, out| (divisor..=most).step_by(divisor).for_each(|number| out.push(number, 1)))
///         .apply_to(&counts, |count, more| *count += more);
///     counts.to_vec()
/// }
///
/// let counts = gossamer::run(gossamer::Config::default().threads(2), || divisors(6));
/// assert_eq!(counts, [0, 1, 2, 2, 3, 2, 4]);
/// ```
///
/// # Cost
/// That of a [`par_for_each`](crate::collections::par_for_each), and [of an emission](Emission#cost).
pub fn par_emit<K: NoRef, A: NoRef, F>(
    range: Range<usize>,
    closure: F,
) -> Emission<IndexRange, K, A, F, (), impl Make<(), Made: Emit<IndexRange, K, A>> + use<K, A, F>>
where
    F: FnOnce(usize, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    plain(range.into(), closure)
}

/// Like [`par_emit`], with `arguments`, which each call gets by reference.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::{DistVec, Emitted, par_emit_with};
/// let counts = DistVec::filled(10, 0_u64);
/// let square = |number: usize, out: &mut Emitted<usize, u64>, bins: &usize| out.push(number * number % bins, 1);
/// par_emit_with(0..100, square, 10).apply_to(&counts, |count, more| *count += more);
/// assert_eq!(counts.to_vec(), [10, 20, 0, 0, 20, 10, 20, 0, 0, 20]);
/// # });
/// ```
pub fn par_emit_with<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
    range: Range<usize>,
    closure: F,
    arguments: C,
) -> Emission<IndexRange, K, A, F, C, impl Make<C, Made: Emit<IndexRange, K, A>> + use<C, K, A, F>>
where
    F: Fn(usize, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    lending(range.into(), closure, arguments)
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
pub fn par_emit_with_arguments_first<C: Captured + Clone, K: NoRef, A: NoRef, F, G>(
    range: Range<usize>,
    arguments: C,
    closure: F,
) -> Emission<IndexRange, K, A, F, C, F>
where
    F: FnOnce(C) -> G + Send + Copy + 'static,
    G: Fn(usize, &mut Emitted<K, A>),
{
    const { refuse_captures::<F>() };
    Emission::new(range.into(), closure, arguments)
}

fn plain<K: NoRef, A: NoRef, F>(
    range: IndexRange,
    closure: F,
) -> Emission<IndexRange, K, A, F, (), impl Make<(), Made: Emit<IndexRange, K, A>> + use<K, A, F>>
where
    F: FnOnce(usize, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
{
    let plain = move |()| move |number: usize, out: &mut Emitted<K, A>| closure(number, out);
    Emission::new(range, plain, ())
}

fn lending<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
    range: IndexRange,
    closure: F,
    arguments: C,
) -> Emission<IndexRange, K, A, F, C, impl Make<C, Made: Emit<IndexRange, K, A>> + use<C, K, A, F>>
where
    F: Fn(usize, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
{
    let lend =
        move |arguments: C| move |number: usize, out: &mut Emitted<K, A>| closure(number, out, &arguments);
    Emission::new(range, lend, arguments)
}

impl IndexRange {
    /// Like the function [`par_emit`](crate::collections::par_emit), on these workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::{DistVec, IndexRange}};
    /// let counts = DistVec::filled(3, 0_u64);
    /// IndexRange::from(0..30)
    ///     .on(&[Trustee::here()])
    ///     .par_emit(|number, out| out.push(number % 3, 1))
    ///     .apply_to(&counts, |count, more| *count += more);
    /// assert_eq!(counts.to_vec(), [10, 10, 10]);
    /// # });
    /// ```
    pub fn par_emit<K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
    ) -> Emission<Self, K, A, F, (), impl Make<(), Made: Emit<Self, K, A>> + use<K, A, F>>
    where
        F: FnOnce(usize, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        plain(self.clone(), closure)
    }

    /// Like [`par_emit`](Self::par_emit), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, Emitted, IndexRange};
    /// let counts = DistMap::new();
    /// let rest = |number: usize, out: &mut Emitted<usize, u64>, of: &usize| out.push(number % of, 1);
    /// IndexRange::from(0..30).par_emit_with(rest, 4).merge_into(&counts, |count, more| *count += more);
    /// assert_eq!((counts.get(0), counts.get(3)), (Some(8), Some(7)));
    /// # });
    /// ```
    pub fn par_emit_with<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Emission<Self, K, A, F, C, impl Make<C, Made: Emit<Self, K, A>> + use<C, K, A, F>>
    where
        F: Fn(usize, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        lending(self.clone(), closure, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    pub fn __par_emit_with<C: Captured + Clone, K: NoRef, A: NoRef, F, G>(
        &self,
        arguments: C,
        closure: F,
    ) -> Emission<Self, K, A, F, C, F>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut Emitted<K, A>),
    {
        const { refuse_captures::<F>() };
        Emission::new(self.clone(), closure, arguments)
    }
}

impl Domain for IndexRange {
    type Own = OwnNumbers;

    #[track_caller]
    fn on_workers<N: 'static, C: NoRef + Clone, F>(&self, run: F, arguments: C) -> Vec<u64>
    where
        F: FnOnce(&OwnNumbers, C) -> u64 + Send + Copy + 'static,
    {
        let run = move |own: OwnNumbers, arguments: C| run(&own, arguments);
        on_workers::<N, _, _, _>(self.clone().into_parts(), ChunkLength::Timed, run, arguments)
    }

    fn trustees(&self) -> Vec<Trustee> {
        or_all(self.clone().into_parts().1)
    }
}

impl<K: NoRef, A: NoRef, G> Emit<IndexRange, K, A> for G
where
    G: Fn(usize, &mut Emitted<K, A>),
{
    fn visit(&self, own: &OwnNumbers, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>) {
        own.for_each(|number| {
            self(number, out);
            if out.is_full() {
                out.send(handle);
            }
        });
    }
}
