//! [`Interleaving`]: values that are asked for in one order, and come row by row.
//!
//! N3: the places in all rows of an [`Interleaving`] are numbers below `len`, none of them twice, until a [`Merging`] drains
//! them.
//! N4: of the first `len` places behind the values of a [`Merging`]'s vector, `len - missing` have a value; those that
//! have none are still in a row, or were taken out of it without one.

use crate::structures::append_buffer::AppendBuffer;
use std::mem::MaybeUninit;

/// What was asked for, by numbers, and which row each answer comes from. The answers of a row come in order, too.
#[derive(Debug)]
pub(crate) struct Interleaving {
    /// For each row.
    rows: Vec<AppendBuffer<AskedFor>>,
    len: u32,
}

/// The place of an answer among all answers, and the number it was asked for by: in one word, which is stored at once.
#[derive(Clone, Copy, Debug)]
struct AskedFor(u64);

impl AskedFor {
    fn new(place: u32, number: u32) -> Self {
        Self(u64::from(place) << 32 | u64::from(number))
    }

    fn place(self) -> usize {
        (self.0 >> 32) as usize
    }

    fn number(self) -> u32 {
        self.0 as u32
    }
}

impl Interleaving {
    pub(crate) fn new(rows: usize) -> Self {
        Self { rows: (0..rows).map(|_| AppendBuffer::new()).collect(), len: 0 }
    }

    /// How many answers are wanted.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Asks for an answer to each of these, in the row and by the number that `find` says, up to one that it does not find,
    /// which is the error.
    ///
    /// # Panics
    /// If there is no such row, or if 2^32 answers were asked for. Then, and after an error, some answers may be missing.
    #[inline(always)]
    pub(crate) fn ask<A: Copy>(
        &mut self,
        asked: &[A],
        find: impl Fn(A) -> Option<(usize, u32)>,
    ) -> Result<(), A> {
        let first = self.len;
        assert!(asked.len() <= (u32::MAX - first) as usize, "too many answers to put in order");
        // In advance, so that no place is used twice (N3) whatever happens.
        self.len += asked.len() as u32;
        for (place, asked) in (first..).zip(asked) {
            let (row, number) = find(*asked).ok_or(*asked)?;
            self.rows[row].push(AskedFor::new(place, number));
        }
        Ok(())
    }

    /// What a row was asked for.
    pub(crate) fn asked(&self, row: usize) -> impl ExactSizeIterator<Item = u32> {
        self.rows[row].as_slice().iter().map(|asked| asked.number())
    }

    /// Frees room of a row beyond this many answers, if it was asked for less than a quarter of what it has room for.
    pub(crate) fn trim(&mut self, row: usize, answers: usize) {
        let row = &mut self.rows[row];
        if row.capacity() > answers.max(4 * row.len()) {
            row.shrink_to(answers);
        }
    }

    /// Appends the answers to a vector, in the order in which they were asked for; then nothing is asked for any more.
    pub(crate) fn merge_into<'a, T>(&'a mut self, vector: &'a mut Vec<T>) -> Merging<'a, T> {
        let len = self.len();
        vector.reserve(len);
        Merging { asked: self, vector, len, missing: len }
    }
}

/// Answers that are being put in their order, in the room behind a vector's values.
/// [`finish`](Self::finish) makes them part of the vector; without it they are lost, and not dropped.
#[derive(Debug)]
pub(crate) struct Merging<'a, T> {
    asked: &'a mut Interleaving,
    vector: &'a mut Vec<T>,
    len: usize,
    missing: usize,
}

impl<T> Merging<'_, T> {
    /// Puts the answers of a row where they belong; those that nobody asked for are not taken.
    pub(crate) fn fill(&mut self, row: usize, answers: impl IntoIterator<Item = T>) {
        let room: &mut [MaybeUninit<T>] = &mut self.vector.spare_capacity_mut()[..self.len];
        // No place is drained twice (N3), so each value that is written counts once (N4).
        let mut asked = std::mem::take(&mut self.asked.rows[row]);
        for (one, answer) in asked.as_slice().iter().zip(answers) {
            room[one.place()].write(answer);
            self.missing -= 1;
        }
        asked.clear();
        self.asked.rows[row] = asked;
    }

    /// Answers a row. `soon` is told of each number `ahead` numbers before, and where its answer will be. If that
    /// panics, the row has no answers.
    pub(crate) fn answer(
        &mut self,
        row: usize,
        ahead: usize,
        mut answer: impl FnMut(u32) -> T,
        soon: impl Fn(u32, *const MaybeUninit<T>),
    ) {
        let mut asked = std::mem::take(&mut self.asked.rows[row]);
        let room = &mut self.vector.spare_capacity_mut()[..self.len];
        let mut answered = Answered { asked: asked.as_slice(), room, count: 0 };
        for (at, one) in answered.asked.iter().enumerate() {
            if let Some(later) = answered.asked.get(at + ahead) {
                soon(later.number(), answered.room.as_ptr().wrapping_add(later.place()));
            }
            answered.room[one.place()].write(answer(one.number()));
            answered.count += 1;
        }
        std::mem::forget(answered);
        // As in `fill`: no place is in a row twice (N3), and each of these has a value (N4).
        self.missing -= asked.len();
        asked.clear();
        self.asked.rows[row] = asked;
    }

    /// # Panics
    /// If a row had fewer answers than it was asked for.
    pub(crate) fn finish(self) {
        assert!(self.missing == 0, "{} answers are missing", self.missing);
        let len = self.vector.len() + self.len;
        // SAFETY: N4 with nothing missing: all places up to this length have a value; and they lie within the capacity.
        unsafe { self.vector.set_len(len) };
    }
}

