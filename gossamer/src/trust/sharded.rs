//! [`Sharded`]: one property per trustee, keys spread by their hash.

use crate::WithoutCaptures;
use crate::lane::operation::refuse_captures;
use crate::trust::{NoRef, Trust, Trustee};
use crate::wire::captured::Captured;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::require_fiber;
use foldhash::fast::FixedState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::Arc;

/// One property of type `T` on every trustee; the hash of a key picks one of them.
///
/// Use it for data that is spread by key and is more than entries: a cache that evicts, an index, a connection for
/// each key. Each shard is a property like any other. For a plain map or set there are
/// [`DistMap`](crate::collections::DistMap) and [`DistSet`](crate::collections::DistSet), which are built on this.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::Sharded;
/// use std::collections::HashMap;
/// let ages = Sharded::<String, HashMap<String, u32>>::new();
/// for (name, age) in [("Ada", 36), ("Alan", 41)] {
///     let name = name.to_owned();
///     ages.shard(&name).apply_with(|shard, (name, age)| shard.insert(name, age), (name, age));
/// }
/// let sizes: Vec<usize> = ages.map_all(|shard| shard.len());
/// assert_eq!(sizes.iter().sum::<usize>(), 2);
/// # });
/// ```
pub struct Sharded<K: ?Sized, T: 'static> {
    shards: Arc<[Trust<T>]>,
    keys: PhantomData<fn(&K)>,
}

/// The same on every node of a rack, since all nodes must pick the same shard.
const HASHER: FixedState = FixedState::with_seed(0x676f_7373_616d_6572);

impl<K: Hash + ?Sized, T: Default + 'static> Sharded<K, T> {
    /// A shard on each trustee, made by `T::default()` there.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// assert_eq!(counts.shards().len(), 2); // one on each worker, each `u64::default()`
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait, and on a thread that is not a worker.
    #[track_caller]
    pub fn new() -> Self {
        Self::with(T::default)
    }
}

impl<K: Hash + ?Sized, T: Default + 'static> Default for Sharded<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Hash + ?Sized, T: 'static> Sharded<K, T> {
    /// A shard on each trustee, made there by `make`, which captures nothing and goes to all nodes
    /// ([Delegated closures](crate::Trust#delegated-closures)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::with(|| 100);
    /// assert_eq!(counts.shard("tea").apply(|count| *count), 100);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait, and on a thread that is not a worker.
    #[track_caller]
    pub fn with<F: Fn() -> T + Send + Copy>(make: F) -> Self {
        const { refuse_captures::<F>() };
        Self::on(&Trustee::all(), make)
    }

    /// Like [`with`](Self::with), with a shard on each of these trustees, in this order: for example on dedicated
    /// workers. A trustee that is listed twice has two shards.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(3), || {
    /// use gossamer::{Sharded, Trustee};
    /// let dedicated = &Trustee::all()[1..]; // fibers are spawned on worker 0, with `spawn_on`
    /// let counts = Sharded::<str, u64>::on(dedicated, || 0);
    /// counts.shard("a").apply(|count| *count += 1);
    /// assert_eq!(counts.shards().len(), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty, the runtime of one has ended, or `make` panics; and where the caller cannot wait.
    #[track_caller]
    pub fn on<F: Fn() -> T + Send + Copy>(trustees: &[Trustee], make: F) -> Self {
        const { refuse_captures::<F>() };
        assert!(!trustees.is_empty(), "a `Sharded` on no trustees has no shard for a key");
        let mut shards = Vec::new();
        // Not `map`, whose closure would be named as the caller when a panic is reported.
        for trustee in trustees {
            shards.push(trustee.make::<F, _, _, _>(move |()| make(), ()));
        }
        Self::of(shards)
    }

    /// The shard of a key. The same key always has the same shard.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// counts.shard("tea").apply(|count| *count += 1);
    /// assert_eq!(counts.shard("tea").apply(|count| *count), 1);
    /// # });
    /// ```
    #[inline]
    pub fn shard(&self, key: &K) -> &Trust<T> {
        &self.shards[self.index_of(key)]
    }

    /// The index of a key's shard in [`shards`](Self::shards).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// let place = counts.index_of("tea");
    /// counts.shards()[place].apply(|count| *count += 1); // as `shard("tea")`
    /// # });
    /// ```
    #[inline]
    pub fn index_of(&self, key: &K) -> usize {
        self.index_of_hash(Self::hash_of(key))
    }

