//! Many keys at once: one request for each shard that they belong to.

use crate::WithoutCaptures;
use crate::lane::operation::refuse_captures;
use crate::trust::{NoRef, Sharded};
use crate::wire::captured::Captured;
use std::hash::Hash;
use std::panic::Location;

impl<K: Hash + NoRef, T: 'static> Sharded<K, T> {
    /// Applies a closure to the shard of each key, with the key and its argument, and returns the results in the order of the keys.
    ///
    /// One request goes to each shard that has any of the keys, all at once; there the closure is applied to the keys
    /// in order. Many small operations thus cost a fraction of a request each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// use std::collections::HashMap;
    /// let ages = Sharded::<String, HashMap<String, u32>>::new();
    /// let people = [("Ada", 36), ("Alan", 41), ("Ada", 37)].map(|(name, age)| (name.to_owned(), age));
    /// let before = ages.apply_batch(people, |shard, name, age| shard.insert(name, age));
    /// assert_eq!(before, [None, None, Some(36)]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics, which ends its shard's batch; and where the caller cannot wait.
    #[track_caller]
    pub fn apply_batch<C: NoRef, U: NoRef, F>(
        &self,
        items: impl IntoIterator<Item = (K, C)>,
        closure: F,
    ) -> Vec<U>
    where
        F: FnOnce(&mut T, K, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |shard: &mut T, key, argument| closure(shard, key, argument);
        self.batch_around::<F, _, _, _, _, _>(items, plain, ())
    }

    /// Like [`apply_batch`](Self::apply_batch), with `shared`, which the closure gets by reference; it is sent once to each shard.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// use std::collections::HashMap;
    /// let stock = Sharded::<String, HashMap<String, u32>>::new();
    /// let delivered = [("tea", 4), ("milk", 2), ("tea", 3)].map(|(name, crates)| (name.to_owned(), crates));
    /// let each = 12_u32; // sent once to each shard
    /// let put = |shard: &mut HashMap<String, u32>, name, crates, each: &u32| {
    ///     let there = shard.entry(name).or_insert(0);
    ///     *there += crates * each;
    ///     *there
    /// };
    /// let now = stock.apply_batch_with(delivered, put, each);
    /// assert_eq!(now, [48, 24, 84]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_batch`](Self::apply_batch).
    #[track_caller]
    pub fn apply_batch_with<D: NoRef + Clone, C: NoRef, U: NoRef, F>(
        &self,
        items: impl IntoIterator<Item = (K, C)>,
        closure: F,
        shared: D,
    ) -> Vec<U>
    where
        F: Fn(&mut T, K, C, &D) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend =
            move |shared: D| move |shard: &mut T, key, argument| closure(shard, key, argument, &shared);
        self.batch_around::<F, _, _, _, _, _>(items, lend, shared)
    }

    /// As written by the macros (see `arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __apply_batch_with<D: Captured + Clone, C: NoRef, U: NoRef, F, G>(
        &self,
        items: impl IntoIterator<Item = (K, C)>,
        shared: D,
        closure: F,
    ) -> Vec<U>
    where
        F: FnOnce(D) -> G + Send + Copy + 'static,
        G: Fn(&mut T, K, C) -> U,
    {
        const { refuse_captures::<F>() };
        self.batch_around::<F, _, _, _, _, _>(items, closure, shared)
    }

    #[track_caller]
    fn batch_around<N, C: NoRef, D: NoRef + Clone, U: NoRef, F, G>(
        &self,
        items: impl IntoIterator<Item = (K, C)>,
        closure: F,
        shared: D,
    ) -> Vec<U>
    where
        F: FnOnce(D) -> G + Send + Copy + 'static,
        G: Fn(&mut T, K, C) -> U,
    {
        let batch = move |shard: &mut T, (items, shared): (Vec<(K, C)>, D)| {
            let closure = closure(shared);
            items.into_iter().map(|(key, argument)| closure(shard, key, argument)).collect::<Vec<U>>()
        };
        let sent_from = Location::caller();
        let mut batches: Vec<Vec<(K, C)>> = self.shards().iter().map(|_| Vec::new()).collect();
        // The shard of each item, in order, by which the results are put back in order.
        let mut shards = Vec::new();
        for (key, argument) in items {
            let shard = self.index_of(&key);
            shards.push(shard);
            batches[shard].push((key, argument));
        }
        let mut pending = Vec::new();
        for (shard, items) in self.shards().iter().zip(batches) {
            let is_sent = !items.is_empty();
            pending
                .push(is_sent.then(|| shard.send::<N, _, _, _>(batch, (items, shared.clone()), sent_from)));
        }
        let mut results = Vec::new();
        for pending in pending {
            // Not a closure, which would be named as the caller.
            let answers = match pending {
                Some(pending) => pending.wait(),
                None => Vec::new(),
            };
            results.push(answers.into_iter());
        }
        shards.into_iter().filter_map(|shard| results[shard].next()).collect()
    }
}
