//! Values of all types, except for short strings, which are part of their entries.

pub mod hash;
pub mod list;
mod packed;
pub mod set;
pub mod sorted;

use gossamer::NoRef;
use hash::Hash;
use list::{End, List};
use set::Set;
use sorted::SortedSet;

/// A value in an allocation of its own.
pub enum Value {
    String(Vec<u8>),
    List(List),
    Set(Set),
    SortedSet(SortedSet),
    Hash(Hash),
}

/// Up to where values have the form for small ones, in the words of redis's settings.
#[derive(NoRef, Clone, Copy, Debug, PartialEq)]
pub struct Encodings {
    /// Elements of a chunk of a list at most; how long it is, if it is negative.
    pub list_chunk: i64,
    pub hash_entries: usize,
    pub hash_value: usize,
    pub set_numbers: usize,
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
            sorted_entries: 128,
            sorted_value: 64,
        }
    }
}

/// Bytes that an allocation takes, with an allocator that adds one word to each.
pub fn allocation(length: usize) -> usize {
    (length + 8).next_multiple_of(16).max(32)
}

/// A type of values that has elements.
pub trait Elements: Default {
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    fn wrap(self) -> Value;
    fn length(&self) -> usize;
}

macro_rules! elements {
    ($($name:ident),*) => { $(
        impl Elements for $name {
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$name(own) = value { Some(own) } else { None }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$name(own) = value { Some(own) } else { None }
            }

            fn wrap(self) -> Value {
                Value::$name(self)
            }

            fn length(&self) -> usize {
                self.len()
            }
        }
    )* };
}

elements!(List, Set, SortedSet, Hash);

/// The types, as snapshots have them.
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

    /// Redis's name of the form that it has, unless it is a string.
    pub fn encoding(&self) -> &'static str {
        match self {
            Self::String(_) => "raw",
            Self::List(_) => "quicklist",
            Self::Set(set) => {
                if set.is_small() {
                    "intset"
                } else {
                    "hashtable"
                }
            }
            Self::SortedSet(set) => {
                if set.is_small() {
                    "listpack"
                } else {
                    "skiplist"
                }
            }
            Self::Hash(hash) => {
                if hash.is_small() {
                    "listpack"
                } else {
                    "hashtable"
                }
            }
        }
    }

    /// Bytes of its allocations.
    pub fn memory(&self) -> usize {
        match self {
            Self::String(string) => allocation(string.capacity()),
            Self::List(list) => list.memory(),
            Self::Set(set) => set.memory(),
            Self::SortedSet(set) => set.memory(),
            Self::Hash(hash) => hash.memory(),
        }
    }

    /// The form in snapshots, and between shards: for types with elements, each element with its length before it, and
    /// scores before their members.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::String(string) => to.extend_from_slice(string),
            Self::List(list) => list.iter().for_each(|element| write(to, element)),
            Self::Set(set) => set.iter().for_each(|member| write(to, &member)),
            Self::SortedSet(set) => {
                for member in set.iter() {
                    to.extend_from_slice(&member.score.to_le_bytes());
                    write(to, &member.name);
                }
            }
            Self::Hash(hash) => {
                for (field, value) in hash.iter() {
                    write(to, field);
                    write(to, value);
                }
            }
        }
    }

    /// The value that was encoded; nothing if it is cut off.
    pub fn decode(kind: Kind, mut bytes: &[u8], encodings: &Encodings) -> Option<Self> {
        Some(match kind {
            Kind::String => Self::String(bytes.to_vec()),
            Kind::List => {
                let mut list = List::default();
                while !bytes.is_empty() {
                    list.push(End::Right, read(&mut bytes)?, encodings);
                }
                Self::List(list)
            }
            Kind::Set => {
                let mut set = Set::default();
                while !bytes.is_empty() {
                    set.insert(read(&mut bytes)?, encodings);
                }
                Self::Set(set)
            }
            Kind::SortedSet => {
                let mut set = SortedSet::default();
                while let Some((score, rest)) = bytes.split_first_chunk() {
                    bytes = rest;
                    set.insert(read(&mut bytes)?, f64::from_le_bytes(*score), encodings);
                }
                Self::SortedSet(set)
            }
            Kind::Hash => {
                let mut hash = Hash::default();
                while !bytes.is_empty() {
                    let (field, value) = (read(&mut bytes)?, read(&mut bytes)?);
                    hash.set(field, value, encodings);
                }
                Self::Hash(hash)
            }
        })
    }
}

/// Writes a string with its length before it.
pub fn write(to: &mut Vec<u8>, string: &[u8]) {
    to.extend_from_slice(&(string.len() as u32).to_le_bytes());
    to.extend_from_slice(string);
}

/// Reads a string with its length before it, and moves past it.
pub fn read<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (string, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(string)
}
