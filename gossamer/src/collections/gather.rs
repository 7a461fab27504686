//! Many elements by their indices: a batch for each worker that has any.

use crate::collections::dist_vec::out_of_range;
use crate::collections::layout::Spread;
use crate::collections::near::own_part;
use crate::collections::outbox::pause;
use crate::collections::{DistVec, Elements};
use crate::structures::interleaving::Interleaving;
use crate::sys::memory::{large_pages, prefetch};
use crate::trust::rethrow;
use crate::worker::require_fiber;
use crate::{DelegationError, NoRef, Replies};
use std::collections::VecDeque;
use std::panic::Location;

/// Indices that are looked up together, per worker on average. All their requests are sent at once.
const GATHERED: usize = 4096;
/// Indices that are taken together from the caller's iterator.
const TAKEN: usize = 64;
/// Rounds on their way at a time.
const UNDER_WAY: usize = 2;
/// Counted for at most this many workers, which bounds the memory.
const MOST_PARTS: usize = 16;
/// How many elements ahead an element is fetched into the cache.
pub(super) const FETCHED_BEFORE: usize = 32;

/// Places of elements in their part, and room for their copies. Both come back to be reused.
type Wanted<T> = (Vec<u32>, Vec<T>);

impl<T: NoRef + Clone> DistVec<T> {
    /// Copies of the elements with these indices, in the order of the indices.
    ///
    /// Indices are looked up in rounds of 4096 for each worker (65,536 in total, if there are more than 16 workers).
    /// A round sends one request to each worker that has any of the elements, with 4 bytes for each index, and gets
    /// back the copies. Two rounds are under way at a time, with 12 bytes and a copy for each index; if a round asks
    /// other workers for more than the one before, at most six times as much. No other memory is used besides the result.
    ///
    /// What the iterator itself changes meanwhile is found or not.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let letters: gossamer::collections::DistVec<_> = ('a'..='z').collect();
    /// assert_eq!(letters.gather([25, 0, 0, 12]), ['z', 'a', 'a', 'm']);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If an index is out of range ([Panics](Self#panics)).
    #[track_caller]
    pub fn gather(&self, indices: impl IntoIterator<Item = usize>) -> Vec<T> {
        let indices = indices.into_iter();
        let mut found = large_pages::with_capacity(indices.size_hint().0);
        self.gather_into(indices, &mut found);
        found
    }

    /// Like [`gather`](Self::gather), appending to an existing vector. Fresh memory costs as much as the lookup, so
    /// keep the vector if you gather often.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(10, |index| index * index);
    /// let mut found = Vec::new();
    /// for indices in [[1, 9], [3, 3]] {
    ///     found.clear(); // keeps its memory for the next lookup
    ///     squares.gather_into(indices, &mut found);
    ///     assert_eq!(found, indices.map(|index| index * index));
    /// }
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`gather`](Self::gather); the elements found before are in the vector.
    #[track_caller]
    pub fn gather_into(&self, indices: impl IntoIterator<Item = usize>, found: &mut Vec<T>) {
        require_fiber("gather");
        let mut indices = indices.into_iter();
        found.reserve(indices.size_hint().0);
        let mut rounds = LookUps::of(self);
        let most = rounds.most;
        loop {
            let mut round = rounds.spare.pop().unwrap_or_else(|| Round::new(self.parts.len()));
            if let Err(index) = list(&mut indices, most, self.spread, &mut round.order) {
                out_of_range(index, self.spread);
            }
            let is_last = round.order.len() < most;
            let left = if is_last { 0 } else { UNDER_WAY - 1 };
            if let Err(error) = rounds.send_and_take(round, left, found) {
                rethrow(error, Location::caller());
            }
            if is_last {
                return;
            }
        }
    }

    /// Replaces elements, by their indices; the old values are dropped where they are. Of equal indices the last one
    /// wins.
    ///
    /// Like [`updates`](Self::updates) of a closure that assigns: one request for some thousands, with 4 bytes for an index and
    /// those of the values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// numbers.scatter([(0, 7), (4, 8)]);
    /// assert_eq!(numbers.to_vec(), [7, 1, 2, 3, 8]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If an index is out of range; the elements before it are set all the same ([Panics](Self#panics)).
    #[track_caller]
    pub fn scatter(&self, pairs: impl IntoIterator<Item = (usize, T)>) {
        require_fiber("scatter");
        let mut updates = self.updates(const { |element: &mut T, value: T| *element = value });
        for (index, value) in pairs {
            updates.push(index, value);
        }
        updates.finish();
    }
}

/// Notes where the elements with these indices are, at most so many, up to an index that is out of range.
fn list(
    indices: &mut impl Iterator<Item = usize>,
    most: usize,
    spread: Spread,
    order: &mut Interleaving,
) -> Result<(), usize> {
    let mut room = [0; TAKEN];
    while order.len() < most {
        let count = take(indices, &mut room);
        list_some(&room[..count], spread, order)?;
        if count < TAKEN {
            break;
        }
    }
    Ok(())
}

/// Takes indices from the caller's iterator, and returns how many. A function of its own, as the next one is, so that
/// the processor has all that either of their loops needs in registers.
#[inline(never)]
fn take(indices: &mut impl Iterator<Item = usize>, room: &mut [usize; TAKEN]) -> usize {
    room.iter_mut().zip(indices).map(|(room, index)| *room = index).count()
}

