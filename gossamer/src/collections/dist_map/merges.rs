//! [`DistMap::merges`] and its like: which closure is applied to the entries of a batch, and how.

use crate::collections::dist_map::keyed_updates::{KeyedBatch, KeyedUpdates};
use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::catch::caught;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Replies, WithoutCaptures};
use std::hash::Hash;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

/// Entries that are fetched together: about as many lines as a processor waits for at a time.
const FETCHED: usize = 16;
/// Entries that take less are in the cache of a processor.
const CACHED_BYTES: usize = 256 * 1024;

impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    /// A handle for merging many values: push keys and values one by one. A key that is missing in the map gets the
    /// value; otherwise `merge` is applied to its value, with the new one.
    ///
    /// Equal keys are combined by the same closure before they are sent. So the order and the grouping of merges must
    /// not matter, as for sums, minima, unions, and lists whose order is irrelevant.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// fn count_words(text: &str) -> DistMap<String, u64> {
    ///     let counts = DistMap::new();
    ///     let mut merges = counts.merges(const { |count: &mut u64, more| *count += more });
    ///     text.split(' ').for_each(|word| merges.push_ref(word, 1));
    ///     merges.finish();
    ///     counts
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = count_words("to be or not to be");
    /// assert_eq!(counts.get("be".to_owned()), Some(2));
    /// assert_eq!(counts.len(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn merges<F>(&self, merge: F) -> KeyedUpdates<K, V>
    where
        F: FnOnce(&mut V, V) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.merges_around::<F, _, _, _>(
            move |()| move |value: &mut V, more| merge(value, more),
            (),
            Location::caller(),
        )
    }

    /// Like [`merges`](Self::merges), with `shared`, which each call gets by reference; it is sent once with each
    /// batch.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let warnings = DistMap::new();
    /// let mut merges = warnings.merges_with(|count: &mut u64, more, most| *count = (*count + more).min(*most), 3);
    /// ["disk", "fan", "disk", "disk", "disk"].map(|of| merges.push_ref(of, 1));
    /// merges.finish();
    /// assert_eq!(warnings.get("disk".to_owned()), Some(3)); // no more than are shown
    /// # let _: DistMap<String, u64> = warnings;
    /// # });
    /// ```
    #[track_caller]
    pub fn merges_with<C: NoRef + Clone, F>(&self, merge: F, shared: C) -> KeyedUpdates<K, V>
    where
        F: Fn(&mut V, V, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |shared: C| move |value: &mut V, more| merge(value, more, &shared);
        self.merges_around::<F, _, _, _>(lend, shared, Location::caller())
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __merges_with<C: Captured + Clone, F, G>(&self, shared: C, merge: F) -> KeyedUpdates<K, V>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut V, V) + 'static,
    {
        const { refuse_captures::<F>() };
        self.merges_around::<F, _, _, _>(merge, shared, Location::caller())
    }

    pub(in crate::collections) fn merges_around<N, C: NoRef + Clone, F, G>(
        &self,
        merge: F,
        shared: C,
        made_at: &'static Location<'static>,
    ) -> KeyedUpdates<K, V>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut V, V) + 'static,
    {
        let serve = move |entries: &mut Entries<K, V>, (batch, shared): (KeyedBatch<K, V>, C)| {
            let merge = merge(shared);
            serve(entries, batch, |entries, hash, key, value| {
                let (there, more) = entries.entry(hash, key, value);
                if let Some(more) = more {
                    merge(there, more);
                }
            })
        };
        let combine = Box::new(merge(shared.clone()));
        self.keyed::<N, _, _, _>(serve, shared, Some(combine), made_at)
    }

    /// A handle for many updates: push keys and arguments one by one, and `closure` is applied to the value of each
    /// key in place, with its argument, once for each push. A missing key first gets a clone of `default`.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let places = DistMap::new();
    /// let mut updates = places.updates(Vec::new(), |places: &mut Vec<usize>, place| places.push(place));
    /// "banana".chars().enumerate().for_each(|(place, letter)| updates.push(letter, place));
    /// updates.finish();
    /// assert_eq!(places.get('n'), Some(vec![2, 4]));
    /// # });
    /// ```
    #[track_caller]
    pub fn updates<A: NoRef, F>(&self, default: V, closure: F) -> KeyedUpdates<K, A>
    where
        V: Clone,
        F: FnOnce(&mut V, A) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |value: &mut V, argument| closure(value, argument);
        self.updates_around::<F, _, _, _, _>(default, plain, (), Location::caller())
    }

    /// Like [`updates`](Self::updates), with `shared`, which each call gets by reference; it is sent once with each
    /// batch.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let prices = gossamer::collections::DistMap::new();
    /// let mut raise = prices.updates_with(100, |price: &mut u64, by: u64, limit: &u64| *price = (*price + by).min(*limit), 120);
    /// ["tea", "milk", "tea"].into_iter().for_each(|name| raise.push(name.to_owned(), 15));
    /// raise.finish();
    /// assert_eq!((prices.get("tea".to_owned()), prices.get("milk".to_owned())), (Some(120), Some(115)));
    /// # });
    /// ```
    #[track_caller]
    pub fn updates_with<C: NoRef + Clone, A: NoRef, F>(
        &self,
        default: V,
        closure: F,
        shared: C,
    ) -> KeyedUpdates<K, A>
    where
        V: Clone,
        F: Fn(&mut V, A, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |shared: C| move |value: &mut V, argument| closure(value, argument, &shared);
        self.updates_around::<F, _, _, _, _>(default, lend, shared, Location::caller())
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __updates_with<C: Captured + Clone, A: NoRef, F, G>(
        &self,
        default: V,
        shared: C,
        closure: F,
    ) -> KeyedUpdates<K, A>
    where
        V: Clone,
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut V, A),
    {
        const { refuse_captures::<F>() };
        self.updates_around::<F, _, _, _, _>(default, closure, shared, Location::caller())
    }

    pub(in crate::collections) fn updates_around<N, A: NoRef, C: NoRef + Clone, F, G>(
        &self,
        default: V,
        closure: F,
        shared: C,
        made_at: &'static Location<'static>,
    ) -> KeyedUpdates<K, A>
    where
        V: Clone,
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut V, A),
    {
        type Shared<V, C> = (V, C);
        let serve = move |entries: &mut Entries<K, V>, (batch, shared): (KeyedBatch<K, A>, Shared<V, C>)| {
            let (default, shared) = shared;
            let closure = closure(shared);
            serve(entries, batch, |entries, hash, key, argument| {
                closure(entries.or_insert_with(hash, key, || default.clone()), argument);
            })
        };
        self.keyed::<N, _, _, _>(serve, (default, shared), None, made_at)
    }

    /// `serve` captures the user's closure, whose type is `N`, and nothing else (`trust::around`).
    fn keyed<N, A: NoRef, C: NoRef + Clone, F>(
        &self,
        serve: F,
        shared: C,
        combine: Option<Box<dyn Fn(&mut A, A)>>,
        made_at: &'static Location<'static>,
    ) -> KeyedUpdates<K, A>
    where
        F: FnOnce(&mut Entries<K, V>, (KeyedBatch<K, A>, C)) -> KeyedBatch<K, A> + Send + Copy + 'static,
    {
        let shards = self.shards.clone();
        let parts = shards.shards().len();
        let send = move |replies: &Replies<usize, KeyedBatch<K, A>>, part: usize, batch| {
            let arguments = (batch, shared.clone());
            shards.shards()[part].send_into::<N, _, _, _, _>(replies, part, serve, arguments, made_at);
        };
        KeyedUpdates::new(self.hashing, parts, Box::new(send), combine, made_at)
    }
}

