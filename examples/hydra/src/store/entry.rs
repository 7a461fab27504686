//! A key with its value: one allocation for small ones.

use crate::protocol::refusal::{Refusal, WRONG_TYPE};
use crate::store::value::packed::Packed;
use crate::store::value::packed_mut::{PackedMut, memory_after};
use crate::store::value::{Kind, Value, allocation};
use std::hint::black_box;

/// Longer strings have an allocation of their own, which grows as they are appended to.
const LARGEST_PACKED: usize = 1024;

const HAS_EXPIRY: u8 = 1;
const HAS_LONG_KEY: u8 = 2;
/// The elements are integers.
const HAS_NUMBERS: u8 = 4;
/// Where the flags have the type of the value.
const KIND: u32 = 3;
/// Flags, and when or how often the entry was used.
const FIXED: usize = 4;

/// A key, its value, when it expires, and how it was used: 16 bytes, and in another piece the bytes of key and value,
/// and 5 more.
pub enum Entry {
    /// Flags, use (3 bytes), the key's length (1 byte, or 4), when it expires (8 bytes, or none), the key, and the
    /// value: a string, or a few elements.
    Packed(Box<[u8]>),
    Boxed(Box<Boxed>),
}

/// An entry with a long string, or with many elements.
pub struct Boxed {
    key: Box<[u8]>,
    value: Value,
    expiry: Option<u64>,
    usage: u32,
}

