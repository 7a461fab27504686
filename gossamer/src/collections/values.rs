//! Single elements by value: copied, set, replaced, swapped.

use crate::collections::{DistVec, Elements};
use crate::worker::require_fiber;
use crate::{NoRef, Pending};

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
        part.apply_in("get", copy, offset)
    }

    /// Like [`get`](Self::get), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// let asked = [1, 4].map(|index| squares.get_async(index)); // both are under way
    /// assert_eq!(asked.map(|pending| pending.wait()), [1, 16]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`get`](Self::get).
    #[track_caller]
    pub fn get_async(&self, index: usize) -> Pending<T>
    where
        T: Clone,
    {
        let (part, offset) = self.at(index);
        part.apply_with_async(copy, offset)
    }

    /// Like [`get`](Self::get), without waiting: `then` is called with the copy, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// squares.get_then(4, |square| assert_eq!(square, 16));
    /// squares.set(4, 0); // served behind it
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`get`](Self::get).
    #[track_caller]
    pub fn get_then(&self, index: usize, then: impl FnOnce(T) + 'static)
    where
        T: Clone,
    {
        let (part, offset) = self.at(index);
        part.apply_with_then(copy, offset, then);
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
        part.apply_in("set", set, (offset, value));
    }

    /// Like [`set`](Self::set), without waiting; the pending result says when it is done.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// let set = [1, 4].map(|index| squares.set_async(index, 0)); // both are under way
    /// set.map(|pending| pending.wait());
    /// assert_eq!(squares.to_vec(), [0, 0, 4, 9, 0]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`set`](Self::set).
    #[track_caller]
    pub fn set_async(&self, index: usize, value: T) -> Pending<()> {
        let (part, offset) = self.at(index);
        part.apply_with_async(set, (offset, value))
    }

    /// Like [`set`](Self::set), without waiting: `then` is called when it is done, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// squares.set_then(4, 0, |()| println!("it is set"));
    /// assert_eq!(squares.get(4), 0); // served behind it
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`set`](Self::set).
    #[track_caller]
    pub fn set_then(&self, index: usize, value: T, then: impl FnOnce(()) + 'static) {
        let (part, offset) = self.at(index);
        part.apply_with_then(set, (offset, value), then);
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
        part.apply_in("replace", replace, (offset, value))
    }

    /// Like [`replace`](Self::replace), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// let replaced = [1, 4].map(|index| squares.replace_async(index, 0)); // both are under way
    /// assert_eq!(replaced.map(|pending| pending.wait()), [1, 16]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`replace`](Self::replace).
    #[track_caller]
    pub fn replace_async(&self, index: usize, value: T) -> Pending<T> {
        let (part, offset) = self.at(index);
        part.apply_with_async(replace, (offset, value))
    }

    /// Like [`replace`](Self::replace), without waiting: `then` is called with the old value, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(5, |index| index * index);
    /// squares.replace_then(4, 0, |square| assert_eq!(square, 16));
    /// assert_eq!(squares.get(4), 0); // served behind it
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`replace`](Self::replace).
    #[track_caller]
    pub fn replace_then(&self, index: usize, value: T, then: impl FnOnce(T) + 'static) {
        let (part, offset) = self.at(index);
        part.apply_with_then(replace, (offset, value), then);
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
            part.apply_in("swap", swap, (offset, other_offset));
        } else {
            require_fiber("swap");
            let value = self.get(one);
            let value = self.replace(other, value);
            self.set(one, value);
        }
    }
}

#[inline(always)]
fn copy<T: Clone>(elements: &mut Elements<T>, offset: usize) -> T {
    elements[offset].clone()
}

#[inline(always)]
fn set<T>(elements: &mut Elements<T>, (offset, value): (usize, T)) {
    elements[offset] = value;
}

#[inline(always)]
fn replace<T>(elements: &mut Elements<T>, (offset, value): (usize, T)) -> T {
    std::mem::replace(&mut elements[offset], value)
}
