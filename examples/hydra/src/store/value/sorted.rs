//! Sorted sets: members by score, and by name among those of one score.

use crate::store::value::{Encodings, allocation};
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexset::BTreeSet;
use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

/// Members of a node of the tree: so many are moved when one is put in, at most.
const NODE: usize = 256;
/// What a member takes in both structures, besides its own allocation.
const PLACE: usize = 80;

/// A member with its score; never NaN, and no negative zero.
#[derive(Clone, Debug)]
pub struct Member {
    pub score: f64,
    pub name: Rc<[u8]>,
}

impl Member {
    pub fn new(score: f64, name: &[u8]) -> Self {
        Self { score: score + 0.0, name: name.into() }
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Member {}

pub enum SortedSet {
    /// In order.
    Small(Vec<Member>),
    Large(Box<Ranked>),
}

/// A tree that knows how many members are in each of its nodes finds ranks, a table finds scores.
pub struct Ranked {
    order: BTreeSet<Member>,
    scores: IndexMap<Rc<[u8]>, f64, RandomState>,
    bytes: usize,
}

impl Default for SortedSet {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

fn name_memory(name: &[u8]) -> usize {
    // It counts its owners.
    allocation(16 + name.len())
}

impl SortedSet {
    pub fn len(&self) -> usize {
        match self {
            Self::Small(members) => members.len(),
            Self::Large(ranked) => ranked.scores.len(),
        }
    }

    pub fn memory(&self) -> usize {
        match self {
            // Few, so they are counted each time.
            Self::Small(members) => {
                allocation(size_of::<Member>() * members.capacity())
                    + members.iter().map(|member| name_memory(&member.name)).sum::<usize>()
            }
            Self::Large(ranked) => {
                allocation(size_of::<Ranked>()) + NODE * size_of::<Member>() + ranked.bytes
            }
        }
    }

    pub fn is_small(&self) -> bool {
        matches!(self, Self::Small(_))
    }

    pub fn score(&self, name: &[u8]) -> Option<f64> {
        match self {
            Self::Small(members) => {
                members.iter().find(|member| *member.name == *name).map(|member| member.score)
            }
            Self::Large(ranked) => ranked.scores.get(name).copied(),
        }
    }

    /// How many members come before this one, whether or not it is there.
    pub fn rank_of(&self, bound: &Member) -> usize {
        match self {
            Self::Small(members) => members.partition_point(|member| member < bound),
            Self::Large(ranked) => ranked.order.rank(bound),
        }
    }

    /// For how many of the first members this is true; it is true for none after them.
    pub fn count_while(&self, is_before: impl Fn(&Member) -> bool) -> usize {
        match self {
            Self::Small(members) => members.partition_point(is_before),
            Self::Large(ranked) => {
                let (mut low, mut high) = (0, self.len());
                while low < high {
                    let middle = low + (high - low) / 2;
                    if ranked.order.get_index(middle).is_some_and(&is_before) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low
            }
        }
    }

    pub fn rank(&self, name: &[u8]) -> Option<usize> {
        Some(self.rank_of(&Member::new(self.score(name)?, name)))
    }

    /// The members of these ranks, in order.
    pub fn range(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = &Member> {
        let ranks = ranks.start.min(self.len())..ranks.end.clamp(ranks.start.min(self.len()), self.len());
        let (small, large) = match self {
            Self::Small(members) => (Some(&members[ranks]), None),
            Self::Large(ranked) => (None, Some(ranked.order.range_idx(ranks))),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Member> {
        self.range(0..self.len())
    }

    /// The member of a place, in no order that means anything; the place is there.
    pub fn at(&self, place: usize) -> (&[u8], f64) {
        match self {
            Self::Small(members) => (&members[place].name, members[place].score),
            Self::Large(ranked) => {
                ranked.scores.get_index(place).map_or((&[], 0.0), |(name, score)| (name, *score))
            }
        }
    }

    /// Gives a member a score; tells which it had.
    pub fn insert(&mut self, name: &[u8], score: f64, encodings: &Encodings) -> Option<f64> {
        let before = self.score(name);
        if before == Some(score) {
            return before;
        }
        let is_small = before.is_some() || self.len() < encodings.sorted_entries;
        if self.is_small() && !(is_small && name.len() <= encodings.sorted_value) {
            self.grow();
        }
        let member = Member::new(score, name);
        match self {
            Self::Small(members) => {
                if let Some(before) = before {
                    let old = members.partition_point(|member| *member < Member::new(before, name));
                    members.remove(old);
                }
                let place = members.partition_point(|other| *other < member);
                members.insert(place, member);
            }
            Self::Large(ranked) => ranked.insert(member, before),
        }
        before
    }

    fn grow(&mut self) {
        let mut ranked =
            Ranked { order: BTreeSet::with_maximum_node_size(NODE), scores: IndexMap::default(), bytes: 0 };
        self.iter().for_each(|member| ranked.insert(member.clone(), None));
        *self = Self::Large(Box::new(ranked));
    }

    /// Takes so many out, of the lowest or of the highest.
    pub fn pop(&mut self, count: usize, is_highest: bool) -> Vec<Member> {
        let popped: Vec<Member> = if is_highest {
            self.iter().rev().take(count).cloned().collect()
        } else {
            self.iter().take(count).cloned().collect()
        };
        for member in &popped {
            self.remove(&member.name);
        }
        popped
    }

    /// Tells the score that it had.
    pub fn remove(&mut self, name: &[u8]) -> Option<f64> {
        let score = self.score(name)?;
        match self {
            Self::Small(members) => {
                members.retain(|member| *member.name != *name);
            }
            Self::Large(ranked) => {
                ranked.order.remove(&Member::new(score, name));
                ranked.scores.swap_remove(name);
                ranked.bytes -= PLACE + name_memory(name);
            }
        }
        Some(score)
    }
}

impl Ranked {
    fn insert(&mut self, member: Member, before: Option<f64>) {
        if let Some(before) = before {
            self.order.remove(&Member { score: before, name: Rc::clone(&member.name) });
        } else {
            self.bytes += PLACE + name_memory(&member.name);
        }
        self.scores.insert(Rc::clone(&member.name), member.score);
        self.order.insert(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;

    #[test]
    fn members_and_ranks_are_those_of_a_vector_in_order() {
        for (most, steps) in [(50, 2000), (100_000, 20_000)] {
            let (mut set, mut vector) = (SortedSet::default(), Vec::<Member>::new());
            for step in 0..steps {
                let name = format!("member:{}", random() % 3000).into_bytes();
                let score = (random() % 50) as f64 - 10.0;
                let at = vector.iter().position(|member| *member.name == *name);
                let before = at.map(|at| vector.remove(at).score);
                if random().is_multiple_of(3) || vector.len() >= most {
                    assert_eq!(set.remove(&name), before);
                } else {
                    assert_eq!(set.insert(&name, score, &Encodings::default()), before);
                    let member = Member::new(score, &name);
                    vector.insert(vector.partition_point(|other| *other < member), member);
                }
                let bound = Member::new(score, b"member:5");
                assert_eq!(set.rank_of(&bound), vector.partition_point(|other| *other < bound));
                let from = random() as usize % (vector.len() + 1);
                let to = (from + random() as usize % 600).min(vector.len());
                if step % 20 == 0 {
                    assert!(set.range(from..to).eq(&vector[from..to]), "{from}..{to}");
                    assert!(set.range(from..to).rev().eq(vector[from..to].iter().rev()), "{from}..{to}");
                    assert!(set.iter().eq(&vector));
                }
            }
        }
    }
}
