//! Where pairs go that are emitted.

use crate::collections::layout::Spread;
use crate::collections::{KeyedUpdates, Updates};
use crate::{DelegationError, NoRef};
use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

/// A handle for updates of a vector or a map.
pub trait UpdateHandle<K: NoRef, A: NoRef> {
    /// Adds updates, and may wait.
    fn add_all(&mut self, pairs: impl Iterator<Item = (K, A)>);

    /// Waits until all updates have been served.
    fn finish(self) -> Result<(), DelegationError>;

    /// The indices that there are, of a vector.
    fn spread(&self) -> Option<Spread>;

    /// What gathers pairs where they are emitted, without waiting: then `add_all` only sends what is full.
    fn gathering(&self) -> Option<SharedUpdates<K, A>>;
}

/// Updates of a map, which gather while a loop emits, and are sent in between.
pub type SharedUpdates<K, A> = Rc<RefCell<KeyedUpdates<K, A>>>;

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

    fn gathering(&self) -> Option<SharedUpdates<K, A>> {
        None
    }
}

impl<K: Hash + Eq + NoRef, A: NoRef> UpdateHandle<K, A> for SharedUpdates<K, A> {
    fn add_all(&mut self, _none: impl Iterator<Item = (K, A)>) {
        self.borrow_mut().send_full();
    }

    fn finish(self) -> Result<(), DelegationError> {
        match Rc::into_inner(self) {
            Some(updates) => updates.into_inner().try_finish(),
            None => unreachable!("nothing is emitted any more"),
        }
    }

    fn spread(&self) -> Option<Spread> {
        None
    }

    fn gathering(&self) -> Option<SharedUpdates<K, A>> {
        Some(Rc::clone(self))
    }
}
