//! Large sorted sets: a tree that knows the number of members in each of its nodes finds ranks, a table finds scores.

use crate::store::value::allocation;
use crate::store::value::sorted::Member;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexset::BTreeSet;
use std::cmp::Ordering;
use std::ops::Range;
use std::rc::Rc;

/// Members of a node of the tree: at most this many move when one is inserted.
const NODE: usize = 256;
/// What a member takes in both structures, besides its own allocation.
const PLACE: usize = 80;

/// A member, whose name the tree and the table share.
#[derive(Clone, Debug)]
struct Shared {
    score: f64,
    name: Rc<[u8]>,
}

impl Shared {
    fn new(member: Member<'_>) -> Self {
        Self { score: member.score, name: member.name.into() }
    }

    fn member(&self) -> Member<'_> {
        Member { score: self.score, name: &self.name }
    }
}

impl Ord for Shared {
    fn cmp(&self, other: &Self) -> Ordering {
        self.member().cmp(&other.member())
    }
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Shared {}

pub struct Ranked {
    order: BTreeSet<Shared>,
    scores: IndexMap<Rc<[u8]>, f64, RandomState>,
    bytes: usize,
}

impl Default for Ranked {
    fn default() -> Self {
        Self { order: BTreeSet::with_maximum_node_size(NODE), scores: IndexMap::default(), bytes: 0 }
    }
}

fn name_memory(name: &[u8]) -> usize {
    // It counts its owners.
    allocation(16 + name.len())
}

impl Ranked {
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    pub fn memory(&self) -> usize {
        allocation(size_of::<Self>()) + NODE * size_of::<Shared>() + self.bytes
    }

    pub fn score(&self, name: &[u8]) -> Option<f64> {
        self.scores.get(name).copied()
    }

    pub fn rank_of(&self, bound: Member<'_>) -> usize {
        self.order.rank(&Shared::new(bound))
    }

    pub fn count_while(&self, is_before: impl Fn(Member<'_>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.order.get_index(middle).is_some_and(|shared| is_before(shared.member())) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub fn range(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = Member<'_>> {
        self.order.range_idx(ranks).map(Shared::member)
    }

    /// The member at a place in the table; the place exists.
    pub fn at(&self, place: usize) -> Member<'_> {
        let found = self.scores.get_index(place);
        found.map_or(Member { score: 0.0, name: &[] }, |(name, score)| Member { score: *score, name })
    }

    /// Inserts a member; if it was there, it had this score.
    pub fn insert(&mut self, member: Member<'_>, before: Option<f64>) {
        let member = Shared::new(member);
        if let Some(before) = before {
            self.order.remove(&Shared { score: before, name: Rc::clone(&member.name) });
        } else {
            self.bytes += PLACE + name_memory(&member.name);
        }
        self.scores.insert(Rc::clone(&member.name), member.score);
        self.order.insert(member);
    }

    /// Returns whether it was there.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let Some((name, score)) = self.scores.swap_remove_entry(name) else { return false };
        self.bytes -= PLACE + name_memory(&name);
        self.order.remove(&Shared { score, name });
        true
    }
}
