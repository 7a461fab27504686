//! Sets: integers in order, a few short strings, or any members.

use crate::protocol::number;
use crate::store::entry::{Entry, Form};
use crate::store::value::numbers::{self, Numbers};
use crate::store::value::packed::Packed;
use crate::store::value::{Elements, Encodings, Kind, Value, allocation};
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use std::borrow::Cow;

/// What a member takes in the table, besides its own allocation.
const PLACE: usize = 40;

#[derive(Clone, Copy)]
pub enum Set<'a> {
    Numbers(Numbers<'a>),
    Small(Packed<'a>),
    Large(&'a Members),
}

#[derive(Default)]
pub struct Members {
    members: IndexSet<Box<[u8]>, RandomState>,
    bytes: usize,
}

/// A set, for changes.
pub struct SetMut<'a>(&'a mut Entry);

impl Elements for Set<'_> {
    const KIND: Kind = Kind::Set;
    type View<'a> = Set<'a>;
    type Mut<'a> = SetMut<'a>;

    fn view(entry: &Entry) -> Option<Set<'_>> {
        match entry.form(Kind::Set)? {
            Form::Small(packed) if entry.has_numbers() => Some(Set::Numbers(Numbers(packed))),
            Form::Small(packed) => Some(Set::Small(packed)),
            Form::Large(Value::Set(members)) => Some(Set::Large(members)),
            Form::Large(_) => None,
        }
    }

    fn edit(entry: &mut Entry) -> SetMut<'_> {
        SetMut(entry)
    }

    fn length(of: Set<'_>) -> usize {
        of.len()
    }
}

impl<'a> Set<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Small(packed) => packed.len(),
            Self::Large(members) => members.members.len(),
        }
    }

    pub fn is_small(self) -> bool {
        !matches!(self, Self::Large(_))
    }

    pub fn contains(self, member: &[u8]) -> bool {
        match self {
            Self::Numbers(numbers) => {
                number::parse(member).is_some_and(|number| numbers.search(number).is_ok())
            }
            Self::Small(packed) => packed.find(member, 1).is_some(),
            Self::Large(members) => members.members.contains(member),
        }
    }

    /// The member at a place, in no particular order; the place exists.
    pub fn at(self, place: usize) -> Cow<'a, [u8]> {
        match self {
            Self::Numbers(numbers) => number::text(numbers.at(place)).into(),
            Self::Small(packed) => Cow::Borrowed(packed.get(place).unwrap_or_default()),
            Self::Large(members) => Cow::Borrowed(&members.members[place]),
        }
    }

    pub fn iter(self) -> impl Iterator<Item = Cow<'a, [u8]>> {
        let (small, others) = match self {
            Self::Small(packed) => (Some(packed), 0),
            others => (None, others.len()),
        };
        let small = small.into_iter().flat_map(Packed::iter).map(Cow::Borrowed);
        small.chain((0..others).map(move |place| self.at(place)))
    }
}

impl Members {
    pub fn memory(&self) -> usize {
        allocation(size_of::<Self>()) + self.bytes
    }

    fn insert(&mut self, member: &[u8]) -> bool {
        if self.members.contains(member) {
            return false;
        }
        self.bytes += PLACE + allocation(member.len());
        self.members.insert(member.into())
    }

    fn remove(&mut self, member: &[u8]) -> bool {
        let is_removed = self.members.swap_remove(member);
        self.bytes -= if is_removed { PLACE + allocation(member.len()) } else { 0 };
        is_removed
    }
}

impl SetMut<'_> {
    pub fn view(&self) -> Set<'_> {
        Set::view(self.0).unwrap_or(Set::Small(Packed::default()))
    }

    /// Returns whether it is new.
    pub fn insert(&mut self, member: &[u8], encodings: &Encodings) -> bool {
        let set = self.view();
        if set.is_small() {
            if set.contains(member) {
                return false;
            }
            self.make_room(member, encodings);
        }
        let has_numbers = self.0.has_numbers();
        let Some(mut packed) = self.0.packed_mut() else {
            return match self.0.large_mut() {
                Some(Value::Set(members)) => members.insert(member),
                _ => false,
            };
        };
        match number::parse(member).filter(|_| has_numbers) {
            Some(number) => {
                if let Err(place) = Numbers(packed.view()).search(number) {
                    numbers::insert(&mut packed, place, number);
                }
            }
            None => packed.push(&[member]),
        }
        true
    }

    /// Gives a small set a form that has room for one more member, if it does not have one.
    fn make_room(&mut self, member: &[u8], encodings: &Encodings) {
        let (set, is_number) = (self.view(), number::parse(member).is_some());
        let has_room = |most: usize| set.len() < most.min(usize::from(u16::MAX));
        let fits_numbers = is_number && has_room(encodings.set_numbers);
        let fits_strings = member.len() <= encodings.set_value && has_room(encodings.set_entries);
        match set {
            Set::Numbers(_) if fits_numbers => {}
            // As in redis: too many numbers become a table, even if there could be as many strings.
            Set::Numbers(_) if !is_number && fits_strings => self.spell(),
            Set::Small(packed) if packed.is_empty() && fits_numbers => self.0.set_numbers(true),
            Set::Small(_) if fits_strings => {}
            _ => self.grow(),
        }
    }

    /// Turns numbers into strings.
    fn spell(&mut self) {
        let texts: Vec<_> = self.view().iter().map(Cow::into_owned).collect();
        self.0.set_numbers(false);
        if let Some(mut packed) = self.0.packed_mut() {
            packed.set_bytes(&[], 0);
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            packed.push(&texts);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut members = Members::default();
        for member in self.view().iter() {
            members.insert(&member);
        }
        self.0.grow(Value::Set(Box::new(members)));
    }

    /// Returns whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let has_numbers = self.0.has_numbers();
        let Some(mut packed) = self.0.packed_mut() else {
            return match self.0.large_mut() {
                Some(Value::Set(members)) => members.remove(member),
                _ => false,
            };
        };
        if has_numbers {
            let numbers = Numbers(packed.view());
            let place = number::parse(member).and_then(|number| numbers.search(number).ok());
            if let Some(place) = place {
                numbers::remove(&mut packed, place);
            }
            return place.is_some();
        }
        let found = packed.view().find(member, 1);
        if let Some(at) = found {
            packed.remove_at(at, 1);
        }
        found.is_some()
    }
}
