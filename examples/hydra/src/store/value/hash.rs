//! Hashes: fields with values.

use crate::store::entry::{Entry, Form};
use crate::store::value::packed::Packed;
use crate::store::value::{Elements, Encodings, Kind, Value, allocation};
use foldhash::fast::RandomState;
use indexmap::IndexMap;

/// What a field takes in the table, besides its own allocations.
const PLACE: usize = 64;

#[derive(Clone, Copy)]
pub enum Hash<'a> {
    /// A field, its value, the next field, and so on.
    Small(Packed<'a>),
    Large(&'a Fields),
}

#[derive(Default)]
pub struct Fields {
    values: IndexMap<Box<[u8]>, Box<[u8]>, RandomState>,
    bytes: usize,
}

/// A hash, for changes.
pub struct HashMut<'a>(&'a mut Entry);

impl Elements for Hash<'_> {
    const KIND: Kind = Kind::Hash;
    type View<'a> = Hash<'a>;
    type Mut<'a> = HashMut<'a>;

    fn view(entry: &Entry) -> Option<Hash<'_>> {
        match entry.form(Kind::Hash)? {
            Form::Small(packed) => Some(Hash::Small(packed)),
            Form::Large(Value::Hash(fields)) => Some(Hash::Large(fields)),
            Form::Large(_) => None,
        }
    }

    fn edit(entry: &mut Entry) -> HashMut<'_> {
        HashMut(entry)
    }

    fn length(of: Hash<'_>) -> usize {
        of.len()
    }
}

impl<'a> Hash<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::Small(packed) => packed.len() / 2,
            Self::Large(fields) => fields.values.len(),
        }
    }

    pub fn is_small(self) -> bool {
        matches!(self, Self::Small(_))
    }

    pub fn get(self, field: &[u8]) -> Option<&'a [u8]> {
        match self {
            Self::Small(packed) => packed.find(field, 2).map(|at| packed.at(packed.at(at).1).0),
            Self::Large(fields) => fields.values.get(field).map(Box::as_ref),
        }
    }

    /// The field at a place, in no particular order; the place exists.
    pub fn at(self, place: usize) -> (&'a [u8], &'a [u8]) {
        match self {
            Self::Small(packed) => packed.pairs_of(place..place + 1).next().unwrap_or_default(),
            Self::Large(fields) => {
                fields.values.get_index(place).map_or((&[], &[]), |(field, value)| (field, value))
            }
        }
    }

    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let (small, large) = match self {
            Self::Small(packed) => (Some(packed), None),
            Self::Large(fields) => (None, Some(&fields.values)),
        };
        let large = large.into_iter().flatten().map(|(field, value)| (&**field, &**value));
        small.into_iter().flat_map(Packed::pairs).chain(large)
    }
}

impl Fields {
    pub fn memory(&self) -> usize {
        allocation(size_of::<Self>()) + self.bytes
    }

    fn memory_of(field: &[u8], value: &[u8]) -> usize {
        PLACE + allocation(field.len()) + allocation(value.len())
    }

    fn set(&mut self, field: &[u8], value: &[u8]) -> bool {
        self.bytes += Self::memory_of(field, value);
        if let Some(before) = self.values.get_mut(field) {
            self.bytes -= Self::memory_of(field, before);
            *before = value.into();
            return false;
        }
        self.values.insert(field.into(), value.into());
        true
    }

    fn remove(&mut self, field: &[u8]) -> bool {
        let removed = self.values.swap_remove_entry(field);
        if let Some((field, value)) = &removed {
            self.bytes -= Self::memory_of(field, value);
        }
        removed.is_some()
    }
}

impl HashMut<'_> {
    /// Gives a field a value; returns whether it is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], encodings: &Encodings) -> bool {
        if let Some(mut packed) = self.0.packed_mut() {
            let view = packed.view();
            let is_short = field.len().max(value.len()) <= encodings.hash_value;
            match view.find(field, 2) {
                Some(at) if is_short => {
                    let at = view.at(at).1;
                    packed.replace_at(at, value);
                    return false;
                }
                None if is_short && view.len() / 2 < encodings.hash_entries && view.has_room_for(2) => {
                    packed.push(&[field, value]);
                    return true;
                }
                _ => self.grow(),
            }
        }
        match self.0.large_mut() {
            Some(Value::Hash(fields)) => fields.set(field, value),
            _ => false,
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut fields = Fields::default();
        for (field, value) in Hash::view(self.0).into_iter().flat_map(Hash::iter) {
            fields.set(field, value);
        }
        self.0.grow(Value::Hash(Box::new(fields)));
    }

    /// Returns whether the field was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        if let Some(mut packed) = self.0.packed_mut() {
            let found = packed.view().find(field, 2);
            if let Some(at) = found {
                packed.remove_at(at, 2);
            }
            return found.is_some();
        }
        match self.0.large_mut() {
            Some(Value::Hash(fields)) => fields.remove(field),
            _ => false,
        }
    }
}
