//! [`DistVec`]: a vector whose elements are spread over workers.

use crate::collections::Elements;
use crate::collections::layout::Spread;
use crate::lane::operation::refuse_captures;
use crate::trust::rethrow;
use crate::{NoRef, Pending, Trust, Trustee, WithoutCaptures};
use std::panic::Location;
use std::sync::Arc;

/// A vector whose elements are spread over workers: those of this process, of all nodes, or chosen ones
/// ([`Layout`](crate::collections::Layout)).
///
/// Its length is fixed. Handles are cloned and sent anywhere like trusts; all refer to the same elements, which are
/// dropped with the last handle. Elements must be [`NoRef`] only to be sent, not to be changed in place.
///
/// ```
/// use gossamer::collections::{DistVec, Layout};
///
/// #[gossamer::delegate]
/// fn squares(count: usize, add: u64) -> Vec<u64> {
///     let squares = DistVec::from_fn(Layout::cyclic(count), |index| (index * index) as u64);
///     squares.update(3, |square| *square += add);
///     squares.to_vec()
/// }
///
/// let squares = gossamer::run(gossamer::Config::default().threads(2), || squares(5, 100));
/// assert_eq!(squares, [0, 1, 4, 109, 16]);
/// ```
///
/// # What to use
/// | you want | use | requests |
/// |---|---|---|
/// | one element | [`get`](Self::get), [`set`](Self::set), [`update`](Self::update) | one each |
/// | many elements, anywhere | [`gather`](Self::gather), [`gather_into`](Self::gather_into), [`scatter`](Self::scatter) | one for some thousands |
/// | many small changes, anywhere | [`updates`](Self::updates); by a loop [`par_emit`](Self::par_emit) | one for some thousands |
/// | neighbours | [`range`](Self::range), [`set_range`](Self::set_range) | one for each worker that has any |
/// | each element, where it is | [`par_for_each`](Self::par_for_each), [`map_all`](Self::map_all), [loops](Self#loops) | a few for each worker |
/// | another order | [`par_sort`](Self::par_sort) and its like, [`par_group_by`](Self::par_group_by), [`with_layout`](Self::with_layout) | one for each pair of workers |
/// | this worker's own elements | [`local`](Self::local) | none |
///
/// Requests of one fiber to elements of one worker are served in the order in which they were sent; nothing is promised between
/// elements of different workers, nor between fibers.
///
/// # Loops
/// The methods that begin with `par_` visit all elements, on all workers of the layout at once, and wait until that
/// is done. Their closures get the index of an element and the element. They run as delegated closures, which cannot
/// wait; every 100 us or so a worker serves the requests of others, except while it [sorts](Self#sorting). Results that
/// depend on an order are the same each time for the same layout. If the closure panics, the panic reaches the caller
/// with the index of the element: its worker stops there, the others are stopped too, and changes made so far stay.
///
/// Elements stay with their worker, so a worker whose elements take longest is the last. If the work is uneven, and
/// takes far longer than copying elements, loop over numbers instead: workers that are done take more of them.
///
/// ```
/// use gossamer::collections::{DistVec, par_for_each_with};
///
/// /// Nobody else changes the numbers meanwhile.
/// fn count_divisors(numbers: &DistVec<u64>) {
///     const CHUNK: usize = 100;
///     let count = const {
///         |chunk: usize, numbers: &DistVec<u64>| {
///             let start = chunk * CHUNK;
///             let mut some = numbers.range(start..numbers.len().min(start + CHUNK));
///             for number in &mut some {
///                 *number = (1..=*number).filter(|divisor| *number % divisor == 0).count() as u64;
///             }
///             numbers.set_range(start, some);
///         }
///     };
///     par_for_each_with(0..numbers.len().div_ceil(CHUNK), count, numbers.clone());
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let numbers: DistVec<u64> = (0..250).collect();
/// count_divisors(&numbers);
/// assert_eq!(numbers.range(10..13), [4, 2, 6]);
/// # });
/// ```
///
/// # Panics
/// A closure that panics ends its request, as with [`Trust::apply`]: the panic reaches the caller, with the line of
/// the call. The element stays as the closure left it. An index out of range panics in the caller. All methods that
/// wait panic in delegated closures and callbacks, which cannot wait.
pub struct DistVec<T: 'static> {
    pub(super) parts: Arc<[Trust<Elements<T>>]>,
    pub(super) spread: Spread,
}

impl<T> Clone for DistVec<T> {
    fn clone(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), spread: self.spread }
    }
}

