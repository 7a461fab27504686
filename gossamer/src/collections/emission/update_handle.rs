//! Where pairs go that are emitted.

use crate::collections::layout::Spread;
use crate::collections::{KeyedUpdates, Updates};
use crate::{DelegationError, NoRef};
use std::hash::Hash;

/// A handle for updates of a vector or a map.
pub trait UpdateHandle<K, A>: Extend<(K, A)> {
    /// Waits until all updates have been served.
    fn finish(self) -> Result<(), DelegationError>;

    /// The indices that there are, of a vector.
    fn spread(&self) -> Option<Spread>;
}

impl<A: NoRef> UpdateHandle<usize, A> for Updates<A> {
    fn finish(self) -> Result<(), DelegationError> {
        self.try_finish()
    }

    fn spread(&self) -> Option<Spread> {
        Some(self.spread())
    }
}

impl<K: Hash + Eq + NoRef, A: NoRef> UpdateHandle<K, A> for KeyedUpdates<K, A> {
    fn finish(self) -> Result<(), DelegationError> {
        self.try_finish()
    }

    fn spread(&self) -> Option<Spread> {
        None
    }
}
