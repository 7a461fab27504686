//! The waiters for the next event of a source.

use std::task::Waker;

/// The waiters, each with a number. Mostly there is only one, which needs no heap memory.
#[derive(Default)]
pub(super) struct Waiters {
    first: Option<(u32, Waker)>,
    others: Vec<(u32, Waker)>,
    next: u32,
}

impl Waiters {
    /// Adds a waker to the list, under a number that was not used recently.
    pub(super) fn add(&mut self, waker: Waker) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        match self.first {
            None => self.first = Some((number, waker)),
            Some(_) => self.others.push((number, waker)),
        }
        number
    }

    /// The waker under this number, if it is on the list.
    pub(super) fn find(&mut self, number: u32) -> Option<&mut Waker> {
        let mut entries = self.first.iter_mut().chain(&mut self.others);
        entries.find(|entry| entry.0 == number).map(|entry| &mut entry.1)
    }

    /// Takes the waker under this number off the list, if it is there.
    pub(super) fn take(&mut self, number: u32) -> Option<Waker> {
        if let Some((_, waker)) = self.first.take_if(|first| first.0 == number) {
            return Some(waker);
        }
        let place = self.others.iter().position(|entry| entry.0 == number)?;
        Some(self.others.swap_remove(place).1)
    }

    /// Takes all off the list.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        let all = self.first.take().into_iter().chain(std::mem::take(&mut self.others));
        all.map(|(_, waker)| waker)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }
}
