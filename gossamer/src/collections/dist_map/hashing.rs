//! [`Hashing`]: how the keys of one map are hashed.

use crate::NoRef;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, RandomState};

/// The hash function of a map, the same for all its handles. Each operation hashes its key once, where it starts, and
/// sends the hash along.
///
/// Each map has another one, picked at random: keys that an attacker chooses are spread like others, unless the
/// behaviour of the map reveals the function.
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
