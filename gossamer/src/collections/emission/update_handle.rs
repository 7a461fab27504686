//! Where pairs go that are emitted.

use crate::collections::layout::Spread;
use crate::collections::{KeyedUpdates, Updates};
use crate::{DelegationError, NoRef};
use std::hash::Hash;

/// A handle for updates of a vector or a map.
pub trait UpdateHandle<K, A> {
    /// Adds updates, and may wait.
    fn add_all(&mut self, pairs: impl Iterator<Item = (K, A)>);

    /// Waits until all updates have been served.
    fn finish(self) -> Result<(), DelegationError>;

    /// The indices that there are, of a vector.
    fn spread(&self) -> Option<Spread>;
}

/// What finds an element of a vector: a `usize`.
#[diagnostic::on_unimplemented(
    message = "an element of a `DistVec` is found by a `usize`, but this loop emits `{Self}`",
    label = "for a vector, the loop has to push pairs of a `usize` and an argument",
    note = "push `index as usize`, or use `merge_into` or `update_into` for a map with such keys"
)]
pub trait VectorIndex: NoRef {
    /// The index.
    fn index(self) -> usize;
}

impl VectorIndex for usize {
    #[inline]
    fn index(self) -> usize {
        self
    }
}

impl<K: VectorIndex, A: NoRef> UpdateHandle<K, A> for Updates<A> {
    #[inline]
    fn add_all(&mut self, pairs: impl Iterator<Item = (K, A)>) {
        self.extend(pairs.map(|(index, argument)| (index.index(), argument)));
    }

    fn finish(self) -> Result<(), DelegationError> {
        self.try_finish()
    }

    fn spread(&self) -> Option<Spread> {
        Some(self.spread())
    }
}

impl<K: Hash + Eq + NoRef, A: NoRef> UpdateHandle<K, A> for KeyedUpdates<K, A> {
    #[inline]
    fn add_all(&mut self, pairs: impl Iterator<Item = (K, A)>) {
        self.extend(pairs);
    }

    fn finish(self) -> Result<(), DelegationError> {
        self.try_finish()
    }

    fn spread(&self) -> Option<Spread> {
        None
    }
}
