//! Single elements by value: copied, set, replaced, swapped.

use crate::NoRef;
use crate::collections::{DistVec, Elements};

impl<T: NoRef> DistVec<T> {
    /// A copy of an element. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_eq!(squares.get(4), 16);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element ([Panics](Self#panics)).
    #[track_caller]
    pub fn get(&self, index: usize) -> T
    where
        T: Clone,
    {
        let (part, offset) = self.at(index);
        part.apply_with(
            const { |elements: &mut Elements<T>, offset: usize| elements[offset].clone() },
            offset,
        )
    }

    /// Replaces an element; the old value is dropped where it is. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// squares.set(4, 0);
    /// assert_eq!(squares.get(4), 0);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element ([Panics](Self#panics)).
    #[track_caller]
    pub fn set(&self, index: usize, value: T) {
        let (part, offset) = self.at(index);
        let set =
            const { |elements: &mut Elements<T>, (offset, value): (usize, T)| elements[offset] = value };
        part.apply_with(set, (offset, value));
    }

    /// Replaces an element, and returns the old value. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_eq!(squares.replace(4, 0), 16);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element ([Panics](Self#panics)).
    #[track_caller]
    pub fn replace(&self, index: usize, value: T) -> T {
        let (part, offset) = self.at(index);
        let replace = const {
            |elements: &mut Elements<T>, (offset, value): (usize, T)| {
                std::mem::replace(&mut elements[offset], value)
            }
        };
        part.apply_with(replace, (offset, value))
    }

    /// Exchanges two elements. One request if one worker has both, otherwise three, between which others may see and
    /// change either. If that must not happen, keep what belongs together in one element.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// squares.swap(1, 4);
    /// assert_eq!(squares.to_vec(), [0, 16, 4, 9, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If an index is out of range ([Panics](Self#panics)).
    #[track_caller]
    pub fn swap(&self, one: usize, other: usize)
    where
        T: Clone,
    {
        let ((part, offset), (other_part, other_offset)) = (self.at(one), self.at(other));
        if std::ptr::eq(part, other_part) {
            let swap = const {
                |elements: &mut Elements<T>, (one, other): (usize, usize)| elements.swap(one, other)
            };
            part.apply_with(swap, (offset, other_offset));
        } else {
            let value = self.get(one);
            let value = self.replace(other, value);
            self.set(one, value);
        }
    }
}
