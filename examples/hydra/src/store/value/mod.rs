//! Values of all types, except for short strings, which are part of their entries.

mod chunks;
pub mod hash;
pub mod list;
mod numbers;
pub mod packed;
pub mod packed_mut;
mod ranked;
pub mod set;
pub mod sorted;

use crate::store::entry::Entry;
use chunks::Chunks;
use gossamer::NoRef;
use hash::{Fields, Hash};
use list::{End, List};
use ranked::Ranked;
use set::{Members, Set};
use sorted::SortedSet;

/// A value in an allocation of its own. Small ones are packed in their entries.
pub enum Value {
    String(Vec<u8>),
    List(Box<Chunks>),
    Set(Box<Members>),
    SortedSet(Box<Ranked>),
    Hash(Box<Fields>),
}

/// How large values may be that have the small form, by redis's names of the settings.
#[derive(NoRef, Clone, Copy, Debug, PartialEq)]
pub struct Encodings {
    /// The most elements of a chunk of a list; if negative, how long a chunk may be.
    pub list_chunk: i64,
    pub hash_entries: usize,
    pub hash_value: usize,
    pub set_numbers: usize,
    pub set_entries: usize,
    pub set_value: usize,
    pub sorted_entries: usize,
    pub sorted_value: usize,
}

impl Default for Encodings {
    fn default() -> Self {
        Self {
            list_chunk: -2,
            hash_entries: 512,
            hash_value: 64,
            set_numbers: 512,
            set_entries: 128,
            set_value: 64,
            sorted_entries: 128,
            sorted_value: 64,
        }
    }
}

/// The bytes of an allocation, with an allocator that adds a word to each.
pub fn allocation(length: usize) -> usize {
    (length + 8).next_multiple_of(16).max(32)
}

/// A type of values that has elements.
pub trait Elements {
    const KIND: Kind;
    /// Its elements.
    type View<'a>;
    /// Its elements, for changes.
    type Mut<'a>;

    /// The elements of an entry, if it has this type.
    fn view(entry: &Entry) -> Option<Self::View<'_>>;
    /// The elements of an entry that has this type.
    fn edit(entry: &mut Entry) -> Self::Mut<'_>;
    fn length(of: Self::View<'_>) -> usize;
}

/// The types, by their numbers in snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum Kind {
    String,
    List,
    Set,
    SortedSet,
    Hash,
}

impl Kind {
    const ALL: [Self; 5] = [Self::String, Self::List, Self::Set, Self::SortedSet, Self::Hash];

    pub fn name(self) -> &'static str {
        ["string", "list", "set", "zset", "hash"][self as usize]
    }

    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| name.eq_ignore_ascii_case(kind.name().as_bytes()))
    }

    pub fn decode(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl Value {
    pub fn kind(&self) -> Kind {
        match self {
            Self::String(_) => Kind::String,
            Self::List(_) => Kind::List,
            Self::Set(_) => Kind::Set,
            Self::SortedSet(_) => Kind::SortedSet,
            Self::Hash(_) => Kind::Hash,
        }
    }

    /// Bytes of its allocations.
    pub fn memory(&self) -> usize {
        match self {
            Self::String(string) => allocation(string.capacity()),
            Self::List(chunks) => chunks.memory(),
            Self::Set(members) => members.memory(),
            Self::SortedSet(ranked) => ranked.memory(),
            Self::Hash(fields) => fields.memory(),
        }
    }
}

/// Redis's name for the form that a value has, unless it is a string.
pub fn encoding(entry: &Entry) -> &'static str {
    match (entry.kind(), entry.is_small()) {
        (Kind::String, true) => "embstr",
        (Kind::String, false) => "raw",
        (Kind::Set, true) if entry.has_numbers() => "intset",
        (_, true) => "listpack",
        (Kind::List, false) => "quicklist",
        (Kind::SortedSet, false) => "skiplist",
        (Kind::Set | Kind::Hash, false) => "hashtable",
    }
}

/// The form in snapshots, and between shards: for types with elements, each element comes after its length, and scores
/// come before their members.
pub fn encode(entry: &Entry, to: &mut Vec<u8>) {
    match entry.kind() {
        Kind::String => to.extend_from_slice(entry.string().unwrap_or_default()),
        Kind::List => {
            List::view(entry).into_iter().flat_map(List::iter).for_each(|element| write(to, element));
        }
        Kind::Set => Set::view(entry).into_iter().flat_map(Set::iter).for_each(|member| write(to, &member)),
        Kind::SortedSet => {
            for member in SortedSet::view(entry).into_iter().flat_map(SortedSet::iter) {
                to.extend_from_slice(&member.score.to_le_bytes());
                write(to, member.name);
            }
        }
        Kind::Hash => {
            for (field, value) in Hash::view(entry).into_iter().flat_map(Hash::iter) {
                write(to, field);
                write(to, value);
            }
        }
    }
}

/// The entry of an encoded value; nothing if that is cut off.
pub fn decode(
    key: &[u8],
    kind: Kind,
    mut bytes: &[u8],
    expiry: Option<u64>,
    encodings: &Encodings,
) -> Option<Entry> {
    if kind == Kind::String {
        return Some(Entry::new(key, bytes, expiry));
    }
    let mut entry = Entry::empty(key, kind, expiry);
    while !bytes.is_empty() {
        match kind {
            Kind::String => {}
            Kind::List => List::edit(&mut entry).push(End::Right, read(&mut bytes)?, encodings),
            Kind::Set => {
                Set::edit(&mut entry).insert(read(&mut bytes)?, encodings);
            }
            Kind::SortedSet => {
                let (score, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                let name = read(&mut bytes)?;
                SortedSet::edit(&mut entry).insert(name, f64::from_le_bytes(*score), encodings);
            }
            Kind::Hash => {
                let (field, value) = (read(&mut bytes)?, read(&mut bytes)?);
                Hash::edit(&mut entry).set(field, value, encodings);
            }
        }
    }
    Some(entry)
}

/// Writes a string after its length.
pub fn write(to: &mut Vec<u8>, string: &[u8]) {
    to.extend_from_slice(&(string.len() as u32).to_le_bytes());
    to.extend_from_slice(string);
}

/// Reads a string that comes after its length, and moves past it.
pub fn read<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (string, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(string)
}
