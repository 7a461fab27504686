//! [`Buckets`]: marks by their priorities.

use std::collections::BTreeMap;
use std::mem;

/// Priorities in a row whose buckets are found by their remainders. In delta-stepping marks lie above the round's
/// priority by no more than the longest edge has steps.
const NEAR: usize = 64;

/// Lists of marks by priority, of which the lowest priorities are marked the most.
#[derive(Default)]
pub(super) struct Buckets {
    /// Of `NEAR` priorities from `first` on, each at its remainder. Empty until something is marked.
    near: Box<[Vec<u32>]>,
    /// At most `usize::MAX - NEAR`.
    first: usize,
    /// Of all other priorities; none is empty.
    far: BTreeMap<usize, Vec<u32>>,
}

impl Buckets {
    #[inline]
    pub(super) fn push(&mut self, priority: usize, offset: u32) {
        if is_near(self.first, priority)
            && let Some(bucket) = self.near.get_mut(priority % NEAR)
        {
            return bucket.push(offset);
        }
        self.push_elsewhere(priority, offset);
    }

    #[cold]
    fn push_elsewhere(&mut self, priority: usize, offset: u32) {
        if self.near.is_empty() {
            self.near = vec![Vec::new(); NEAR].into();
        }
        let bucket = match is_near(self.first, priority) {
            true => &mut self.near[priority % NEAR],
            false => self.far.entry(priority).or_default(),
        };
        bucket.push(offset);
    }

    /// The marks of all priorities.
    pub(super) fn len(&self) -> usize {
        self.near.iter().chain(self.far.values()).map(Vec::len).sum()
    }

    /// The least priority that has marks.
    pub(super) fn least(&self) -> Option<usize> {
        let is_marked =
            |priority: &usize| self.near.get(priority % NEAR).is_some_and(|bucket| !bucket.is_empty());
        let near = (self.first..self.first + NEAR).find(is_marked);
        let far = self.far.first_key_value().map(|(priority, _)| *priority);
        near.into_iter().chain(far).min()
    }

    /// Takes the marks of a priority, from which on they are near then.
    pub(super) fn take(&mut self, priority: usize) -> Vec<u32> {
        self.begin_at(priority.min(usize::MAX - NEAR));
        let bucket = match is_near(self.first, priority) {
            true => self.near.get_mut(priority % NEAR).map(mem::take),
            false => self.far.remove(&priority), // the greatest of all
        };
        bucket.unwrap_or_default()
    }

    fn begin_at(&mut self, first: usize) {
        if self.near.is_empty() || self.first == first {
            self.first = first;
            return;
        }
        let before = mem::replace(&mut self.first, first);
        for priority in before..before + NEAR {
            let bucket = &mut self.near[priority % NEAR];
            if !is_near(first, priority) && !bucket.is_empty() {
                self.far.insert(priority, mem::take(bucket));
            }
        }
        while let Some((&priority, _)) = self.far.range(first..first + NEAR).next()
            && let Some(bucket) = self.far.remove(&priority)
        {
            self.near[priority % NEAR] = bucket;
        }
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        let Self { near, far, .. } = mem::take(self);
        near.into_iter().chain(far.into_values()).flatten()
    }
}

fn is_near(first: usize, priority: usize) -> bool {
    priority.wrapping_sub(first) < NEAR
}

#[cfg(test)]
mod tests {
    use super::{Buckets, NEAR};
    use std::collections::BTreeMap;

    #[test]
    fn marks_are_taken_as_from_a_map_whatever_priorities_come() {
        let mut random = 1_u64;
        let mut below = |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % bound
        };
        for round in 0..300 {
            let (mut buckets, mut map) = (Buckets::default(), BTreeMap::<usize, Vec<u32>>::new());
            let lowest = [0, 5, NEAR, usize::MAX - 3 * NEAR, usize::MAX - NEAR][round % 5];
            for offset in 0..200 {
                for _ in 0..below(4) {
                    let range = [3, NEAR, 3 * NEAR][below(3)];
                    let priority = lowest.saturating_add(below(range));
                    buckets.push(priority, offset);
                    map.entry(priority).or_default().push(offset);
                }
                assert_eq!(buckets.least(), map.first_key_value().map(|(priority, _)| *priority));
                assert_eq!(buckets.len(), map.values().map(Vec::len).sum::<usize>());
                let priority = match below(5) {
                    0 => lowest.saturating_add(below(2 * NEAR)), // also what has none, or is not the least
                    1 => buckets.least().unwrap_or(0),
                    _ => continue,
                };
                assert_eq!(buckets.take(priority), map.remove(&priority).unwrap_or_default());
            }
            let mut left: Vec<_> = buckets.take_all().collect();
            left.sort_unstable();
            let mut expected: Vec<_> = map.into_values().flatten().collect();
            expected.sort_unstable();
            assert_eq!(left, expected);
            assert_eq!((buckets.len(), buckets.least()), (0, None));
        }
    }
}
