//! A key with its value: one allocation for small ones.

/// Values above this have an allocation of their own, which grows as it is appended to.
const LARGEST_PACKED: usize = 1024;

const HAS_EXPIRY: u8 = 1;
const HAS_LONG_KEY: u8 = 2;
/// Flags, and when or how often the entry was used.
const FIXED: usize = 4;

/// A key, its value, when it expires, and how it was used. 16 bytes, and the bytes of key and value, and 5 more, in one piece.
pub enum Entry {
    /// Flags, use (3 bytes), the key's length (1 byte, or 4), when it expires (8 bytes, or none), the key, the value.
    Packed(Box<[u8]>),
    Large(Box<Large>),
}

/// An entry with a large value.
pub struct Large {
    key: Box<[u8]>,
    value: Vec<u8>,
    expiry: Option<u64>,
    usage: u32,
}

impl Entry {
    pub fn new(key: &[u8], value: &[u8], expiry: Option<u64>) -> Self {
        if value.len() > LARGEST_PACKED {
            return Self::Large(Box::new(Large { key: key.into(), value: value.to_vec(), expiry, usage: 0 }));
        }
        let is_long = key.len() > usize::from(u8::MAX);
        let length = FIXED
            + if is_long { 4 } else { 1 }
            + if expiry.is_some() { 8 } else { 0 }
            + key.len()
            + value.len();
        let mut packed = Vec::with_capacity(length);
        let flags = (u8::from(expiry.is_some()) * HAS_EXPIRY) | (u8::from(is_long) * HAS_LONG_KEY);
        packed.extend_from_slice(&[flags, 0, 0, 0]);
        if is_long {
            packed.extend_from_slice(&(key.len() as u32).to_le_bytes());
        } else {
            packed.push(key.len() as u8);
        }
        if let Some(expiry) = expiry {
            packed.extend_from_slice(&expiry.to_le_bytes());
        }
        packed.extend_from_slice(key);
        packed.extend_from_slice(value);
        Self::Packed(packed.into_boxed_slice())
    }

    /// Where the key begins, and where the value does.
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

    #[inline]
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Packed(packed) => {
                let (key, value) = Self::places(packed);
                &packed[key..value]
            }
            Self::Large(large) => &large.key,
        }
    }

    #[inline]
    pub fn value(&self) -> &[u8] {
        match self {
            Self::Packed(packed) => &packed[Self::places(packed).1..],
            Self::Large(large) => &large.value,
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
            Self::Large(large) => large.expiry,
        }
    }

    /// Three bytes, for whoever evicts.
    pub fn usage(&self) -> u32 {
        match self {
            Self::Packed(packed) => u32::from_le_bytes([packed[1], packed[2], packed[3], 0]),
            Self::Large(large) => large.usage,
        }
    }

    pub fn set_usage(&mut self, usage: u32) {
        match self {
            Self::Packed(packed) => packed[1..FIXED].copy_from_slice(&usage.to_le_bytes()[..3]),
            Self::Large(large) => large.usage = usage & 0xff_ffff,
        }
    }

    /// Another value and another expiry.
    pub fn replace(&mut self, value: &[u8], expiry: Option<u64>) {
        let usage = self.usage();
        match self {
            Self::Packed(packed)
                if packed.len() - Self::places(packed).1 == value.len() && has_room(packed, expiry) =>
            {
                let (key, at) = Self::places(packed);
                packed[at..].copy_from_slice(value);
                if let Some(expiry) = expiry {
                    packed[key - 8..key].copy_from_slice(&expiry.to_le_bytes());
                }
            }
            Self::Large(large) if value.len() > LARGEST_PACKED => {
                large.value.clear();
                large.value.shrink_to(2 * value.len());
                large.value.extend_from_slice(value);
                large.expiry = expiry;
            }
            _ => {
                let entry = Self::new(self.key(), value, expiry);
                *self = entry;
                self.set_usage(usage);
            }
        }
    }

    pub fn set_expiry(&mut self, expiry: Option<u64>) {
        match (&mut *self, expiry) {
            (Self::Large(large), expiry) => large.expiry = expiry,
            (Self::Packed(packed), Some(expiry)) if packed[0] & HAS_EXPIRY != 0 => {
                let key = Self::places(packed).0;
                packed[key - 8..key].copy_from_slice(&expiry.to_le_bytes());
            }
            _ => {
                let usage = self.usage();
                let entry = Self::new(self.key(), self.value(), expiry);
                *self = entry;
                self.set_usage(usage);
            }
        }
    }

    /// Lengthens the value with zeros if it is shorter than this, and gives it to be changed in place.
    pub fn value_of_length(&mut self, length: usize) -> &mut [u8] {
        if self.value().len() < length {
            let usage = self.usage();
            if let Self::Packed(_) = self {
                let mut value = self.value().to_vec();
                value.resize(length, 0);
                *self = Self::new(self.key(), &value, self.expiry());
            } else if let Self::Large(large) = self {
                large.value.resize(length, 0);
            }
            self.set_usage(usage);
        }
        match self {
            Self::Packed(packed) => {
                let at = Self::places(packed).1;
                &mut packed[at..]
            }
            Self::Large(large) => &mut large.value,
        }
    }

    /// Bytes of memory beside the entry itself, as an allocator with a word of its own for each allocation has them.
    #[inline]
    pub fn memory(&self) -> usize {
        let allocation = |length: usize| (length + 8).next_multiple_of(16).max(32);
        match self {
            Self::Packed(packed) => allocation(packed.len()),
            Self::Large(large) => {
                allocation(size_of::<Large>())
                    + allocation(large.key.len())
                    + allocation(large.value.capacity())
            }
        }
    }
}

/// Whether the place for an expiry is there if one is wanted, and is not if none is.
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
                        assert_eq!((entry.value(), entry.expiry()), (&vec![1; before][..], first));
                        entry.set_usage(0xab_cdef);
                        entry.replace(&vec![2; after], second);
                        assert_eq!((entry.key(), entry.value()), (&key[..], &vec![2; after][..]));
                        assert_eq!((entry.expiry(), entry.usage()), (second, 0xab_cdef));
                        entry.set_expiry(first);
                        assert_eq!(
                            (entry.value().len(), entry.expiry(), entry.usage()),
                            (after, first, 0xab_cdef)
                        );
                        let longer = entry.value_of_length(after + 3).to_vec();
                        assert_eq!(longer, [vec![2; after], vec![0; 3]].concat());
                        assert_eq!((entry.key(), entry.expiry()), (&key[..], first));
                    }
                }
            }
        }
    }
}