/// Calls a closure for each update of a batch, and returns the memory. A panic is passed on after the others have
/// been served. The entries of the next updates are fetched together: one by one, each would be waited for.
fn serve<K, V, A>(
    entries: &mut Entries<K, V>,
    (mut hashes, mut keys, mut arguments): KeyedBatch<K, A>,
    mut closure: impl FnMut(&mut Entries<K, V>, u64, K, A),
) -> KeyedBatch<K, A>
where
    K: Hash + Eq,
{
    let (mut panicked, mut at) = (None, 0);
    let mut all = keys.drain(..).zip(arguments.drain(..));
    let mut serve_rest = || {
        while let (Some(hash), Some((key, argument))) = (hashes.get(at), all.next()) {
            fetch_ahead(entries, &hashes, at);
            at += 1;
            closure(entries, *hash, key, argument);
        }
    };
    while let Err(payload) = catch_unwind(AssertUnwindSafe(&mut serve_rest)) {
        match panicked {
            None => panicked = Some(payload),
            // Only the first is reported. The payload of another may panic when it is dropped.
            Some(_) => drop(caught(payload)),
        }
    }
    drop(all);
    if let Some(payload) = panicked {
        resume_unwind(payload);
    }
    hashes.clear();
    (hashes, keys, arguments)
}

/// Has the processor fetch the next entries of a batch, at every sixteenth.
#[inline]
pub(super) fn fetch_ahead<K: Hash + Eq, V>(entries: &Entries<K, V>, hashes: &[u64], at: usize) {
    if at.is_multiple_of(FETCHED) && entries.len() * size_of::<(K, V)>() > CACHED_BYTES {
        let next = hashes[at..].iter().take(FETCHED);
        next.clone().for_each(|hash| entries.fetch(*hash));
        if const { needs_drop::<(K, V)>() } {
            next.for_each(|hash| entries.fetch_owned(*hash));
        }
    }
}
