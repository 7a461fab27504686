//! [`DistMap`]: a map whose entries are spread over workers by the hashes of their keys.

mod chunks;
mod closures;
mod collect;
mod debug;
mod defaults;
mod entries;
mod fold;
mod gather;
mod hashing;
mod keyed_updates;
mod lookups;
mod map;
mod merges;
mod parts;
mod whole;

pub use chunks::Chunks;
pub use entries::Entries;
pub use keyed_updates::KeyedUpdates;

pub(in crate::collections) use parts::OwnEntries;

use crate::collections::dist_map::hashing::Hashing;
use crate::worker::require_fiber;
use crate::{Decoder, Encoder, Malformed, NoRef, Pending, Sharded, Trust, Trustee};
use std::hash::Hash;

/// A map whose entries are spread over workers by the hashes of their keys: over the workers of this process, of all
/// nodes, or chosen ones.
///
/// It is a [`Sharded`] of tables. Handles are cloned and sent anywhere like trusts; all refer to the same entries,
/// which are dropped with the last handle. Keys and values that are sent or returned must be [`NoRef`]; values that
/// are only changed in place need not be.
///
/// ```
/// use gossamer::collections::DistMap;
///
/// #[gossamer::delegate]
/// fn visit(visits: &DistMap<String, u64>, name: &str, by: u64) -> u64 {
///     visits.update(name.to_owned(), 0, |count| {
///         *count += by;
///         *count
///     })
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let visits = DistMap::new();
/// visit(&visits, "Ada", 2);
/// assert_eq!(visit(&visits, "Ada", 3), 5);
/// assert_eq!(visits.get("Alan".to_owned()), None);
/// # });
/// ```
///
/// # What to use
/// | you want | use | requests |
/// |---|---|---|
/// | one entry | [`get`](Self::get), [`insert`](Self::insert), [`remove`](Self::remove) | one each |
/// | to change a value | [`update`](Self::update), of a key that may be missing; [`apply`](Self::apply) | one each |
/// | many small changes | [`updates`](Self::updates); [`merges`](Self::merges), which combines those of equal keys | one for some thousands |
/// | many values, by their keys | [`gather`](Self::gather) | one for some thousands |
/// | to insert many | [`extend`](Self::extend), or `collect` | one for some thousands |
/// | all entries, here | [`chunks`](Self::chunks), [`drain`](Self::drain) | one for some thousands |
/// | each entry, where it is | [`par_for_each`](Self::par_for_each), [`retain`](Self::retain), [`map_all`](Self::map_all) | a few for each worker |
/// | changes of another collection, by all entries | [`par_emit`](Self::par_emit) | one for some thousands |
/// | another map, or one value, of all | [`par_map`](Self::par_map), [`par_filter`](Self::par_filter), [`par_fold`](Self::par_fold), [`par_map_reduce`](Self::par_map_reduce) | two for each worker |
///
/// A request for one entry carries its key, 8 bytes for the hash, and the arguments of the method.
///
/// Requests of one fiber for one key are served in the order in which they were sent; nothing is promised between
/// keys of different workers, nor between fibers.
///
/// # Memory
/// As much as a `HashMap` on each worker, without the second table that a `HashMap` needs while it grows
/// ([`Entries`]). The memory of removed entries is kept for others, until [`clear`](Self::clear) or
/// [`drain`](Self::drain).
///
/// # Panics
/// A closure that panics ends its request, as with [`Trust::apply`]: the panic reaches the caller, with the line of
/// the call. The value stays as the closure left it. All methods that wait panic in delegated closures and callbacks,
/// which cannot wait, and if the worker that has the entry has ended; for methods whose names end in `_async`,
/// [`Pending::try_wait`] returns that as an error.
pub struct DistMap<K: 'static, V: 'static> {
    shards: Sharded<K, Entries<K, V>>,
    hashing: Hashing,
}

impl<K, V> Clone for DistMap<K, V> {
    fn clone(&self) -> Self {
        Self { shards: self.shards.clone(), hashing: self.hashing }
    }
}

impl<K: Hash + Eq + 'static, V: 'static> DistMap<K, V> {
    /// An empty map on all workers of all nodes. One request for each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let stock = DistMap::new();
    /// stock.insert("tea".to_owned(), 7);
    /// assert_eq!(stock.get("tea".to_owned()), Some(7));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait, and on a thread that is not a worker.
    #[track_caller]
    pub fn new() -> Self {
        require_fiber("new");
        Self::on(&Trustee::all())
    }

