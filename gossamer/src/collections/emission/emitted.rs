//! [`Emitted`]: what a loop has emitted and not sent yet.

use crate::NoRef;
use crate::collections::KeyedUpdates;
use crate::collections::dist_vec::out_of_range;
use crate::collections::emission::update_handle::{SharedUpdates, UpdateHandle};
use crate::collections::layout::Spread;
use crate::lane::catch::{Caught, delegated};
use std::any::Any;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;

/// Bytes that are emitted before a loop pauses to sort them by destination: they are still in the first-level cache.
const BYTES: usize = 16 * 1024;
/// Pairs that are emitted before a loop pauses, if they have fewer bytes, and if they have more.
const MOST: usize = 1024;
const FEWEST: usize = 16;

/// Takes what a loop [emits](crate::collections::Emission) for other elements: pairs of an index or a key, and an
/// argument.
pub struct Emitted<K: NoRef, A: NoRef> {
    /// For a vector: here they are sorted by their destination later.
    pairs: Vec<(K, A)>,
    room: usize,
    /// Above all indices, of a vector.
    end: usize,
    spread: Option<Spread>,
    /// For a map: a pair is gathered at once, since that takes as long as to keep it.
    updates: Option<SharedUpdates<K, A>>,
    /// A batch for some part of the map is full.
    is_full: bool,
    count: u64,
    failed: Option<Caught>,
}

impl<K: NoRef, A: NoRef> Emitted<K, A> {
    pub(super) fn new(handle: &impl UpdateHandle<K, A>) -> Self {
        let (spread, updates) = (handle.spread(), handle.gathering());
        let room = (BYTES / size_of::<(K, A)>().max(1)).clamp(FEWEST, MOST);
        Self {
            pairs: Vec::with_capacity(if updates.is_none() { room } else { 0 }),
            room,
            end: spread.map_or(usize::MAX, Spread::len),
            spread,
            updates,
            is_full: false,
            count: 0,
            failed: None,
        }
    }

    /// Adds a pair: a closure will be applied to the element with this index, or the value of this key, with this
    /// argument.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, par_emit};
    /// let divisors = DistVec::filled(101, 0_u64);
    /// par_emit(1..101, |divisor, out| (divisor..101).step_by(divisor).for_each(|number| out.push(number, 1)))
    ///     .apply_to(&divisors, |divisors, more| *divisors += more);
    /// assert_eq!(divisors.range(10..14), [4, 2, 6, 2]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element in a vector that this goes to.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, key: K, argument: A)
    where
        K: Hash + Eq,
    {
        if self.updates.is_some() {
            return self.gather(|updates| updates.gather(key, argument));
        }
        // Which type it is, the compiler knows.
        if let Some(index) = (&key as &dyn Any).downcast_ref::<usize>()
            && *index >= self.end
        {
            self.refuse(*index);
        }
        self.count += 1;
        self.pairs.push((key, argument));
    }

    /// Like [`push`](Self::push), with a borrowed key, which is cloned unless an equal one is already gathered, with
    /// which it is [merged](crate::collections::Emission::merge_into).
    ///
    /// ```
    /// use gossamer::collections::{DistMap, DistVec};
    ///
    /// #[gossamer::delegate]
    /// fn count_words(lines: &DistVec<String>) -> DistMap<String, u64> {
    ///     let counts = DistMap::new();
    ///     lines
    ///         .par_emit(|_, line, out| line.split(' ').for_each(|word| out.push_ref(word, 1)))
    ///         .merge_into(&counts, |count, more| *count += more);
    ///     counts
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let lines: DistVec<_> = ["to be or", "not to be"].map(String::from).into_iter().collect();
    /// assert_eq!(count_words(&lines).get("to".to_owned()), Some(2));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`push`](Self::push).
    #[inline]
    #[track_caller]
    pub fn push_ref<Q>(&mut self, key: &Q, argument: A)
    where
        K: Borrow<Q> + Hash + Eq,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if self.updates.is_some() {
            return self.gather(|updates| updates.gather_ref(key, argument));
        }
        self.push(key.to_owned(), argument);
    }

    /// If what combines arguments panics here, or a key when it is hashed or compared, all others are gathered, and the
    /// first such panic is kept. None of them may wait, since elements may be in use.
    #[inline]
    fn gather(&mut self, gather: impl FnOnce(&mut KeyedUpdates<K, A>) -> Option<usize>) {
        let Some(updates) = &self.updates else { return };
        self.count += 1;
        match delegated(|| gather(&mut updates.borrow_mut())) {
            Ok(full) => self.is_full |= full.is_some(),
            Err(caught) => _ = self.failed.get_or_insert(caught),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, index: usize) {
        // A map has all keys.
        if let Some(spread) = self.spread {
            out_of_range(index, spread);
        }
    }

    /// Whether it is time to send.
    pub(super) fn is_full(&self) -> bool {
        self.is_full || self.pairs.len() >= self.room
    }

    /// Hands over what is to be sent. May wait.
    pub(super) fn send(&mut self, handle: &mut impl UpdateHandle<K, A>) {
        handle.add_all(self.pairs.drain(..));
        self.is_full = false;
        // One element may have emitted very many.
        self.pairs.shrink_to(4 * self.room);
    }

    /// How many pairs there were, and the first panic while they were gathered.
    pub(super) fn end(self) -> (u64, Option<Caught>) {
        (self.count, self.failed)
    }
}

impl<K: Hash + Eq + NoRef, A: NoRef> Extend<(K, A)> for Emitted<K, A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, A)>>(&mut self, pairs: I) {
        for (key, argument) in pairs {
            self.push(key, argument);
        }
    }
}

impl<K: NoRef, A: NoRef> fmt::Debug for Emitted<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitted").field("pairs", &self.count).finish_non_exhaustive()
    }
}
