//! [`DistMap::par_emit`].

use crate::collections::DistMap;
use crate::collections::dist_map::OwnEntries;
use crate::collections::emission::Emission;
use crate::collections::emission::domain::{Domain, Emit};
use crate::collections::emission::emitted::Emitted;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::collections::frontier::Make;
use crate::collections::parts::in_fibers_on;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures, yield_now};

impl<X: 'static, V: 'static> DistMap<X, V> {
    /// A loop over all entries that emits arguments for elements of a vector, or for entries of another map: `closure` is called
    /// with each key, its value, and an [`Emitted`] that takes pairs of an index or a key, and an argument.
    /// Nothing is done before the [`Emission`] is applied or merged.
    ///
    /// Each worker visits some thousands of entries, then serves the requests of others, and goes on. Which entries
    /// are visited if some are added or removed meanwhile: [`par_for_each`](Self::par_for_each). So a map that merges what is
    /// emitted for it while the loop goes over it visits some of it, too.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// /// How many words there are of each count.
    /// fn counts_of_counts(counts: &DistMap<String, u64>) -> DistMap<u64, u64> {
    ///     let of_counts = DistMap::new();
    ///     counts
    ///         .par_emit(const { |_word, count, out| out.push(*count, 1) })
    ///         .merge_into(&of_counts, const { |words, more| *words += more });
    ///     of_counts
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = DistMap::new();
    /// [("to", 2), ("be", 2), ("or", 1)].map(|(word, count)| counts.insert(word.to_owned(), count));
    /// assert_eq!(counts_of_counts(&counts).get(2), Some(2));
    /// # });
    /// ```
    ///
    /// # Cost
    /// [Of an emission](Emission#cost).
    pub fn par_emit<K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
    ) -> Emission<Self, K, A, F, (), impl Make<(), Made: Emit<Self, K, A>> + use<X, V, K, A, F>>
    where
        F: FnOnce(&X, &mut V, &mut Emitted<K, A>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |key: &X, value: &mut V, out: &mut Emitted<K, A>| closure(key, value, out);
        Emission::new(self.clone(), plain, ())
    }

    /// Like [`par_emit`](Self::par_emit), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistMap, Emitted};
    /// let (prices, shelves) = (DistMap::new(), DistMap::new());
    /// [("tea", 7), ("milk", 2), ("salt", 1)].map(|(name, price)| prices.insert(name.to_owned(), price));
    /// let shelf = |_: &String, price: &mut u64, out: &mut Emitted<u64, u64>, each: &u64| out.push(*price / each, 1);
    /// prices.par_emit_with(shelf, 5).merge_into(&shelves, |goods, more| *goods += more);
    /// assert_eq!((shelves.get(0), shelves.get(1)), (Some(2), Some(1)));
    /// # });
    /// ```
    pub fn par_emit_with<C: NoRef + Clone, K: NoRef, A: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Emission<Self, K, A, F, C, impl Make<C, Made: Emit<Self, K, A>> + use<X, V, C, K, A, F>>
    where
        F: Fn(&X, &mut V, &mut Emitted<K, A>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| {
            move |key: &X, value: &mut V, out: &mut Emitted<K, A>| closure(key, value, out, &arguments)
        };
        Emission::new(self.clone(), lend, arguments)
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
        G: Fn(&X, &mut V, &mut Emitted<K, A>),
    {
        const { refuse_captures::<F>() };
        Emission::new(self.clone(), closure, arguments)
    }
}

impl<X: 'static, V: 'static> Domain for DistMap<X, V> {
    type Own = OwnEntries<X, V>;

    #[track_caller]
    fn on_workers<N: 'static, C: NoRef + Clone, F>(&self, run: F, arguments: C) -> Vec<u64>
    where
        F: FnOnce(&OwnEntries<X, V>, C) -> u64 + Send + Copy + 'static,
    {
        let run = move |(number, map, arguments): (usize, DistMap<X, V>, C)| run(&map.own(number), arguments);
        let arguments = |part| (part, self.clone(), arguments.clone());
        in_fibers_on::<N, _, _, _>(self.trustees(), run, arguments)
    }

    fn trustees(&self) -> Vec<Trustee> {
        self.trustees()
    }
}

impl<X: 'static, V: 'static, K: NoRef, A: NoRef, G> Emit<DistMap<X, V>, K, A> for G
where
    G: Fn(&X, &mut V, &mut Emitted<K, A>),
{
    fn visit(&self, own: &OwnEntries<X, V>, out: &mut Emitted<K, A>, handle: &mut impl UpdateHandle<K, A>) {
        let mut position = Some(0);
        while let Some(at) = position {
            position = own.some_from(at, |key, value| self(key, value, out));
            out.send(handle);
            yield_now();
        }
    }
}