    /// An empty map on these workers. A worker that is listed twice has two parts. One request for each part.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(3), || {
    /// use gossamer::Trustee;
    /// use gossamer::collections::DistMap;
    /// let last = Trustee::all()[2];
    /// let ages = DistMap::on(&[last]);
    /// ages.insert('a', 36);
    /// assert_eq!(ages.trustee_of(&'a'), last);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty, or the runtime of one has ended; and where the caller cannot wait.
    #[track_caller]
    pub fn on(trustees: &[Trustee]) -> Self {
        require_fiber("on");
        assert!(!trustees.is_empty(), "a `DistMap` on no workers has no place for an entry");
        let hashing = Hashing::random();
        let mut shards = Vec::new();
        // Not `map`, whose closure would be named as the caller when a panic is reported.
        for trustee in trustees {
            shards.push(trustee.entrust_with(Entries::new, hashing));
        }
        Self { shards: Sharded::of(shards), hashing }
    }

    /// The worker that has a key or would have it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let owner = squares.trustee_of(&3); // work with it is done best there
    /// assert!(squares.trustees().contains(&owner));
    /// # });
    /// ```
    pub fn trustee_of(&self, key: &K) -> Trustee {
        self.at(key).0.trustee()
    }

    /// The part that a key belongs to, and its hash.
    #[inline]
    pub(in crate::collections) fn at(&self, key: &K) -> (&Trust<Entries<K, V>>, u64) {
        let hash = self.hashing.hash(key);
        (&self.shards.shards()[self.shards.index_of_hash(hash)], hash)
    }
}

impl<K: Hash + Eq + 'static, V: 'static> Default for DistMap<K, V> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    /// Sets the value of a key, and returns the value that it had. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert_eq!(squares.insert(4, 15), None);
    /// assert_eq!(squares.insert(4, 16), Some(15));
    /// # });
    /// ```
    #[track_caller]
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        let (entries, hash) = self.at(&key);
        entries.apply_in("insert", insert, (hash, key, value))
    }

    /// Like [`insert`](Self::insert), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// let inserted = [3, 4].map(|number| squares.insert_async(number, number * number)); // both are under way
    /// assert_eq!(inserted.map(|pending| pending.wait()), [None, None]); // neither replaced a value
    /// # });
    /// ```
    #[track_caller]
    pub fn insert_async(&self, key: K, value: V) -> Pending<Option<V>> {
        let (entries, hash) = self.at(&key);
        entries.apply_with_async(insert, (hash, key, value))
    }

    /// Like [`insert`](Self::insert), without waiting: `then` is called with the value that the key had, on this
    /// worker, as by [`Trust::apply_then`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// squares.insert_then(4, 16, |before| assert_eq!(before, None));
    /// assert_eq!(squares.get(4), Some(16)); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn insert_then(&self, key: K, value: V, then: impl FnOnce(Option<V>) + 'static) {
        let (entries, hash) = self.at(&key);
        entries.apply_with_then(insert, (hash, key, value), then);
    }

    /// Removes a key, and returns the value that it had. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert_eq!((squares.remove(3), squares.remove(3)), (Some(9), None));
    /// # });
    /// ```
    #[track_caller]
    pub fn remove(&self, key: K) -> Option<V> {
        let (entries, hash) = self.at(&key);
        entries.apply_in("remove", remove, (hash, key))
    }

    /// Like [`remove`](Self::remove), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.insert(3, 9);
    /// assert_eq!(squares.remove_async(3).wait(), Some(9));
    /// # });
    /// ```
    #[track_caller]
    pub fn remove_async(&self, key: K) -> Pending<Option<V>> {
        let (entries, hash) = self.at(&key);
        entries.apply_with_async(remove, (hash, key))
    }

    /// Like [`remove`](Self::remove), without waiting: `then` is called with the value that the key had, on this
    /// worker, as by [`Trust::apply_then`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.insert(3, 9);
    /// squares.remove_then(3, |square| assert_eq!(square, Some(9)));
    /// assert!(!squares.contains_key(3)); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn remove_then(&self, key: K, then: impl FnOnce(Option<V>) + 'static) {
        let (entries, hash) = self.at(&key);
        entries.apply_with_then(remove, (hash, key), then);
    }
}

fn insert<K: Hash + Eq, V>(entries: &mut Entries<K, V>, (hash, key, value): (u64, K, V)) -> Option<V> {
    let (there, value) = entries.entry(hash, key, value);
    value.map(|value| std::mem::replace(there, value))
}

fn remove<K: Hash + Eq, V>(entries: &mut Entries<K, V>, (hash, key): (u64, K)) -> Option<V> {
    entries.remove(hash, &key)
}

impl<K: 'static, V: 'static> DistMap<K, V> {
    /// The entries of each worker.
    pub(in crate::collections) fn parts(&self) -> &[Trust<Entries<K, V>>] {
        self.shards.shards()
    }

    /// As it travels.
    pub(in crate::collections) fn write(self, to: &mut Encoder) {
        (self.shards, self.hashing).encode(to);
    }

    pub(in crate::collections) fn read(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        <(Sharded<K, Entries<K, V>>, Hashing)>::decode(from).map(|(shards, hashing)| Self { shards, hashing })
    }
}
