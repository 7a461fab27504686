//! Many values by their keys: a batch for each worker that may have any.

use crate::collections::dist_map::merges::fetch_ahead;
use crate::collections::filling;
use crate::collections::outbox::pause;
use crate::collections::{DistMap, Entries};
use crate::trust::{part_of_hash, rethrow};
use crate::worker::require_fiber;
use crate::{NoRef, Replies};
use std::hash::Hash;
use std::panic::Location;

/// Keys in one request.
const MOST_ASKED: usize = 2048;
/// Bytes of them, with their hashes and the values that come back.
const ASKED_BYTES: usize = 64 * 1024;
/// Requests on their way to one worker.
const UNDER_WAY: usize = 2;

/// Hashes and keys. Both come back empty, to be used again.
type HashedKeys<K> = (Vec<u64>, Vec<K>);
/// What comes back: the memory of what was asked, and a value for each key.
type FoundValues<K, V> = (HashedKeys<K>, Vec<Option<V>>);

impl<K: Hash + Eq + NoRef, V: NoRef + Clone> DistMap<K, V> {
    /// Copies of the values of these keys, in the order of the keys; `None` where a key is missing.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares: gossamer::collections::DistMap<u64, u64> = (0..100).map(|number| (number, number * number)).collect();
    /// assert_eq!(squares.gather([9, 100, 0, 9]), [Some(81), None, Some(0), Some(81)]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Up to 2048 keys are sent to a worker in one request, as far as their hashes (8 bytes each), the keys and the
    /// values take no more than 64 KiB, besides what they own. With more than 16 workers a request has no more than a
    /// worker's share of 32,768 keys, or 64. At most two requests are under way to one worker. For each key 16 bytes
    /// more are kept meanwhile.
    ///
    /// What the iterator itself changes meanwhile is found or not.
    ///
    /// # Panics
    /// If the clone of a value panics ([Panics](Self#panics)).
    #[track_caller]
    pub fn gather(&self, keys: impl IntoIterator<Item = K>) -> Vec<Option<V>> {
        require_fiber("gather");
        let keys = keys.into_iter();
        let mut found = Vec::with_capacity(keys.size_hint().0);
        let mut lookups = KeyedLookups::of(self);
        for key in keys {
            let hash = self.hashing.hash(&key);
            lookups.add(part_of_hash(hash, lookups.gathered.len()), hash, key, &mut found);
        }
        lookups.finish(&mut found);
        found
    }
}

/// Keys that are gathered for one part, and where their values belong.
struct KeysOfPart<K> {
    asked: HashedKeys<K>,
    places: Vec<usize>,
    /// Requests on their way.
    under_way: usize,
}

struct KeyedLookups<'a, K: NoRef, V: NoRef> {
    map: &'a DistMap<K, V>,
    /// Keys of a request.
    most: usize,
    /// For each part.
    gathered: Vec<KeysOfPart<K>>,
    /// By the part, and where the values belong.
    replies: Replies<(usize, Vec<usize>), FoundValues<K, V>>,
    spare: Vec<(HashedKeys<K>, Vec<usize>)>,
}

impl<'a, K: Hash + Eq + NoRef, V: NoRef + Clone> KeyedLookups<'a, K, V> {
    fn of(map: &'a DistMap<K, V>) -> Self {
        let parts = map.parts().len();
        let bytes = size_of::<u64>() + size_of::<K>() + size_of::<Option<V>>();
        let most = (ASKED_BYTES / bytes).clamp(1, filling::share(MOST_ASKED, parts));
        let empty = || KeysOfPart { asked: HashedKeys::default(), places: Vec::new(), under_way: 0 };
        let gathered = (0..parts).map(|_| empty()).collect();
        Self { map, most, gathered, replies: Replies::new(), spare: Vec::new() }
    }

    /// Adds a key, whose value belongs behind what is found.
    #[track_caller]
    fn add(&mut self, part: usize, hash: u64, key: K, found: &mut Vec<Option<V>>) {
        let KeysOfPart { asked: (hashes, keys), places, .. } = &mut self.gathered[part];
        hashes.push(hash);
        keys.push(key);
        places.push(found.len());
        found.push(None);
        if keys.len() >= self.most {
            self.send(part, found);
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send(&mut self, part: usize, found: &mut [Option<V>]) {
        while self.gathered[part].under_way >= UNDER_WAY && self.take(found) {}
        let look_up = const { |entries: &mut Entries<K, V>, asked: HashedKeys<K>| look_up(entries, asked) };
        let gathered = &mut self.gathered[part];
        let (asked, places) = self.spare.pop().unwrap_or_default();
        let asked = std::mem::replace(&mut gathered.asked, asked);
        let places = std::mem::replace(&mut gathered.places, places);
        gathered.under_way += 1;
        let trust = &self.map.parts()[part];
        trust.apply_with_into(&self.replies, (part, places), look_up, asked);
        pause();
    }

    /// Waits for values, and puts them where they belong; whether there were any to wait for.
    #[track_caller]
    fn take(&mut self, found: &mut [Option<V>]) -> bool {
        let Some(((part, mut places), reply)) = self.replies.next() else { return false };
        self.gathered[part].under_way -= 1;
        let (asked, values) = match reply {
            Ok(answer) => answer,
            Err(error) => rethrow(error, Location::caller()),
        };
        places.drain(..).zip(values).for_each(|(place, value)| found[place] = value);
        self.spare.push((asked, places));
        true
    }

    #[track_caller]
    fn finish(mut self, found: &mut [Option<V>]) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].places.is_empty() {
                self.send(part, found);
            }
        }
        while self.take(found) {}
    }
}

fn look_up<K: Hash + Eq, V: Clone>(
    entries: &mut Entries<K, V>,
    (mut hashes, mut keys): HashedKeys<K>,
) -> FoundValues<K, V> {
    let copy = |(at, key)| {
        fetch_ahead(entries, &hashes, at);
        entries.find(hashes[at], key).cloned()
    };
    let values = keys.iter().enumerate().map(copy).collect();
    hashes.clear();
    keys.clear();
    ((hashes, keys), values)
}