/// The value of an entry that has elements.
pub enum Form<'a> {
    Small(Packed<'a>),
    Large(&'a Value),
}

/// What comes before a value, with room for this many bytes of the value.
fn head(key: &[u8], expiry: Option<u64>, flags: u8, value: usize) -> Vec<u8> {
    let is_long = key.len() > usize::from(u8::MAX);
    let length = FIXED + if is_long { 4 } else { 1 } + if expiry.is_some() { 8 } else { 0 } + key.len();
    let mut packed = Vec::with_capacity(length + value);
    let own = (u8::from(expiry.is_some()) * HAS_EXPIRY) | (u8::from(is_long) * HAS_LONG_KEY);
    packed.extend_from_slice(&[flags | own, 0, 0, 0]);
    if is_long {
        packed.extend_from_slice(&(key.len() as u32).to_le_bytes());
    } else {
        packed.push(key.len() as u8);
    }
    if let Some(expiry) = expiry {
        packed.extend_from_slice(&expiry.to_le_bytes());
    }
    packed.extend_from_slice(key);
    packed
}

impl Entry {
    pub fn new(key: &[u8], value: &[u8], expiry: Option<u64>) -> Self {
        if value.len() > LARGEST_PACKED {
            let value = Value::String(value.to_vec());
            return Self::Boxed(Box::new(Boxed { key: key.into(), value, expiry, usage: 0 }));
        }
        let mut packed = head(key, expiry, 0, value.len());
        packed.extend_from_slice(value);
        Self::Packed(packed.into_boxed_slice())
    }

    /// As `new`, without an expiry: a long string is not copied.
    pub fn of_string(key: &[u8], mut string: Vec<u8>) -> Self {
        if string.len() <= LARGEST_PACKED {
            return Self::new(key, &string, None);
        }
        string.shrink_to_fit();
        Self::Boxed(Box::new(Boxed { key: key.into(), value: Value::String(string), expiry: None, usage: 0 }))
    }

    /// It has no elements yet.
    pub fn empty(key: &[u8], kind: Kind, expiry: Option<u64>) -> Self {
        Self::Packed(memory_after(head(key, expiry, (kind as u8) << KIND, 0)))
    }

    /// Gives it a value that does not fit in its allocation.
    pub fn grow(&mut self, value: Value) {
        *self = Self::Boxed(Box::new(Boxed {
            key: self.key().into(),
            value,
            expiry: self.expiry(),
            usage: self.usage(),
        }));
    }

    /// Where the key begins, and where the value begins.
    #[inline]
    fn places(packed: &[u8]) -> (usize, usize) {
        let (length, at) = if packed[0] & HAS_LONG_KEY == 0 {
            (usize::from(packed[FIXED]), FIXED + 1)
        } else {
            let length = [packed[FIXED], packed[FIXED + 1], packed[FIXED + 2], packed[FIXED + 3]];
            (u32::from_le_bytes(length) as usize, FIXED + 4)
        };
        let at = at + usize::from(packed[0] & HAS_EXPIRY) * 8;
        (at, at + length)
    }

    /// Reads where its bytes are.
    #[inline]
    pub fn fetch(&self) {
        black_box(self.is_small());
    }

    /// Reads the first and the last of its bytes, which may be on two lines.
    #[inline]
    pub fn fetch_ends(&self) {
        match self {
            Self::Packed(packed) => _ = black_box(packed[0] ^ packed[packed.len() - 1]),
            Self::Boxed(boxed) => _ = black_box(boxed.usage),
        }
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Packed(packed) => {
                let (key, value) = Self::places(packed);
                &packed[key..value]
            }
            Self::Boxed(boxed) => &boxed.key,
        }
    }

    /// Its value, if that is a string.
    #[inline]
    pub fn string(&self) -> Result<&[u8], Refusal> {
        match self {
            Self::Packed(packed) if packed[0] >> KIND != Kind::String as u8 => Err(WRONG_TYPE),
            Self::Packed(packed) => Ok(&packed[Self::places(packed).1..]),
            Self::Boxed(boxed) => match &boxed.value {
                Value::String(string) => Ok(string),
                _ => Err(WRONG_TYPE),
            },
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Packed(packed) => Kind::decode(packed[0] >> KIND).unwrap_or(Kind::String),
            Self::Boxed(boxed) => boxed.value.kind(),
        }
    }

    /// Whether its value is stored beside its key.
    pub fn is_small(&self) -> bool {
        matches!(self, Self::Packed(_))
    }

    /// Its elements, if it is of this type.
    #[inline]
    pub fn form(&self, kind: Kind) -> Option<Form<'_>> {
        match self {
            Self::Packed(packed) if packed[0] >> KIND == kind as u8 => {
                Some(Form::Small(Packed::of(packed, Self::places(packed).1)))
            }
            Self::Packed(_) => None,
            Self::Boxed(boxed) => Some(Form::Large(&boxed.value)),
        }
    }

    /// Its elements, if there are few.
    #[inline]
    pub fn packed_mut(&mut self) -> Option<PackedMut<'_>> {
        match self {
            Self::Packed(packed) => {
                let start = Self::places(packed).1;
                Some(PackedMut::of(packed, start))
            }
            Self::Boxed(_) => None,
        }
    }

    /// Its value, if that is not stored beside its key.
    pub fn large_mut(&mut self) -> Option<&mut Value> {
        match self {
            Self::Packed(_) => None,
            Self::Boxed(boxed) => Some(&mut boxed.value),
        }
    }

    /// Whether its elements are packed as integers.
    pub fn has_numbers(&self) -> bool {
        matches!(self, Self::Packed(packed) if packed[0] & HAS_NUMBERS != 0)
    }

    /// Marks its elements as packed integers; at present there are none.
    pub fn set_numbers(&mut self, has_numbers: bool) {
        if let Self::Packed(packed) = self {
            packed[0] = packed[0] & !HAS_NUMBERS | if has_numbers { HAS_NUMBERS } else { 0 };
        }
    }

    /// When it expires, in milliseconds since 1970.
    #[inline]
    pub fn expiry(&self) -> Option<u64> {
        match self {
            Self::Packed(packed) if packed[0] & HAS_EXPIRY == 0 => None,
            Self::Packed(packed) => {
                let at = Self::places(packed).0 - 8;
                packed[at..at + 8].try_into().ok().map(u64::from_le_bytes)
            }
            Self::Boxed(boxed) => boxed.expiry,
        }
    }

    /// Three bytes that eviction uses.
    pub fn usage(&self) -> u32 {
        match self {
            Self::Packed(packed) => u32::from_le_bytes([packed[1], packed[2], packed[3], 0]),
            Self::Boxed(boxed) => boxed.usage,
        }
    }

    pub fn set_usage(&mut self, usage: u32) {
        match self {
            Self::Packed(packed) => packed[1..FIXED].copy_from_slice(&usage.to_le_bytes()[..3]),
            Self::Boxed(boxed) => boxed.usage = usage & 0xff_ffff,
        }
    }

    /// Changes value and expiry.
    pub fn replace(&mut self, value: &[u8], expiry: Option<u64>) {
        let usage = self.usage();
        match self {
            Self::Packed(packed)
                if packed[0] >> KIND == Kind::String as u8
                    && packed.len() - Self::places(packed).1 == value.len()
                    && has_room(packed, expiry) =>
            {
                let (key, at) = Self::places(packed);
                packed[at..].copy_from_slice(value);
                if let Some(expiry) = expiry {
                    packed[key - 8..key].copy_from_slice(&expiry.to_le_bytes());
                }
            }
            Self::Boxed(boxed) if value.len() > LARGEST_PACKED => {
                if let Value::String(string) = &mut boxed.value {
                    string.clear();
                    string.shrink_to(2 * value.len());
                    string.extend_from_slice(value);
                } else {
                    boxed.value = Value::String(value.to_vec());
                }
                boxed.expiry = expiry;
            }
            _ => {
                let entry = Self::new(self.key(), value, expiry);
                *self = entry;
                self.set_usage(usage);
            }
        }
    }

    pub fn set_expiry(&mut self, expiry: Option<u64>) {
        match (self, expiry) {
            (Self::Boxed(boxed), expiry) => boxed.expiry = expiry,
            (Self::Packed(packed), Some(expiry)) if packed[0] & HAS_EXPIRY != 0 => {
                let key = Self::places(packed).0;
                packed[key - 8..key].copy_from_slice(&expiry.to_le_bytes());
            }
            (Self::Packed(packed), expiry) => {
                let (from, to) = Self::places(packed);
                let flags = packed[0] & !(HAS_EXPIRY | HAS_LONG_KEY);
                let mut other = head(&packed[from..to], expiry, flags, packed.len() - to);
                other[1..FIXED].copy_from_slice(&packed[1..FIXED]);
                other.extend_from_slice(&packed[to..]);
                *packed = other.into_boxed_slice();
            }
        }
    }

    /// Extends a string with zeros if it is shorter than this, and returns it for changes in place; nothing if the
    /// value has another type.
    pub fn string_of_length(&mut self, length: usize) -> &mut [u8] {
        if self.string().is_err() {
            return &mut [];
        }
        if let Self::Packed(packed) = self {
            let at = Self::places(packed).1;
            if packed.len() - at < length {
                let (mut longer, usage) = (packed[at..].to_vec(), self.usage());
                longer.resize(length, 0);
                *self = Self::new(self.key(), &longer, self.expiry());
                self.set_usage(usage);
            }
        }
        match self {
            Self::Packed(packed) => {
                let at = Self::places(packed).1;
                &mut packed[at..]
            }
            Self::Boxed(boxed) => match &mut boxed.value {
                Value::String(string) => {
                    string.resize(string.len().max(length), 0);
                    string
                }
                _ => &mut [],
            },
        }
    }

    /// Bytes of memory besides the entry itself, with an allocator that adds a word to each allocation.
    #[inline]
    pub fn memory(&self) -> usize {
        match self {
            Self::Packed(packed) => allocation(packed.len()),
            Self::Boxed(boxed) => {
                allocation(size_of::<Boxed>()) + allocation(boxed.key.len()) + boxed.value.memory()
            }
        }
    }
}

