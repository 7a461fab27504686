//! Turns that are done in any order, taken in theirs.

use std::collections::BTreeMap;

/// What was done ahead of its turn waits here.
#[derive(Debug)]
pub(crate) struct Order<T> {
    next: u64,
    early: BTreeMap<u64, T>,
}

impl<T> Order<T> {
    pub(crate) fn new() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }

    /// A turn is done; `each` gets all whose turn has come.
    pub(crate) fn done(&mut self, turn: u64, what: T, mut each: impl FnMut(T)) {
        self.early.insert(turn, what);
        while let Some(what) = self.early.remove(&self.next) {
            self.next += 1;
            each(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order() {
        let (mut order, mut seen) = (Order::new(), Vec::new());
        for turn in [2, 0, 1, 4, 3] {
            order.done(turn, turn * 10, |what| seen.push(what));
        }
        assert_eq!(seen, [0, 10, 20, 30, 40]);
    }
}
