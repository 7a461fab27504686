//! [`Emission`]: a loop whose closure emits arguments for elements of another collection.

mod domain;
mod emitted;
mod into_maps;
mod lines;
mod maps;
pub(crate) mod numbers;
mod update_handle;
mod vectors;

pub use emitted::Emitted;
pub use numbers::{par_emit, par_emit_with};

use crate::collections::DistVec;
use crate::collections::frontier::Make;
use crate::collections::frontier::marks::Marker;
use crate::lane::operation::refuse_captures;
use crate::trust::{require_constant, spawned_at};
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Trustee, WithoutCaptures};
use domain::{Domain, Emit};
use std::fmt;
use std::marker::PhantomData;
use update_handle::{UpdateHandle, VectorIndex};

/// A prepared loop that emits: what [`DistVec::par_emit`], [`DistMap::par_emit`](crate::collections::DistMap::par_emit),
/// [`FileLines::par_emit`](crate::collections::FileLines::par_emit) and [`par_emit`] return.
/// [`apply_to`](Self::apply_to), [`merge_into`](Self::merge_into) or [`update_into`](Self::update_into) runs it.
///
/// The first closure is called for each element, where it is, and [pushes](Emitted::push) pairs of an index or a key,
/// and an argument. These are gathered by destination and sent in batches, like
/// [`updates`](DistVec::updates). The second closure is applied where they arrive. This is the map and the reduce of
/// MapReduce (Dean and Ghemawat, 2004), of which the reduce goes on as long as the map.
///
/// ```
/// use gossamer::collections::{DistMap, DistVec};
///
/// #[gossamer::delegate]
/// fn count_words(lines: &DistVec<String>) -> DistMap<String, u64> {
///     let counts = DistMap::new();
///     lines
///         .par_emit(|_, line, out| line.split_whitespace().for_each(|word| out.push_ref(word, 1)))
///         .merge_into(&counts, |count, more| *count += more);
///     counts
/// }
///
/// /// The sum over all pages that have a link to each page.
/// #[gossamer::delegate]
/// fn shares(pages: &DistVec<(f64, Vec<usize>)>, damping: f64) -> DistVec<f64> {
///     let sums = DistVec::filled(pages.len(), 0.0);
///     pages
///         .par_emit(|_, (rank, links), out| links.iter().for_each(|to| out.push(*to, *rank / links.len() as f64)))
///         .apply_to(&sums, |sum, share| *sum += damping * share);
///     sums
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let counts = count_words(&DistVec::from_vec(2, vec!["to be or".to_owned(), "not to be".to_owned()]));
/// assert_eq!((counts.get("be".to_owned()), counts.get("or".to_owned())), (Some(2), Some(1)));
/// let pages = DistVec::from_vec(3, vec![(1.0, vec![1, 2]), (1.0, vec![2]), (1.0, vec![])]);
/// assert_eq!(shares(&pages, 0.5).to_vec(), [0.0, 0.25, 0.75]);
/// # });
/// ```
///
/// # Cost
/// A fiber on each worker of the first collection. A pair for a vector is written once more than one that is pushed to
/// [`Updates`](crate::collections::Updates): a nanosecond or two. What has not been sent is bounded as there, or as by
/// [`KeyedUpdates`](crate::collections::KeyedUpdates), plus 64 KiB (64 pairs if these are larger), and what is emitted for one
/// element or number; with loops over maps, for up to 3,584 entries.
///
/// # Panics
/// Whatever runs it panics if one of the closures does, with the index of the element (of entries of maps, without the
/// key). If it was the first one, its worker stops there, and the others go on, or over numbers finish the chunks that they
/// have begun. If it was the second, all others are applied. What was emitted before takes effect either way. It also panics where
/// the caller cannot wait, and if a closure would have to go to another node and cannot
/// ([Delegated closures](crate::Trust#delegated-closures)).
#[must_use = "nothing is done before it is applied, or merged into something"]
pub struct Emission<S, K, A, N, C, F> {
    domain: S,
    emit: F,
    arguments: C,
    /// The types of keys and arguments, and the closure of the user that `emit` is or wraps.
    names: PhantomData<fn(K, A, N)>,
}

