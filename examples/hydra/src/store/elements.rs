//! Access to values with elements: a key whose value has no elements does not exist.

use crate::protocol::refusal::{Refusal, WRONG_TYPE};
use crate::store::Shard;
use crate::store::entry::Entry;
use crate::store::table::Slot;
use crate::store::value::{Elements, Encodings};

/// The result of a change to a value: whether anything changed, for clients that watch the key.
pub trait Change {
    fn is_change(&self) -> bool;
}

impl Change for () {
    fn is_change(&self) -> bool {
        true
    }
}

/// Of so many elements.
impl Change for usize {
    fn is_change(&self) -> bool {
        *self > 0
    }
}

/// Of elements that were taken out.
impl<T> Change for Vec<T> {
    fn is_change(&self) -> bool {
        !self.is_empty()
    }
}

/// Of some elements, before there was an error.
impl<T: Change> Change for Result<T, Refusal> {
    fn is_change(&self) -> bool {
        self.as_ref().map_or(true, Change::is_change)
    }
}

fn is_empty<T: Elements>(entry: &Entry) -> bool {
    T::view(entry).is_none_or(|elements| T::length(elements) == 0)
}

impl Shard {
    /// A key whose value is of this type.
    #[inline]
    fn find_elements<T: Elements>(&mut self, key: &[u8]) -> Result<Option<Slot>, Refusal> {
        let Some(slot) = self.find(key) else { return Ok(None) };
        let entry = self.database.table.at(slot);
        if entry.kind() == T::KIND { Ok(Some(slot)) } else { Err(WRONG_TYPE) }
    }

    /// The value of a key, for reading.
    pub fn read<T: Elements>(&mut self, key: &[u8]) -> Result<Option<T::View<'_>>, Refusal> {
        let Some(slot) = self.find_to_read(key) else { return Ok(None) };
        T::view(self.database.table.at(slot)).map(Some).ok_or(WRONG_TYPE)
    }

    /// Changes the value of a key; the key appears with its first element, and disappears with its last.
    pub fn update<T: Elements, U: Change>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(T::Mut<'_>, &Encodings) -> U,
    ) -> Result<U, Refusal> {
        if let Some(slot) = self.find_elements::<T>(key)? {
            return Ok(self.change_elements::<T, U>(slot, change));
        }
        let mut entry = Entry::empty(key, T::KIND, None);
        let changed = change(T::edit(&mut entry), &self.encodings);
        if !is_empty::<T>(&entry) {
            self.insert(entry);
        }
        Ok(changed)
    }

    /// As `update`, if the key is there.
    pub fn update_existing<T: Elements, U: Change>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(T::Mut<'_>, &Encodings) -> U,
    ) -> Result<Option<U>, Refusal> {
        let Some(slot) = self.find_elements::<T>(key)? else { return Ok(None) };
        Ok(Some(self.change_elements::<T, U>(slot, change)))
    }

    fn change_elements<T: Elements, U: Change>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(T::Mut<'_>, &Encodings) -> U,
    ) -> U {
        let encodings = self.encodings;
        self.take_for_snapshot(slot);
        let (changed, is_empty) = self.database.table.change(slot, |entry| {
            let changed = change(T::edit(entry), &encodings);
            (changed, is_empty::<T>(entry))
        });
        self.note_use(slot);
        if changed.is_change() {
            self.note_change(slot);
        }
        if is_empty {
            self.remove(slot);
        }
        changed
    }
}