/// Notes where elements are, in a loop without the caller's iterator.
#[inline(never)]
fn list_some(indices: &[usize], spread: Spread, order: &mut Interleaving) -> Result<(), usize> {
    order.ask(indices, |index| spread.find(index).map(|(part, offset)| (part, offset.number())))
}

/// Indices that were asked for together.
struct Round<T> {
    /// The order in which they were asked for.
    order: Interleaving,
    /// For each part.
    wanted: Vec<Wanted<T>>,
    /// Replies to come.
    missing: usize,
}

impl<T> Round<T> {
    fn new(parts: usize) -> Self {
        let wanted = (0..parts).map(|_| (Vec::new(), Vec::new())).collect();
        Self { order: Interleaving::new(parts), wanted, missing: 0 }
    }
}

/// LookUps under way, in their order.
struct LookUps<'a, T: NoRef> {
    vector: &'a DistVec<T>,
    /// Indices of a round.
    most: usize,
    /// The part that is at hand, which needs no request.
    own: Option<usize>,
    sent: VecDeque<Round<T>>,
    /// By the number of a round, and the part.
    replies: Replies<(usize, usize), Wanted<T>>,
    /// The number of the first round in `sent`.
    first: usize,
    spare: Vec<Round<T>>,
}

impl<'a, T: NoRef + Clone> LookUps<'a, T> {
    fn of(vector: &'a DistVec<T>) -> Self {
        Self {
            vector,
            most: GATHERED * vector.parts.len().min(MOST_PARTS),
            own: own_part(vector),
            sent: VecDeque::new(),
            replies: Replies::new(),
            first: 0,
            spare: Vec::new(),
        }
    }

    /// Sends a round to the other workers, and takes what was found until no more than `left` rounds are under way.
    #[track_caller]
    fn send_and_take(
        &mut self,
        round: Round<T>,
        left: usize,
        found: &mut Vec<T>,
    ) -> Result<(), DelegationError> {
        self.send(round);
        if left > 0 {
            // Else a worker whose answers are always there would go on to its end, while the others wait for its own.
            pause();
        }
        while self.sent.len() > left {
            self.take(found)?;
        }
        Ok(())
    }

    #[track_caller]
    fn send(&mut self, mut round: Round<T>) {
        let look_up = const { |elements: &mut Elements<T>, wanted: Wanted<T>| look_up(elements, wanted) };
        let number = self.first + self.sent.len();
        // Lists grow by doubling.
        let usual = 2 * self.most / self.vector.parts.len();
        for (part, wanted) in round.wanted.iter_mut().enumerate() {
            // Else each list would become as long as a round, if each round asks another worker for most.
            round.order.trim(part, usual);
            if Some(part) == self.own {
                continue;
            }
            let asked = round.order.asked(part);
            if wanted.0.capacity().max(wanted.1.capacity()) > usual.max(4 * asked.len()) {
                *wanted = Wanted::default();
            }
            if asked.len() == 0 {
                continue;
            }
            wanted.0.extend(asked);
            round.missing += 1;
            let (trust, wanted) = (&self.vector.parts[part], std::mem::take(wanted));
            trust.apply_with_into(&self.replies, (number, part), look_up, wanted);
        }
        self.sent.push_back(round);
    }

    /// Waits for the first round, takes what was found, and looks up what is at hand.
    #[track_caller]
    fn take(&mut self, found: &mut Vec<T>) -> Result<(), DelegationError> {
        while self.sent.front().is_some_and(|round| round.missing > 0) {
            let Some(((number, part), reply)) = self.replies.next() else { break };
            let round = &mut self.sent[number - self.first];
            round.wanted[part] = reply?;
            round.missing -= 1;
        }
        let Some(mut round) = self.sent.pop_front() else { return Ok(()) };
        self.first += 1;
        let mut merging = round.order.merge_into(found);
        // What is at hand first: if a clone panics, what the others have found is dropped.
        if let Some(own) = self.own {
            self.vector.parts[own].try_apply_here(|elements| {
                let copy = |offset| elements[offset as usize].clone();
                merging.answer(own, FETCHED_BEFORE, copy, |offset, place| {
                    // Nobody has touched that memory lately, either.
                    prefetch::write(place);
                    fetch(elements, offset);
                });
            })?;
        }
        for (part, (_, values)) in round.wanted.iter_mut().enumerate() {
            if Some(part) != self.own {
                merging.fill(part, values.drain(..));
            }
        }
        merging.finish();
        self.spare.push(round);
        Ok(())
    }
}

fn look_up<T: Clone>(elements: &[T], (mut offsets, mut values): Wanted<T>) -> Wanted<T> {
    values.reserve_exact(offsets.len());
    values.extend(offsets.iter().enumerate().map(|(at, offset)| {
        if let Some(later) = offsets.get(at + FETCHED_BEFORE) {
            fetch(elements, *later);
        }
        elements[*offset as usize].clone()
    }));
    offsets.clear();
    (offsets, values)
}

/// Fetches an element into the cache.
#[inline(always)]
fn fetch<T>(elements: &[T], offset: u32) {
    if let Some(element) = elements.get(offset as usize) {
        prefetch::read(element);
    }
}
