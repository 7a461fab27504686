//! Values that never move, found by their numbers without a lock, whichever thread asks.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Slots of the first page; each further page doubles the total.
const FIRST_PAGE: usize = 64;
/// As many as 32-bit numbers can address.
const PAGES: usize = 26;

/// Numbered slots. The thread that takes one has it until it gives it back; its value never moves.
pub(crate) struct SlotTable<T> {
    pages: [OnceLock<Arc<[T]>>; PAGES],
    vacant: Mutex<Vacant>,
}

#[derive(Default)]
struct Vacant {
    given_back: Vec<u32>,
    /// How many were ever taken.
    used: u32,
}

/// A slot that was taken.
pub(crate) struct TableSlot<T> {
    page: Arc<[T]>,
    place: usize,
    number: u32,
}

impl<T> TableSlot<T> {
    /// The number that `SlotTable::get` finds it by.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl<T> Deref for TableSlot<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.page[self.place]
    }
}

impl<T: Default> SlotTable<T> {
    pub(crate) fn new() -> Self {
        Self { pages: [const { OnceLock::new() }; PAGES], vacant: Mutex::default() }
    }

    fn vacant(&self) -> std::sync::MutexGuard<'_, Vacant> {
        self.vacant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot, with the value that its last owner has left there. `None` if all 2^32 are taken.
    pub(crate) fn take(&self) -> Option<TableSlot<T>> {
        let number = {
            let mut vacant = self.vacant();
            match vacant.given_back.pop() {
                Some(number) => number,
                None => {
                    let number = vacant.used;
                    vacant.used = number.checked_add(1)?;
                    number
                }
            }
        };
        let (page, place) = position(number);
        let page =
            self.pages.get(page)?.get_or_init(|| (0..FIRST_PAGE << page).map(|_| T::default()).collect());
        Some(TableSlot { page: Arc::clone(page), place, number })
    }

    /// Makes a slot vacant. Anything that has kept its number may still find it, and its next owner's value.
    pub(crate) fn give_back(&self, number: u32) {
        let mut vacant = self.vacant();
        vacant.given_back.push(number);
        if vacant.given_back.len() == vacant.used as usize {
            // All are vacant: numbers begin at the first again, and the list gives its memory back.
            *vacant = Vacant::default();
        }
    }

    /// The value of a slot, if it was ever taken.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let (page, place) = position(number);
        self.pages.get(page)?.get()?.get(place)
    }
}

/// The page of a slot, and its place there.
#[inline]
fn position(number: u32) -> (usize, usize) {
    let number = number as usize;
    let page = (number / FIRST_PAGE + 1).ilog2() as usize;
    (page, number - FIRST_PAGE * ((1 << page) - 1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU32, Ordering};

    #[test]
    fn each_slot_is_another_value_which_its_number_finds_until_the_end() {
        let table = SlotTable::<AtomicU32>::new();
        assert!(table.get(0).is_none());
        let slots: Vec<_> = (0..1000).map(|_| table.take().unwrap()).collect();
        for slot in &slots {
            assert_eq!(slot.swap(slot.number() + 1, Ordering::Relaxed), 0, "nobody else's");
        }
        for (number, slot) in (0..).zip(&slots) {
            assert_eq!(slot.number(), number);
            assert!(std::ptr::eq(table.get(number).unwrap(), &**slot));
        }
        table.give_back(7);
        assert_eq!(table.take().unwrap().number(), 7);
        (0..1000).for_each(|number| table.give_back(number));
        assert_eq!(table.take().unwrap().number(), 0);
        assert_eq!(table.get(999).unwrap().load(Ordering::Relaxed), 1000);
    }

    #[test]
    fn numbers_run_through_the_pages_without_a_gap() {
        let mut next = (0, 0);
        for number in 0..10_000 {
            assert_eq!(position(number), next);
            let (page, place) = next;
            next = if place + 1 == FIRST_PAGE << page { (page + 1, 0) } else { (page, place + 1) };
        }
        assert!(position(u32::MAX).0 <= PAGES);
    }
}
