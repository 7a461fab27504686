//! Access to values with elements: a key without elements does not exist.

use crate::protocol::refusal::Refusal;
use crate::store::Shard;
use crate::store::entry::Entry;
use crate::store::table::Slot;
use crate::store::value::{Elements, Encodings};

/// What a change to a value reports: whether there was a change, for clients that watch the key.
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

impl Shard {
    /// A key whose value is of this type.
    fn find_elements<T: Elements>(&mut self, key: &[u8]) -> Result<Option<Slot>, Refusal> {
        let Some(slot) = self.find(key) else { return Ok(None) };
        self.database.table.at(slot).elements::<T>()?;
        Ok(Some(slot))
    }

    /// The value of a key, to be read.
    pub fn read<T: Elements>(&mut self, key: &[u8]) -> Result<Option<&T>, Refusal> {
        let Some(slot) = self.find_to_read(key) else { return Ok(None) };
        self.database.table.at(slot).elements().map(Some)
    }

    /// Changes the value of a key, which comes and goes with its first and its last element.
    pub fn update<T: Elements, U: Change>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Encodings) -> U,
    ) -> Result<U, Refusal> {
        if let Some(slot) = self.find_elements::<T>(key)? {
            return self.change_elements(slot, change);
        }
        let mut elements = T::default();
        let changed = change(&mut elements, &self.encodings);
        if elements.length() > 0 {
            self.insert(Entry::of_elements(key, elements));
        }
        Ok(changed)
    }

    /// As `update`, if the key is there.
    pub fn update_existing<T: Elements, U: Change>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T, &Encodings) -> U,
    ) -> Result<Option<U>, Refusal> {
        let Some(slot) = self.find_elements::<T>(key)? else { return Ok(None) };
        self.change_elements(slot, change).map(Some)
    }

    fn change_elements<T: Elements, U: Change>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut T, &Encodings) -> U,
    ) -> Result<U, Refusal> {
        let encodings = self.encodings;
        self.take_for_snapshot(slot);
        let changed = self.database.table.change(slot, |entry| {
            let elements = entry.elements_mut::<T>()?;
            let changed = change(elements, &encodings);
            Ok::<_, Refusal>((changed, elements.length() == 0))
        });
        let (changed, is_empty) = changed?;
        self.note_use(slot);
        if changed.is_change() {
            self.note_change(slot);
        }
        if is_empty {
            self.remove(slot);
        }
        Ok(changed)
    }
}
