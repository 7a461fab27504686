//! Sets: integers in order while there are few and nothing else, or any strings.

use crate::protocol::number;
use crate::store::value::{Encodings, allocation};
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use std::borrow::Cow;

/// What a member takes in the table, besides its own allocation.
const PLACE: usize = 40;

pub enum Set {
    Numbers(Vec<i64>),
    Strings(Box<Members>),
}

#[derive(Default)]
pub struct Members {
    members: IndexSet<Box<[u8]>, RandomState>,
    bytes: usize,
}

impl Default for Set {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

impl Set {
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Strings(members) => members.members.len(),
        }
    }

    pub fn memory(&self) -> usize {
        match self {
            Self::Numbers(numbers) => allocation(size_of::<i64>() * numbers.capacity()),
            Self::Strings(members) => allocation(size_of::<Members>()) + members.bytes,
        }
    }

    pub fn is_small(&self) -> bool {
        matches!(self, Self::Numbers(_))
    }

    pub fn contains(&self, member: &[u8]) -> bool {
        match self {
            Self::Numbers(numbers) => {
                number::parse(member).is_some_and(|number| numbers.binary_search(&number).is_ok())
            }
            Self::Strings(members) => members.members.contains(member),
        }
    }

    /// The member of a place, in no order; the place is there.
    pub fn at(&self, place: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Numbers(numbers) => number::text(numbers[place]).into(),
            Self::Strings(members) => Cow::Borrowed(&members.members[place]),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        (0..self.len()).map(|place| self.at(place))
    }

    /// Tells whether it is new.
    pub fn insert(&mut self, member: &[u8], encodings: &Encodings) -> bool {
        if let Self::Numbers(numbers) = self {
            match number::parse(member).map(|number| (number, numbers.binary_search(&number))) {
                Some((_, Ok(_))) => return false,
                Some((number, Err(place))) if numbers.len() < encodings.set_numbers => {
                    numbers.insert(place, number);
                    return true;
                }
                _ => self.grow(),
            }
        }
        let Self::Strings(members) = self else { return false };
        if members.members.contains(member) {
            return false;
        }
        members.bytes += PLACE + allocation(member.len());
        members.members.insert(member.into())
    }

    fn grow(&mut self) {
        let mut members = Members::default();
        for member in self.iter() {
            members.bytes += PLACE + allocation(member.len());
            members.members.insert(member.into());
        }
        *self = Self::Strings(Box::new(members));
    }

    /// Tells whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match self {
            Self::Numbers(numbers) => {
                let place = number::parse(member).and_then(|number| numbers.binary_search(&number).ok());
                place.map(|place| numbers.remove(place)).is_some()
            }
            Self::Strings(members) => {
                let is_removed = members.members.swap_remove(member);
                members.bytes -= if is_removed { PLACE + allocation(member.len()) } else { 0 };
                is_removed
            }
        }
    }
}