impl<T: 'static> DistVec<T> {
    /// The number of elements.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_eq!(squares.len(), 5);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.spread.len()
    }

    /// Whether the vector is empty.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// assert!(DistVec::<u64>::from_vec(0, Vec::new()).is_empty());
    /// assert!(!DistVec::from_slice(&[7]).is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The workers that have the elements, in the order of the layout. A worker may be listed twice.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_eq!(squares.trustees(), gossamer::Trustee::all());
    /// # });
    /// ```
    pub fn trustees(&self) -> Vec<Trustee> {
        self.parts.iter().map(Trust::trustee).collect()
    }

    /// The worker that has an element.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_ne!(squares.trustee_of(0), squares.trustee_of(1)); // in turn: the layout is cyclic
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element.
    #[track_caller]
    pub fn trustee_of(&self, index: usize) -> Trustee {
        self.at(index).0.trustee()
    }

    /// The part that has an element, and the element's place there.
    #[inline]
    #[track_caller]
    pub(super) fn at(&self, index: usize) -> (&Trust<Elements<T>>, usize) {
        match self.spread.find(index) {
            Some((part, offset)) => (&self.parts[part], offset.get()),
            None => out_of_range(index, self.spread),
        }
    }

    /// Applies a closure to an element and returns its result. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// let before = squares.update(3, |square| std::mem::replace(square, 0));
    /// assert_eq!((before, squares.get(3)), (9, 0));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element, or the closure panics ([Panics](Self#panics)).
    #[inline]
    #[track_caller]
    pub fn update<U: NoRef, F>(&self, index: usize, closure: F) -> U
    where
        F: FnOnce(&mut T) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>(index, move |element, ()| closure(element), ())
    }

    /// Like [`update`](Self::update), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// squares.update_with(3, |square, by| *square += by, 100);
    /// assert_eq!(squares.get(3), 109);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update`](Self::update).
    #[inline]
    #[track_caller]
    pub fn update_with<C: NoRef, U: NoRef, F>(&self, index: usize, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at::<F, _, _, _>(index, closure, arguments)
    }

    /// Applies a closure to an element without waiting, and returns a [`Pending`] for the result. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// let (two, three) = (squares.update_async(2, |square| *square), squares.update_async(3, |square| *square));
    /// assert_eq!(two.wait() + three.wait(), 13); // both were under way
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element; if the backlog is far too long, as for [`Trust::apply_then`].
    #[inline]
    #[track_caller]
    pub fn update_async<U: NoRef, F>(&self, index: usize, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut T) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(index, move |element, ()| closure(element), ())
    }

    /// Like [`update_async`](Self::update_async), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::collections::DistVec::filled(4, 0_u64);
    /// let add = |count: &mut u64, more: u64| { *count += more; *count };
    /// let pending = [0, 3].map(|index| counts.update_with_async(index, add, 5)); // both are under way
    /// assert_eq!(pending.map(|pending| pending.wait()), [5, 5]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update_async`](Self::update_async).
    #[inline]
    #[track_caller]
    pub fn update_with_async<C: NoRef, U: NoRef, F>(
        &self,
        index: usize,
        closure: F,
        arguments: C,
    ) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_at::<F, _, _, _>(index, closure, arguments)
    }

    /// Applies a closure to an element without waiting; `then` is called with its result, on this worker, as by
    /// [`Trust::apply_then`]. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// squares.update_then(3, |square| *square, |square| assert_eq!(square, 9));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update_async`](Self::update_async).
    #[inline]
    #[track_caller]
    pub fn update_then<U: NoRef, F, R>(&self, index: usize, closure: F, then: R)
    where
        F: FnOnce(&mut T) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at_then::<F, _, _, _, _>(index, move |element, ()| closure(element), (), then);
    }

    /// Like [`update_then`](Self::update_then), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::collections::DistVec::filled(4, 0_u64);
    /// counts.update_with_then(3, |count, more: u64| *count += more, 5, |()| ());
    /// assert_eq!(counts.get(3), 5); // served behind it
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update_async`](Self::update_async).
    #[inline]
    #[track_caller]
    pub fn update_with_then<C: NoRef, U: NoRef, F, R>(&self, index: usize, closure: F, arguments: C, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        self.call_at_then::<F, _, _, _, _>(index, closure, arguments, then);
    }

    #[inline]
    #[track_caller]
    fn call_at<N, C: NoRef, U: NoRef, F>(&self, index: usize, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
    {
        let (part, offset) = self.at(index);
        let closure = move |elements: &mut Elements<T>, (offset, arguments): (usize, C)| {
            closure(&mut elements[offset], arguments)
        };
        match part.target().call::<N, _, _, _>("update", closure, (offset, arguments)) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    #[inline]
    #[track_caller]
    fn send_at<N, C: NoRef, U: NoRef, F>(&self, index: usize, closure: F, arguments: C) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
    {
        let (part, offset) = self.at(index);
        let closure = move |elements: &mut Elements<T>, (offset, arguments): (usize, C)| {
            closure(&mut elements[offset], arguments)
        };
        part.send::<N, _, _, _>(closure, (offset, arguments), Location::caller())
    }

    #[inline]
    #[track_caller]
    fn call_at_then<N, C: NoRef, U: NoRef, F, R>(&self, index: usize, closure: F, arguments: C, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
        R: FnOnce(U) + 'static,
    {
        let (part, offset) = self.at(index);
        let closure = move |elements: &mut Elements<T>, (offset, arguments): (usize, C)| {
            closure(&mut elements[offset], arguments)
        };
        part.send_then::<N, _, _, _>(closure, (offset, arguments), then, Location::caller());
    }
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
impl<T: 'static> DistVec<T> {
    #[inline(always)]
    #[track_caller]
    pub fn __update_with<C: NoRef, U: NoRef, F>(&self, index: usize, arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
    {
        self.update_with(index, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __update_with_async<C: NoRef, U: NoRef, F>(
        &self,
        index: usize,
        arguments: C,
        closure: F,
    ) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
    {
        self.update_with_async(index, closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __update_with_then<C: NoRef, U: NoRef, F, R>(
        &self,
        index: usize,
        arguments: C,
        closure: F,
        then: R,
    ) where
        F: FnOnce(&mut T, C) -> U + Send + Copy + 'static,
        R: FnOnce(U) + 'static,
    {
        self.update_with_then(index, closure, arguments, then);
    }
}

/// An index is out of range.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn out_of_range(index: usize, spread: Spread) -> ! {
    panic!("index {index} is out of range of a `DistVec` with {} elements", spread.len())
}