impl<S, K, A, N, C, F> Emission<S, K, A, N, C, F>
where
    S: Domain,
    K: NoRef,
    A: NoRef,
    C: NoRef + Clone,
    N: 'static,
    F: Make<C, Made: Emit<S, K, A>>,
{
    /// Runs the loop, and applies `closure` to the elements of a vector whose indices are emitted, once for each pair, with
    /// its argument. Waits until all of that is done, and returns how many pairs were emitted.
    ///
    /// The vector may be the one that the loop goes over: its elements then change between the calls for others.
    ///
    /// ```
    /// use gossamer::collections::{DistVec, par_emit};
    ///
    /// #[gossamer::delegate]
    /// fn histogram(samples: usize, bins: usize) -> DistVec<u64> {
    ///     let counts = DistVec::filled(bins, 0);
    ///     par_emit(0..samples, |sample, out| out.push(sample * sample % bins, 1)).apply_to(&counts, |count, more| *count += more);
    ///     counts
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(histogram(100, 5).to_vec(), [20, 40, 0, 0, 40]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics); also if an index is out of range, with the element that emitted it.
    #[track_caller]
    pub fn apply_to<T: 'static, G>(self, vector: &DistVec<T>, closure: G) -> u64
    where
        K: VectorIndex,
        G: FnOnce(&mut T, A) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let plain = move |()| move |element: &mut T, argument| closure(element, argument);
        self.run_into_vector::<G, _, _, _, _>(vector, plain, ())
    }

    /// Like [`apply_to`](Self::apply_to), with `shared`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, par_emit};
    /// let counts = DistVec::filled(3, 0_u64);
    /// par_emit(0..30, |number, out| out.push(number % 3, 1))
    ///     .apply_to_with(&counts, |count, more: u64, most| *count = (*count + more).min(*most), 4);
    /// assert_eq!(counts.to_vec(), [4, 4, 4]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_to`](Self::apply_to).
    #[track_caller]
    pub fn apply_to_with<T: 'static, D: NoRef + Clone, G>(
        self,
        vector: &DistVec<T>,
        closure: G,
        shared: D,
    ) -> u64
    where
        K: VectorIndex,
        G: Fn(&mut T, A, &D) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let lend = move |shared: D| move |element: &mut T, argument| closure(element, argument, &shared);
        self.run_into_vector::<G, _, _, _, _>(vector, lend, shared)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __apply_to_with<T: 'static, D: Captured + Clone, G, H>(
        self,
        vector: &DistVec<T>,
        shared: D,
        closure: G,
    ) -> u64
    where
        K: VectorIndex,
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut T, A) + 'static,
    {
        const { refuse_captures::<G>() };
        self.run_into_vector::<G, _, _, _, _>(vector, closure, shared)
    }

    #[track_caller]
    fn run_into_vector<M: 'static, T: 'static, D: NoRef + Clone, G, H>(
        self,
        vector: &DistVec<T>,
        closure: G,
        shared: D,
    ) -> u64
    where
        K: VectorIndex,
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut T, A) + 'static,
    {
        let open = move |(vector, shared): (DistVec<T>, D)| {
            let unmarked = move |shared| {
                let closure = closure(shared);
                move |element: &mut T, argument, _: &mut Marker<'_>| closure(element, argument)
            };
            vector.updates_around::<M, _, _, _, _>(unmarked, shared, spawned_at())
        };
        self.run::<M, _, _, _>(("apply_to", vector.trustees()), open, (vector.clone(), shared))
    }

    fn new(domain: S, emit: F, arguments: C) -> Self {
        Self { domain, emit, arguments, names: PhantomData }
    }

    /// For a call of this name, and a collection on these workers. `open` makes the handle that the fiber of a worker pushes
    /// to; it captures the user's second closure, of type `M`, and nothing else.
    #[track_caller]
    fn run<M: 'static, O: NoRef + Clone, U: UpdateHandle<K, A>, G>(
        self,
        (call, targets): (&str, Vec<Trustee>),
        open: G,
        opening: O,
    ) -> u64
    where
        G: FnOnce(O) -> U + Send + Copy + 'static,
    {
        require_fiber(call);
        let Self { domain, emit, arguments, .. } = self;
        let workers = domain.trustees().into_iter().chain(targets);
        require_constant::<M>(workers, call);
        let body = move |own: &S::Own, (arguments, opening): (C, O)| {
            domain::run::<S, _, _>(own, &emit.make(arguments), open(opening))
        };
        domain.on_workers::<N, _, _>(body, (arguments, opening)).into_iter().sum()
    }
}

impl<S: fmt::Debug, K, A, N, C, F> fmt::Debug for Emission<S, K, A, N, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emission").field("over", &self.domain).finish_non_exhaustive()
    }
}
