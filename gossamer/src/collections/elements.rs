//! [`Elements`]: what one worker has of a collection.

use crate::collections::frontier::marks::Marks;
use crate::collections::layout::Spread;
use crate::collections::rearrangement::IncomingElements;
use std::fmt;
use std::mem::needs_drop;
use std::ops::{Deref, DerefMut, Range};

/// The elements of a [`DistVec`](crate::collections::DistVec) on one worker, as a slice: what a closure gets that is
/// applied to a whole part.
///
/// Element `i` of the slice is element [`index_of(i)`](Self::index_of) of the vector.
pub struct Elements<T> {
    values: Vec<T>,
    part: usize,
    spread: Spread,
    marks: Marks,
    incoming: IncomingElements<T>,
}

impl<T> Elements<T> {
    pub(super) fn new(part: usize, spread: Spread, values: Vec<T>) -> Self {
        assert_eq!(values.len(), spread.len_of(part), "a part has its elements");
        Self { values, part, spread, marks: Marks::default(), incoming: IncomingElements::default() }
    }

    /// The elements that a call is moving here.
    pub(super) fn incoming(&mut self) -> &mut IncomingElements<T> {
        &mut self.incoming
    }

    /// Replaces all elements by as many others.
    pub(super) fn replace(&mut self, values: Vec<T>) {
        assert_eq!(values.len(), self.values.len(), "a part has its elements");
        self.values = values;
    }

    /// Keeps the elements at these places, and puts others before and after them, as many as are removed, in the same
    /// memory.
    pub(super) fn keep_between(&mut self, kept: Range<usize>, before: Vec<Vec<T>>, behind: Vec<Vec<T>>) {
        let len = self.values.len();
        let others: usize = before.iter().chain(&behind).map(Vec::len).sum();
        assert_eq!(kept.len() + others, len, "a part has its elements");
        let before = before.into_iter().flatten();
        let mut removed = Vec::new();
        if needs_drop::<T>() {
            // Dropped when the part is whole again: a destructor may panic.
            removed.extend(self.values.drain(kept.end..));
            removed.extend(self.values.splice(..kept.start, before));
        } else {
            self.values.truncate(kept.end);
            drop(self.values.splice(..kept.start, before));
        }
        behind.into_iter().for_each(|mut run| self.values.append(&mut run));
    }

    /// The index in the vector of an element of this slice.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let last = numbers.map_all(|own| own.index_of(own.len() - 1));
    /// assert_eq!(last, [4, 3]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element.
    #[track_caller]
    pub fn index_of(&self, offset: usize) -> usize {
        assert!(offset < self.values.len(), "element {offset} of the {} that are here", self.values.len());
        self.spread.index(self.part, offset)
    }

    /// The place in this slice of an element of the vector, if it is here.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let offsets = numbers.map_all(|own| own.offset_of(2));
    /// assert_eq!(offsets, [Some(1), None]); // of 0, 2, 4; the other worker has 1, 3
    /// # });
    /// ```
    pub fn offset_of(&self, index: usize) -> Option<usize> {
        let (part, offset) = self.spread.find(index)?;
        (part == self.part).then_some(offset.get())
    }

    /// Takes the indices of the elements that updates have marked for the next round ([`DistVec::updates_marking`]),
    /// in the order in which they were marked.
    ///
    /// [`DistVec::updates_marking`]: crate::collections::DistVec::updates_marking
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let levels = DistVec::filled(6, 0_u32);
    /// let mut rises = levels.updates_marking(|level, by| { *level += by; *level > 2 });
    /// [(1, 3), (4, 1), (5, 9)].map(|(index, by)| rises.push(index, by));
    /// rises.finish();
    /// let high = levels.map_all(|own| own.take_marked()); // each worker takes its own
    /// assert_eq!(high.concat(), [1, 5]);
    /// # });
    /// ```
    pub fn take_marked(&mut self) -> Vec<usize> {
        let index_of = self.indices();
        self.marks.take_all().map(|offset| index_of(offset as usize)).collect()
    }

    /// The number of marks. An element that was marked several times counts as often.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let levels = DistVec::filled(6, 0_u32);
    /// let mut rises = levels.updates_marking(|level, by| { *level += by; true });
    /// [(1, 3), (1, 1), (5, 9)].map(|(index, by)| rises.push(index, by));
    /// rises.finish();
    /// assert_eq!(levels.map_all(|own| own.marked()), [2, 1]);
    /// # });
    /// ```
    pub fn marked(&self) -> usize {
        self.marks.len()
    }

    /// The elements, and which of them are marked.
    #[inline]
    pub(super) fn with_marks(&mut self) -> (&mut [T], &mut Marks) {
        (&mut self.values, &mut self.marks)
    }

    /// The elements, each with its index in the vector.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// let sums = numbers.map_all(|own| own.indexed().map(|(index, number)| index as u64 * number).sum::<u64>());
    /// assert_eq!(sums, [20, 10]);
    /// # });
    /// ```
    pub fn indexed(&self) -> impl ExactSizeIterator<Item = (usize, &T)> {
        let index_of = self.indices();
        self.values.iter().enumerate().map(move |(offset, value)| (index_of(offset), value))
    }

    /// Like [`indexed`](Self::indexed), with mutable elements.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let numbers = DistVec::from_fn(Layout::cyclic(5), |index| index as u64);
    /// numbers.map_all(|own| own.indexed_mut().for_each(|(index, number)| *number = 10 * index as u64));
    /// assert_eq!(numbers.to_vec(), [0, 10, 20, 30, 40]);
    /// # });
    /// ```
    pub fn indexed_mut(&mut self) -> impl ExactSizeIterator<Item = (usize, &mut T)> {
        self.indexed_mut_from(0)
    }

    /// What tells the indices in the vector of elements of this slice.
    pub(super) fn indices(&self) -> impl Fn(usize) -> usize + Copy + use<T> {
        let (part, spread) = (self.part, self.spread);
        move |offset| spread.index(part, offset)
    }

    /// Those from a place on. Unlike with `skip`, the elements before it are not visited at all.
    pub(super) fn indexed_mut_from(
        &mut self,
        first: usize,
    ) -> impl ExactSizeIterator<Item = (usize, &mut T)> {
        let index_of = self.indices();
        let left = self.values[first..].iter_mut().enumerate();
        left.map(move |(offset, value)| (index_of(first + offset), value))
    }
}

impl<T> Deref for Elements<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for Elements<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: fmt::Debug> fmt::Debug for Elements<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.indexed()).finish()
    }
}
