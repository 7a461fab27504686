//! Sorted sets: members in order of their scores, and of their names where scores are equal.

use crate::store::entry::{Entry, Form};
use crate::store::value::packed::Packed;
use crate::store::value::packed_mut::PackedMut;
use crate::store::value::ranked::Ranked;
use crate::store::value::{Elements, Encodings, Kind, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// A member with its score, which is never NaN. As in redis, only large sets tell a negative zero from 0, when they are
/// read; both are equal.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub score: f64,
    pub name: &'a [u8],
}

impl<'a> Member<'a> {
    pub fn new(score: f64, name: &'a [u8]) -> Self {
        Self { score, name }
    }
}

impl Ord for Member<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .partial_cmp(&other.score)
            .unwrap_or(Ordering::Equal)
            .then_with(|| self.name.cmp(other.name))
    }
}

impl PartialOrd for Member<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Member<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Member<'_> {}

#[derive(Clone, Copy)]
pub enum SortedSet<'a> {
    /// In order: a name, its score, the next name, and so on.
    Small(Packed<'a>),
    Large(&'a Ranked),
}

/// A sorted set, for changes.
pub struct SortedSetMut<'a>(&'a mut Entry);

impl Elements for SortedSet<'_> {
    const KIND: Kind = Kind::SortedSet;
    type View<'a> = SortedSet<'a>;
    type Mut<'a> = SortedSetMut<'a>;

    fn view(entry: &Entry) -> Option<SortedSet<'_>> {
        match entry.form(Kind::SortedSet)? {
            Form::Small(packed) => Some(SortedSet::Small(packed)),
            Form::Large(Value::SortedSet(ranked)) => Some(SortedSet::Large(ranked)),
            Form::Large(_) => None,
        }
    }

    fn edit(entry: &mut Entry) -> SortedSetMut<'_> {
        SortedSetMut(entry)
    }

    fn length(of: SortedSet<'_>) -> usize {
        of.len()
    }
}

/// The bytes of a score, starting with the highest. Small integers have zeros at the end, which are left out.
struct Score([u8; 8]);

impl Score {
    fn text(&self) -> &[u8] {
        let zeros = self.0.iter().rev().take_while(|byte| **byte == 0).count();
        &self.0[..self.0.len() - zeros]
    }
}

fn score_of(text: &[u8]) -> f64 {
    let mut bytes = [0; 8];
    bytes[..text.len()].copy_from_slice(text);
    f64::from_be_bytes(bytes)
}

fn member<'a>((name, score): (&'a [u8], &'a [u8])) -> Member<'a> {
    Member { score: score_of(score), name }
}

impl<'a> SortedSet<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::Small(packed) => packed.len() / 2,
            Self::Large(ranked) => ranked.len(),
        }
    }

    pub fn is_small(self) -> bool {
        matches!(self, Self::Small(_))
    }

    pub fn score(self, name: &[u8]) -> Option<f64> {
        match self {
            Self::Small(packed) => packed.find(name, 2).map(|at| score_of(packed.at(packed.at(at).1).0)),
            Self::Large(ranked) => ranked.score(name),
        }
    }

    /// How many members come before this one, whether or not it is there.
    pub fn rank_of(self, bound: Member<'_>) -> usize {
        match self {
            Self::Small(_) => self.count_while(|member| member < bound),
            Self::Large(ranked) => ranked.rank_of(bound),
        }
    }

    /// For how many of the first members this is true; it is not true for any after them.
    pub fn count_while(self, is_before: impl Fn(Member<'_>) -> bool) -> usize {
        match self {
            Self::Small(packed) => packed.pairs().take_while(|pair| is_before(member(*pair))).count(),
            Self::Large(ranked) => ranked.count_while(is_before),
        }
    }

    pub fn rank(self, name: &[u8]) -> Option<usize> {
        Some(self.rank_of(Member::new(self.score(name)?, name)))
    }

    /// The members of these ranks, in order.
    pub fn range(self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = Member<'a>> {
        let ranks = ranks.start.min(self.len())..ranks.end.clamp(ranks.start.min(self.len()), self.len());
        let (small, large) = match self {
            Self::Small(packed) => (Some(packed.pairs_of(ranks).map(member)), None),
            Self::Large(ranked) => (None, Some(ranked.range(ranks))),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = Member<'a>> {
        self.range(0..self.len())
    }

    /// The member at a place, in no particular order; the place exists.
    pub fn at(self, place: usize) -> Member<'a> {
        match self {
            Self::Small(packed) => {
                packed.pairs_of(place..place + 1).next().map_or(Member::new(0.0, &[]), member)
            }
            Self::Large(ranked) => ranked.at(place),
        }
    }
}

