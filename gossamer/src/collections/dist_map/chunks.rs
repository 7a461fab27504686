//! [`Chunks`]: all entries of a map, some thousands at a time.

use crate::collections::dist_map::{DistMap, Entries};
use crate::trust::rethrow;
use crate::worker::require_fiber;
use crate::{NoRef, Pending, Trust};
use std::fmt;
use std::panic::Location;

/// Some entries, and where to continue after them.
type SomeEntries<K, V> = (Vec<(K, V)>, Option<u64>);

impl<K: NoRef, V: NoRef> DistMap<K, V> {
    /// Copies of all entries, some thousands at a time, in no particular order: an iterator of vectors.
    ///
    /// Entries that are there all the time appear once; those that are added or removed meanwhile appear at most
    /// once. Neither side keeps more than one chunk.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// (0..10).for_each(|number: u64| _ = squares.insert(number, number * number));
    /// let sum: u64 = squares.chunks().flatten().map(|(_, square)| square).sum();
    /// assert_eq!(sum, 285);
    /// # });
    /// ```
    ///
    /// # Cost
    /// One request of 8 bytes for each chunk, when the iterator is asked for it. A chunk has up to 3,584 entries; in
    /// a large map at least 1,700.
    #[track_caller]
    pub fn chunks(&self) -> Chunks<K, V>
    where
        K: Clone,
        V: Clone,
    {
        require_fiber("chunks");
        Chunks::new(self, copy_chunk)
    }

    /// Like [`chunks`](Self::chunks), but removes the entries from the map, with their memory. Entries that were not
    /// asked for stay.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let lists = gossamer::collections::DistMap::new();
    /// lists.insert('a', vec![1, 2]);
    /// let all: Vec<_> = lists.drain().flatten().collect();
    /// assert_eq!(all, [('a', vec![1, 2])]);
    /// assert!(lists.is_empty());
    /// # });
    /// ```
    #[track_caller]
    pub fn drain(&self) -> Chunks<K, V> {
        require_fiber("drain");
        Chunks::new(self, take_chunk)
    }
}

fn copy_chunk<K: Clone, V: Clone>(entries: &mut Entries<K, V>, position: u64) -> SomeEntries<K, V> {
    match entries.some_at(position) {
        Some((bucket, next)) => (entries.bucket(bucket).iter().cloned().collect(), next),
        None => (Vec::new(), None),
    }
}

fn take_chunk<K, V>(entries: &mut Entries<K, V>, position: u64) -> SomeEntries<K, V> {
    match entries.some_at(position) {
        Some((bucket, next)) => (entries.take(bucket).into_iter().collect(), next),
        None => (Vec::new(), None),
    }
}

/// All entries of a map, some thousands at a time: what [`DistMap::chunks`] and [`DistMap::drain`] return.
///
/// # Panics
/// [`next`](Iterator::next) panics where the caller cannot wait, if a worker has ended, or a `Clone` panics.
#[must_use = "nothing is asked for before it is iterated"]
pub struct Chunks<K: 'static, V: 'static> {
    map: DistMap<K, V>,
    /// The present part, and where to continue in it.
    part: usize,
    position: u64,
    ask: Box<dyn Fn(&Trust<Entries<K, V>>, u64) -> Pending<SomeEntries<K, V>>>,
    made_at: &'static Location<'static>,
}

impl<K: NoRef, V: NoRef> Chunks<K, V> {
    #[track_caller]
    fn new<F>(map: &DistMap<K, V>, closure: F) -> Self
    where
        F: FnOnce(&mut Entries<K, V>, u64) -> SomeEntries<K, V> + Send + Copy + 'static,
    {
        let made_at = Location::caller();
        let ask = move |entries: &Trust<Entries<K, V>>, position| {
            entries.send::<F, _, _, _>(closure, position, made_at)
        };
        Self { map: map.clone(), part: 0, position: 0, ask: Box::new(ask), made_at }
    }
}

impl<K: NoRef, V: NoRef> Iterator for Chunks<K, V> {
    type Item = Vec<(K, V)>;

    fn next(&mut self) -> Option<Vec<(K, V)>> {
        loop {
            let entries = self.map.shards.shards().get(self.part)?;
            let (chunk, next) = match (self.ask)(entries, self.position).try_wait() {
                Ok(chunk) => chunk,
                Err(error) => rethrow(error, self.made_at),
            };
            self.position = next.unwrap_or(0);
            self.part += usize::from(next.is_none());
            if !chunk.is_empty() {
                return Some(chunk);
            }
        }
    }
}

impl<K, V> fmt::Debug for Chunks<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks")
            .field("part", &self.part)
            .field("made_at", &format_args!("{}", self.made_at))
            .finish_non_exhaustive()
    }
}