impl<T> Drop for Merging<'_, T> {
    fn drop(&mut self) {
        self.asked.rows.iter_mut().for_each(AppendBuffer::clear);
        self.asked.len = 0;
    }
}

/// The first `count` answers of a row, which are dropped with it.
struct Answered<'a, T> {
    asked: &'a [AskedFor],
    room: &'a mut [MaybeUninit<T>],
    count: usize,
}

impl<T> Drop for Answered<'_, T> {
    fn drop(&mut self) {
        for asked in &self.asked[..self.count] {
            // SAFETY: this place has a value, and no other is dropped in it (N3); it counts as missing (N4), so nobody
            // takes it.
            unsafe { self.room[asked.place()].assume_init_drop() };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Interleaving;
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    #[test]
    fn answers_are_in_the_order_in_which_they_were_asked_for() {
        let (mut random, mut asked) = (fastrand::Rng::with_seed(1), Interleaving::new(3));
        for len in [0, 1, 5, 1000, 3] {
            let mut found = vec![(usize::MAX, 0)];
            let expected: Vec<_> = (0..len).map(|number| (random.usize(..3), number)).collect();
            asked.ask(&expected, Some).unwrap();
            let answers: Vec<Vec<_>> = (0..3).map(|row| asked.asked(row).collect()).collect();
            let mut merging = asked.merge_into(&mut found);
            for (row, answers) in answers.into_iter().enumerate().rev() {
                merging.fill(row, answers.into_iter().map(|number| (row, number)));
            }
            merging.finish();
            assert_eq!(found[1..], expected);
            assert_eq!(asked.len(), 0);
        }
    }

    #[test]
    fn a_row_is_answered_by_its_numbers() {
        let (mut asked, mut found, told) =
            (Interleaving::new(2), Vec::with_capacity(4), RefCell::new(Vec::new()));
        asked.ask(&[(0, 5), (1, 1), (0, 6), (0, 7)], Some).unwrap();
        let mut merging = asked.merge_into(&mut found);
        merging.fill(1, [3]);
        merging.answer(0, 2, |number| 2 * number, |number, place| told.borrow_mut().push((number, place)));
        merging.finish();
        assert_eq!(found, [10, 3, 12, 14]);
        let told: Vec<_> = told.take().into_iter().map(|(number, place)| (number, place.cast())).collect();
        assert_eq!(told, [(7, &raw const found[3])]);
        assert_eq!(asked.asked(0).count(), 0);
    }

    #[test]
    fn answers_before_a_panic_are_dropped_and_do_not_count() {
        let (mut asked, mut found, answer) = (Interleaving::new(1), Vec::new(), Rc::new(()));
        asked.ask(&[(0, 0), (0, 1), (0, 2)], Some).unwrap();
        let mut merging = asked.merge_into(&mut found);
        for _ in 0..2 {
            let answer = |number| if number < 2 { answer.clone() } else { panic!("no answer to {number}") };
            drop(catch_unwind(AssertUnwindSafe(|| merging.answer(0, 1, answer, |_, _| ()))));
        }
        assert_eq!(Rc::strong_count(&answer), 1);
        let missing = catch_unwind(AssertUnwindSafe(|| merging.finish())).unwrap_err();
        assert_eq!(missing.downcast_ref::<String>().unwrap(), "3 answers are missing");
        assert_eq!(found, []);
    }

    #[test]
    fn answers_that_were_not_asked_for_are_dropped() {
        let (mut asked, mut found, answer) = (Interleaving::new(1), Vec::new(), Rc::new(()));
        asked.ask(&[(0, 7)], Some).unwrap();
        let mut merging = asked.merge_into(&mut found);
        merging.fill(0, vec![answer.clone(); 3]);
        merging.fill(0, vec![answer.clone(); 3]);
        merging.finish();
        assert_eq!((found.len(), Rc::strong_count(&answer)), (1, 2));
    }

    #[test]
    fn no_place_is_used_twice_after_something_was_not_found() {
        let (mut asked, mut found) = (Interleaving::new(1), Vec::new());
        assert_eq!(asked.ask(&[0, 1, 2], |number| (number < 1).then_some((0, number))), Err(1));
        asked.ask(&[(0, 3)], Some).unwrap();
        let mut merging = asked.merge_into(&mut found);
        merging.answer(0, 1, |number| number, |_, _| ());
        let missing = catch_unwind(AssertUnwindSafe(|| merging.finish())).unwrap_err();
        assert_eq!(missing.downcast_ref::<String>().unwrap(), "2 answers are missing");
        assert!(found.is_empty());
    }

    #[test]
    #[should_panic(expected = "1 answers are missing")]
    fn a_missing_answer_is_not_made_up() {
        let (mut asked, mut found) = (Interleaving::new(2), Vec::new());
        asked.ask(&[(0, 7)], Some).unwrap();
        asked.ask(&[(1, 7)], Some).unwrap();
        let mut merging = asked.merge_into(&mut found);
        merging.fill(1, [1]);
        merging.finish();
    }

    #[test]
    fn an_interleaving_is_used_again_after_answers_that_never_came() {
        let (mut asked, mut found) = (Interleaving::new(1), vec![1]);
        asked.ask(&[(0, 7)], Some).unwrap();
        drop(asked.merge_into(&mut found));
        asked.ask(&[(0, 8)], Some).unwrap();
        assert_eq!(asked.asked(0).collect::<Vec<_>>(), [8]);
        let mut merging = asked.merge_into(&mut found);
        merging.fill(0, [2]);
        merging.finish();
        assert_eq!(found, [1, 2]);
    }
}
