//! [`Hashing`]: how the keys of one map are hashed.

use crate::NoRef;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, RandomState};

/// The hash function of a map, the same wherever its handles are. A key is hashed once for an operation, where this starts; the hash goes with it.
///
/// Each map has another, picked at random: keys that an attacker has chosen are spread as others are, unless what the map does tells
/// the function.
#[derive(Clone, Copy, Debug, NoRef)]
pub(super) struct Hashing {
    seed: u64,
}

impl Hashing {
    pub(super) fn random() -> Self {
        Self { seed: RandomState::new().hash_one(0) }
    }

    #[inline(always)]
    pub(super) fn hash<Q: Hash + ?Sized>(self, key: &Q) -> u64 {
        FixedState::with_seed(self.seed).hash_one(key)
    }
}
