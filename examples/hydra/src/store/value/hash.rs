//! Hashes: fields with values.

use crate::store::value::packed::Packed;
use crate::store::value::{Encodings, allocation};
use foldhash::fast::RandomState;
use indexmap::IndexMap;

/// What a field takes in the table, besides its own allocations.
const PLACE: usize = 64;

pub enum Hash {
    /// A field, its value, the next field, and so on.
    Small(Packed),
    Large(Box<Fields>),
}

#[derive(Default)]
pub struct Fields {
    values: IndexMap<Box<[u8]>, Box<[u8]>, RandomState>,
    bytes: usize,
}

impl Default for Hash {
    fn default() -> Self {
        Self::Small(Packed::default())
    }
}

fn memory_of(field: &[u8], value: &[u8]) -> usize {
    PLACE + allocation(field.len()) + allocation(value.len())
}

impl Hash {
    pub fn len(&self) -> usize {
        match self {
            Self::Small(packed) => packed.len() / 2,
            Self::Large(fields) => fields.values.len(),
        }
    }

    pub fn memory(&self) -> usize {
        match self {
            Self::Small(packed) => allocation(packed.capacity()),
            Self::Large(fields) => allocation(size_of::<Fields>()) + fields.bytes,
        }
    }

    pub fn is_small(&self) -> bool {
        matches!(self, Self::Small(_))
    }

    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Small(_) => self.iter().find(|(other, _)| *other == field).map(|(_, value)| value),
            Self::Large(fields) => fields.values.get(field).map(Box::as_ref),
        }
    }

    /// The field of a place, in no order; the place is there.
    pub fn at(&self, place: usize) -> (&[u8], &[u8]) {
        match self {
            Self::Small(packed) => {
                let mut rest = packed.iter_from(2 * place);
                (rest.next().unwrap_or_default(), rest.next().unwrap_or_default())
            }
            Self::Large(fields) => {
                fields.values.get_index(place).map_or((&[], &[]), |(field, value)| (field, value))
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let (small, large) = match self {
            Self::Small(packed) => (Some(packed), None),
            Self::Large(fields) => (None, Some(&fields.values)),
        };
        let small = small.into_iter().flat_map(|packed| {
            let mut strings = packed.iter();
            std::iter::from_fn(move || strings.next().zip(strings.next()))
        });
        small.chain(large.into_iter().flatten().map(|(field, value)| (&**field, &**value)))
    }

    /// Gives a field a value; tells whether it is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], encodings: &Encodings) -> bool {
        let is_long = field.len().max(value.len()) > encodings.hash_value;
        if let Self::Small(packed) = self {
            let place = packed.iter().step_by(2).position(|other| other == field);
            match place {
                _ if is_long => self.grow(),
                Some(place) => {
                    packed.replace(2 * place + 1, value);
                    return false;
                }
                None if packed.len() / 2 < encodings.hash_entries => {
                    packed.push(field);
                    packed.push(value);
                    return true;
                }
                None => self.grow(),
            }
        }
        let Self::Large(fields) = self else { return false };
        fields.bytes += memory_of(field, value);
        if let Some(before) = fields.values.get_mut(field) {
            fields.bytes -= memory_of(field, before);
            *before = value.into();
            return false;
        }
        fields.values.insert(field.into(), value.into());
        true
    }

    fn grow(&mut self) {
        let mut fields = Fields::default();
        for (field, value) in self.iter() {
            fields.bytes += memory_of(field, value);
            fields.values.insert(field.into(), value.into());
        }
        *self = Self::Large(Box::new(fields));
    }

    /// Tells whether the field was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match self {
            Self::Small(packed) => {
                let place = packed.iter().step_by(2).position(|other| other == field);
                if let Some(place) = place {
                    packed.remove(2 * place, 2);
                }
                place.is_some()
            }
            Self::Large(fields) => {
                let removed = fields.values.swap_remove_entry(field);
                if let Some((field, value)) = &removed {
                    fields.bytes -= memory_of(field, value);
                }
                removed.is_some()
            }
        }
    }
}