impl SortedSetMut<'_> {
    pub fn view(&self) -> SortedSet<'_> {
        SortedSet::view(self.0).unwrap_or(SortedSet::Small(Packed::default()))
    }

    /// Gives a member a score; returns the score that it had.
    pub fn insert(&mut self, name: &[u8], score: f64, encodings: &Encodings) -> Option<f64> {
        let before = self.view().score(name);
        self.set(Member::new(score, name), before, encodings);
        before
    }

    /// Gives a member a score; if it is there, it has this score now.
    pub fn set(&mut self, member: Member<'_>, before: Option<f64>, encodings: &Encodings) {
        if before == Some(member.score) {
            return;
        }
        let (set, name) = (self.view(), member.name);
        if let SortedSet::Small(packed) = set {
            let has_room = set.len() < encodings.sorted_entries && packed.has_room_for(2);
            if name.len() > encodings.sorted_value || before.is_none() && !has_room {
                self.grow();
            }
        }
        if let Some(mut packed) = self.0.packed_mut() {
            if let Some(at) = packed.view().find(name, 2).filter(|_| before.is_some()) {
                packed.remove_at(at, 2);
            }
            insert(&mut packed, member);
        } else if let Some(Value::SortedSet(ranked)) = self.0.large_mut() {
            ranked.insert(member, before);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut ranked = Ranked::default();
        self.view().iter().for_each(|member| ranked.insert(member, None));
        self.0.grow(Value::SortedSet(Box::new(ranked)));
    }

    /// Takes out this many of the lowest or of the highest members.
    pub fn pop(&mut self, count: usize, is_highest: bool) -> Vec<(Vec<u8>, f64)> {
        let own = |member: Member<'_>| (member.name.to_vec(), member.score);
        let popped: Vec<_> = if is_highest {
            self.view().iter().rev().take(count).map(own).collect()
        } else {
            self.view().iter().take(count).map(own).collect()
        };
        for (name, _) in &popped {
            self.remove(name);
        }
        popped
    }

    /// Removes the members of these ranks.
    pub fn remove_range(&mut self, ranks: Range<usize>) {
        let names: Vec<_> = self.view().range(ranks).map(|member| member.name.to_vec()).collect();
        for name in names {
            self.remove(&name);
        }
    }

    /// Returns whether it was there.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        if let Some(mut packed) = self.0.packed_mut() {
            let found = packed.view().find(name, 2);
            if let Some(at) = found {
                packed.remove_at(at, 2);
            }
            return found.is_some();
        }
        match self.0.large_mut() {
            Some(Value::SortedSet(ranked)) => ranked.remove(name),
            _ => false,
        }
    }
}

/// Puts a member that is not there in its place.
fn insert(packed: &mut PackedMut<'_>, new: Member<'_>) {
    let view = packed.view();
    let before = view.pairs().take_while(|pair| member(*pair) < new);
    let at = before.map(|(name, score)| Packed::size_of(&[name, score])).sum();
    packed.insert_at(at, &[new.name, Score((new.score + 0.0).to_be_bytes()).text()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;

    fn of(vector: &[(f64, Vec<u8>)]) -> impl DoubleEndedIterator<Item = Member<'_>> {
        vector.iter().map(|(score, name)| Member::new(*score, name))
    }

    #[test]
    fn members_and_ranks_are_those_of_a_vector_in_order() {
        for (most, steps) in [(50, 2000), (100_000, 20_000)] {
            let mut entry = Entry::empty(b"key", Kind::SortedSet, None);
            let mut vector = Vec::<(f64, Vec<u8>)>::new();
            for step in 0..steps {
                let mut set = SortedSet::edit(&mut entry);
                let name = format!("member:{}", random() % 3000).into_bytes();
                let score = (random() % 50) as f64 / if step % 2 == 0 { 1.0 } else { 7.0 } - 10.0;
                let at = vector.iter().position(|(_, other)| *other == name);
                let before = at.map(|at| vector.remove(at).0);
                if random().is_multiple_of(3) || vector.len() >= most {
                    assert_eq!(set.remove(&name), before.is_some());
                } else {
                    assert_eq!(set.insert(&name, score, &Encodings::default()), before);
                    let place = of(&vector).position(|other| other > Member::new(score, &name));
                    vector.insert(place.unwrap_or(vector.len()), (score, name));
                }
                let set = set.view();
                assert_eq!(set.len(), vector.len());
                let bound = Member::new(score, b"member:5");
                assert_eq!(set.rank_of(bound), of(&vector).take_while(|other| *other < bound).count());
                let from = random() as usize % (vector.len() + 1);
                let to = (from + random() as usize % 600).min(vector.len());
                if step % 20 == 0 {
                    assert!(set.range(from..to).eq(of(&vector[from..to])), "{from}..{to}");
                    assert!(set.range(from..to).rev().eq(of(&vector[from..to]).rev()), "{from}..{to}");
                    assert!(set.iter().eq(of(&vector)));
                }
            }
            assert_eq!(SortedSet::view(&entry).is_some_and(SortedSet::is_small), most == 50);
        }
    }
}
