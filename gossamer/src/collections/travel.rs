//! [`NoRef`] of the handles of collections.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::collections::{DistMap, DistSet, DistVec, Frontier};
use crate::{Decoder, Encoder, Malformed, NoRef};

// SAFETY: it is trusts and numbers, which are `NoRef`, and is read as it was written.
unsafe impl<T: 'static> NoRef for DistVec<T> {
    fn encode(self, to: &mut Encoder) {
        (self.parts.to_vec(), self.spread).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (parts, spread) = <(Vec<_>, _)>::decode(from)?;
        Ok(Self { parts: parts.into(), spread })
    }
}

// SAFETY: it is trusts and a number, which are `NoRef`, and is read as it was written.
unsafe impl<K: 'static, V: 'static> NoRef for DistMap<K, V> {
    fn encode(self, to: &mut Encoder) {
        self.write(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Self::read(from)
    }
}

// SAFETY: it is a vector and a number, which are `NoRef`, and is read as it was written.
unsafe impl<T: 'static> NoRef for Frontier<T> {
    fn encode(self, to: &mut Encoder) {
        (self.vector, self.priority).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (vector, priority) = NoRef::decode(from)?;
        Ok(Self { vector, priority })
    }
}

// SAFETY: it is a map, which is `NoRef`, and is read as it was written.
unsafe impl<K: 'static> NoRef for DistSet<K> {
    fn encode(self, to: &mut Encoder) {
        self.into_map().encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        NoRef::decode(from).map(Self::from_map)
    }
}
