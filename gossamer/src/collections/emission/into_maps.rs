//! [`Emission::merge_into`] and [`Emission::update_into`]: emitting for the entries of a map.

use crate::collections::DistMap;
use crate::collections::emission::Emission;
use crate::collections::emission::domain::{Domain, Emit};
use crate::collections::frontier::Make;
use crate::lane::operation::refuse_captures;
use crate::trust::spawned_at;
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures};
use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

impl<S, K, A, N, C, F> Emission<S, K, A, N, C, F>
where
    S: Domain,
    K: Hash + Eq + NoRef,
    A: NoRef,
    C: NoRef + Clone,
    N: 'static,
    F: Make<C, Made: Emit<S, K, A>>,
{
    /// Runs the loop, and merges what is emitted into a map: a key that is missing gets the argument as its value; otherwise
    /// `merge` is applied to its value, with the argument. Equal keys are combined by the same closure before they are sent, as by
    /// [`DistMap::merges`], so order and grouping must not matter. Waits until all of that is done, and returns how
    /// many pairs were emitted.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, DistVec};
    /// let (words, lengths) = (DistVec::from_vec(3, vec!["to", "be", "not"].into_iter().map(str::to_owned).collect()), DistMap::new());
    /// words.par_emit(|_, word: &mut String, out| out.push(word.len(), 1)).merge_into(&lengths, |count: &mut u64, more| *count += more);
    /// assert_eq!((lengths.get(2), lengths.get(3)), (Some(2), Some(1)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn merge_into<G>(self, map: &DistMap<K, A>, merge: G) -> u64
    where
        G: FnOnce(&mut A, A) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let plain = move |()| move |value: &mut A, more| merge(value, more);
        self.run_merging::<G, _, _, _>(map, plain, ())
    }

    /// Like [`merge_into`](Self::merge_into), with `shared`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, par_emit};
    /// let counts = DistMap::new();
    /// par_emit(0..30, |number, out| out.push(number % 3, 1))
    ///     .merge_into_with(&counts, |count: &mut u64, more, most| *count = (*count + more).min(*most), 4);
    /// assert_eq!(counts.get(1), Some(4));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`merge_into`](Self::merge_into).
    #[track_caller]
    pub fn merge_into_with<D: NoRef + Clone, G>(self, map: &DistMap<K, A>, merge: G, shared: D) -> u64
    where
        G: Fn(&mut A, A, &D) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let lend = move |shared: D| move |value: &mut A, more| merge(value, more, &shared);
        self.run_merging::<G, _, _, _>(map, lend, shared)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __merge_into_with<D: Captured + Clone, G, H>(self, map: &DistMap<K, A>, shared: D, merge: G) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut A, A) + 'static,
    {
        const { refuse_captures::<G>() };
        self.run_merging::<G, _, _, _>(map, merge, shared)
    }

    #[track_caller]
    fn run_merging<M: 'static, D: NoRef + Clone, G, H>(self, map: &DistMap<K, A>, merge: G, shared: D) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut A, A) + 'static,
    {
        let open = move |(map, shared): (DistMap<K, A>, D)| {
            Rc::new(RefCell::new(map.merges_around::<M, _, _, _>(merge, shared, spawned_at())))
        };
        self.run::<M, _, _, _>(("merge_into", map.trustees()), open, (map.clone(), shared))
    }

    /// Runs the loop, and applies `closure` to the value of each key that is emitted, once for each pair, with its argument. A
    /// key that is missing in the map first gets a clone of `default`. Waits until all of that is done, and returns how many
    /// pairs were emitted.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, DistVec};
    /// let words = DistVec::from_vec(3, ["tea", "milk", "tea"].map(str::to_owned).to_vec());
    /// let places = DistMap::new();
    /// words
    ///     .par_emit(|place, word: &mut String, out| out.push(word.clone(), place))
    ///     .update_into(&places, Vec::new(), |places: &mut Vec<usize>, place| places.push(place));
    /// assert_eq!(places.get("milk".to_owned()), Some(vec![1]));
    /// # });
    /// ```
    ///
    /// # Panics
    /// [As described](Self#panics).
    #[track_caller]
    pub fn update_into<V: NoRef + Clone, G>(self, map: &DistMap<K, V>, default: V, closure: G) -> u64
    where
        G: FnOnce(&mut V, A) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let plain = move |()| move |value: &mut V, argument| closure(value, argument);
        self.run_updating::<G, _, _, _, _>(map, default, plain, ())
    }

    /// Like [`update_into`](Self::update_into), with `shared`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, par_emit};
    /// let sums = DistMap::new();
    /// par_emit(0..10_usize, |number, out| out.push(number % 2, number as u64))
    ///     .update_into_with(&sums, 0, |sum: &mut u64, number, factor: &u64| *sum += factor * number, 10);
    /// assert_eq!((sums.get(0), sums.get(1)), (Some(200), Some(250)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update_into`](Self::update_into).
    #[track_caller]
    pub fn update_into_with<V: NoRef + Clone, D: NoRef + Clone, G>(
        self,
        map: &DistMap<K, V>,
        default: V,
        closure: G,
        shared: D,
    ) -> u64
    where
        G: Fn(&mut V, A, &D) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<G>() };
        let lend = move |shared: D| move |value: &mut V, argument| closure(value, argument, &shared);
        self.run_updating::<G, _, _, _, _>(map, default, lend, shared)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __update_into_with<V: NoRef + Clone, D: Captured + Clone, G, H>(
        self,
        map: &DistMap<K, V>,
        default: V,
        shared: D,
        closure: G,
    ) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut V, A) + 'static,
    {
        const { refuse_captures::<G>() };
        self.run_updating::<G, _, _, _, _>(map, default, closure, shared)
    }

    #[track_caller]
    fn run_updating<M: 'static, V: NoRef + Clone, D: NoRef + Clone, G, H>(
        self,
        map: &DistMap<K, V>,
        default: V,
        closure: G,
        shared: D,
    ) -> u64
    where
        G: FnOnce(D) -> H + Send + Copy + 'static,
        H: Fn(&mut V, A) + 'static,
    {
        let open = move |(map, default, shared): (DistMap<K, V>, V, D)| {
            Rc::new(RefCell::new(map.updates_around::<M, _, _, _, _>(default, closure, shared, spawned_at())))
        };
        self.run::<M, _, _, _>(("update_into", map.trustees()), open, (map.clone(), default, shared))
    }
}