    /// The hash by which keys are spread, the same on every node and in every run of a program. Use it to sort keys
    /// by shard, or to hash a key once for both the shard and a table in it.
    ///
    /// Its upper bits pick the shard, so a table may use the lower ones. It does not resist keys that an attacker
    /// chooses.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// let hash = Sharded::<str, u64>::hash_of("tea");
    /// assert_eq!(counts.index_of_hash(hash), counts.index_of("tea"));
    /// # });
    /// ```
    #[inline]
    pub fn hash_of(key: &K) -> u64 {
        HASHER.hash_one(key)
    }
}

impl<K: ?Sized, T: 'static> Sharded<K, T> {
    /// Made of existing properties.
    pub(crate) fn of(shards: Vec<Trust<T>>) -> Self {
        Self { shards: shards.into(), keys: PhantomData }
    }

    /// Like [`index_of`](Self::index_of), of a key with this [hash](Self::hash_of).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// let mut words = ["tea", "milk", "sugar"].map(|word| (Sharded::<str, u64>::hash_of(word), word));
    /// words.sort_by_key(|(hash, _)| counts.index_of_hash(*hash)); // those of one shard are together
    /// for (hash, _) in words {
    ///     counts.shards()[counts.index_of_hash(hash)].apply(|count| *count += 1);
    /// }
    /// assert_eq!(counts.map_all(|count| *count).iter().sum::<u64>(), 3);
    /// # });
    /// ```
    #[inline]
    pub fn index_of_hash(&self, hash: u64) -> usize {
        part_of_hash(hash, self.shards.len())
    }

    /// All shards, in the order of [`Trustee::all`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// counts.shard("tea").apply(|count| *count += 1);
    /// let sum: u64 = counts.shards().iter().map(|shard| shard.apply(|count| *count)).sum();
    /// assert_eq!(sum, 1);
    /// # });
    /// ```
    pub fn shards(&self) -> &[Trust<T>] {
        &self.shards
    }

    /// Applies a closure to every shard, all at once, and returns the results in the order of the shards.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// counts.shard("tea").apply(|count| *count += 1);
    /// assert_eq!(counts.map_all(|count| *count).iter().sum::<u64>(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics; where the caller cannot wait.
    #[track_caller]
    pub fn map_all<U: NoRef, F>(&self, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut T) -> U + Send + WithoutCaptures + 'static,
    {
        require_fiber("map_all");
        let (mut pending, mut results) = (Vec::new(), Vec::new());
        // Not `map`: as in `with`.
        for shard in self.shards.iter() {
            pending.push(shard.apply_async(closure));
        }
        for pending in pending {
            results.push(pending.wait());
        }
        results
    }

    /// Like [`map_all`](Self::map_all), with a clone of `arguments` passed to the closure at each shard.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Sharded;
    /// let counts = Sharded::<str, u64>::new();
    /// counts.map_all_with(|count, to| *count = to, 7);
    /// assert_eq!(counts.map_all(|count| *count), [7, 7]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`map_all`](Self::map_all).
    #[track_caller]
    pub fn map_all_with<C: NoRef + Clone, U: NoRef, F>(&self, closure: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + WithoutCaptures + 'static,
    {
        require_fiber("map_all");
        let (mut pending, mut results) = (Vec::new(), Vec::new());
        for shard in self.shards.iter() {
            pending.push(shard.apply_with_async(closure, arguments.clone()));
        }
        for pending in pending {
            results.push(pending.wait());
        }
        results
    }

    /// As written by the macros (see `arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __map_all_with<C: Captured + Clone, U: NoRef, F>(&self, arguments: C, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
    {
        self.map_all_with(closure, arguments)
    }
}

/// Which of `parts` parts has the keys with this hash.
#[inline(always)]
pub(crate) fn part_of_hash(hash: u64, parts: usize) -> usize {
    // The high half of a product spreads as a remainder does, without the division.
    ((u128::from(hash) * parts as u128) >> 64) as usize
}

impl<K: ?Sized, T> Clone for Sharded<K, T> {
    fn clone(&self) -> Self {
        Self { shards: Arc::clone(&self.shards), keys: PhantomData }
    }
}

impl<K: ?Sized, T> fmt::Debug for Sharded<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shards.iter()).finish()
    }
}

// SAFETY: it holds trusts, which are `NoRef`; the shared list of them is never changed.
unsafe impl<K: ?Sized + 'static, T> NoRef for Sharded<K, T> {
    fn encode(self, to: &mut Encoder) {
        self.shards.to_vec().encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Vec::decode(from).map(Self::of)
    }
}