/// Whether there is room for an expiry exactly when one is needed.
fn has_room(packed: &[u8], expiry: Option<u64>) -> bool {
    (packed[0] & HAS_EXPIRY != 0) == expiry.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_what_was_put_in_whatever_it_was_before() {
        assert_eq!(size_of::<Entry>(), 16);
        let lengths = [0, 1, 255, 256, 1000, LARGEST_PACKED, LARGEST_PACKED + 1, 5000];
        for key in [0, 1, 255, 256, 70_000] {
            let key = vec![7; key];
            for before in lengths {
                for after in lengths {
                    for (first, second) in
                        [(None, None), (None, Some(9)), (Some(8), None), (Some(8), Some(9))]
                    {
                        let mut entry = Entry::new(&key, &vec![1; before], first);
                        assert_eq!(
                            (entry.string().unwrap_or_default(), entry.expiry()),
                            (&vec![1; before][..], first)
                        );
                        entry.set_usage(0xab_cdef);
                        entry.replace(&vec![2; after], second);
                        assert_eq!(
                            (entry.key(), entry.string().unwrap_or_default()),
                            (&key[..], &vec![2; after][..])
                        );
                        assert_eq!((entry.expiry(), entry.usage()), (second, 0xab_cdef));
                        entry.set_expiry(first);
                        assert_eq!(
                            (entry.string().unwrap_or_default().len(), entry.expiry(), entry.usage()),
                            (after, first, 0xab_cdef)
                        );
                        let longer = entry.string_of_length(after + 3).to_vec();
                        assert_eq!(longer, [vec![2; after], vec![0; 3]].concat());
                        assert_eq!((entry.key(), entry.expiry()), (&key[..], first));
                    }
                }
            }
        }
    }
}
