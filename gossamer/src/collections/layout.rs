//! [`Layout`]: which worker has which element.

use crate::collections::divisor::Divisor;
use crate::collections::offset::{self, Offset};
use crate::{NoRef, Trustee};
use std::ops::Range;

/// How many elements a collection has, and which worker has which: what the constructors take.
///
/// A plain number stands for the usual layout: that many elements in blocks, over all workers of all nodes.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(3), || {
/// use gossamer::collections::{DistVec, Layout};
/// use gossamer::Trustee;
///
/// let blocks = DistVec::filled(10, 0_u8); // 4, 4 and 2 elements
/// let turns = DistVec::filled(Layout::cyclic(10), 0_u8); // 4, 3 and 3
/// let apart = DistVec::filled(Layout::block(10).on(&Trustee::all()[1..]), 0_u8); // 0, 5 and 5
/// assert_eq!(turns.trustee_of(4), Trustee::all()[1]);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    len: usize,
    is_cyclic: bool,
    trustees: Option<Vec<Trustee>>,
}

impl Layout {
    /// `len` elements in blocks: the first worker has the first ones, and so on. All workers have the same number,
    /// except the last ones.
    ///
    /// Neighbours are on one worker, so ranges take few requests.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let ones = DistVec::filled(Layout::block(4), 1_u64); // neighbours together
    /// assert_eq!(ones.trustee_of(0), ones.trustee_of(1));
    /// # });
    /// ```
    pub fn block(len: usize) -> Self {
        Self { len, is_cyclic: false, trustees: None }
    }

    /// `len` elements, given to the workers in turn: with `w` workers, element `i` is on worker `i % w`.
    ///
    /// It spreads work that comes in ranges.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let ones = DistVec::filled(Layout::cyclic(4), 1_u64); // in turn
    /// assert_eq!(ones.trustee_of(0), ones.trustee_of(2));
    /// # });
    /// ```
    pub fn cyclic(len: usize) -> Self {
        Self { len, is_cyclic: true, trustees: None }
    }

    /// The same layout over these workers, in this order, instead of all workers of all nodes. A worker that is
    /// listed twice has two parts.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let other = gossamer::Trustee::all()[1];
    /// let ones = DistVec::filled(Layout::block(4).on(&[other]), 1_u64);
    /// assert_eq!(ones.trustees(), [other]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, trustees: &[Trustee]) -> Self {
        assert!(!trustees.is_empty(), "a layout on no workers has no place for an element");
        self.trustees = Some(trustees.to_vec());
        self
    }

    /// Where its elements are: the workers, and what each has.
    #[track_caller]
    pub(super) fn spread(self) -> (Vec<Trustee>, Spread) {
        let Self { len, is_cyclic, trustees } = self;
        let trustees = or_all(trustees);
        let spread = Spread::new(len, trustees.len(), is_cyclic);
        let most = (0..trustees.len()).map(|part| spread.len_of(part)).max().unwrap_or(0);
        assert!(
            most <= offset::MOST,
            "a layout with {most} elements on one worker: there may be {}; spread it over more",
            offset::MOST
        );
        (trustees, spread)
    }
}

impl From<usize> for Layout {
    fn from(len: usize) -> Self {
        Self::block(len)
    }
}

/// Checks that a layout is for as many elements as there are.
#[track_caller]
pub(super) fn require_length(spread: Spread, there: usize) {
    let len = spread.len();
    assert!(
        len == there,
        "a layout for {len} elements, where there are {there}: it says where elements are, so make it for as many"
    );
}

/// These workers, or all of all nodes if none are named. (A closure of `unwrap_or_else` would be named as the caller.)
#[track_caller]
pub(super) fn or_all(trustees: Option<Vec<Trustee>>) -> Vec<Trustee> {
    match trustees {
        Some(trustees) => trustees,
        None => Trustee::all(),
    }
}

/// Which part has which element, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoRef)]
pub struct Spread {
    len: usize,
    parts: usize,
    is_cyclic: bool,
    /// The elements of a block, or the parts.
    divisor: Divisor,
}

impl Spread {
    fn new(len: usize, parts: usize, is_cyclic: bool) -> Self {
        // One part is one block, for which there is nothing to compute.
        let is_cyclic = is_cyclic && parts > 1;
        let divisor = Divisor::new(if is_cyclic { parts } else { len.div_ceil(parts).max(1) }, len);
        Self { len, parts, is_cyclic, divisor }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn parts(self) -> usize {
        self.parts
    }

    pub(super) fn is_cyclic(self) -> bool {
        self.is_cyclic
    }

    /// The part that has an element, and the element's place in it.
    #[inline(always)]
    pub(super) fn find(self, index: usize) -> Option<(usize, Offset)> {
        match self.divisor.divide(index) {
            Some((quotient, remainder)) => Some(self.place(quotient, remainder)),
            None => self.find_far(index),
        }
    }

    /// As `find`, for an index that is out of range or beyond what is divided fast.
    #[cold]
    fn find_far(self, index: usize) -> Option<(usize, Offset)> {
        let by = self.divisor.by();
        (index < self.len).then(|| self.place(index / by, index % by))
    }

    /// A place, by an index divided by the elements of a block, or by the parts.
    #[inline(always)]
    fn place(self, quotient: usize, remainder: usize) -> (usize, Offset) {
        let (part, offset) = if self.is_cyclic { (remainder, quotient) } else { (quotient, remainder) };
        (part, Offset::new(offset))
    }

    /// The index of an element, by its place in a part.
    #[inline(always)]
    pub(super) fn index(self, part: usize, offset: usize) -> usize {
        if self.is_cyclic { offset * self.parts + part } else { part * self.divisor.by() + offset }
    }

    /// How many elements a part has.
    pub(super) fn len_of(self, part: usize) -> usize {
        self.before(part, self.len)
    }

    /// The places of a part that are in a range.
    pub(super) fn within(self, part: usize, range: &Range<usize>) -> Range<usize> {
        self.before(part, range.start)..self.before(part, range.end)
    }

    /// How many elements of a part come before an index.
    fn before(self, part: usize, index: usize) -> usize {
        if self.is_cyclic {
            return index.saturating_sub(part).div_ceil(self.parts);
        }
        let block = self.divisor.by();
        let len = block.min(self.len.saturating_sub(part * block));
        index.saturating_sub(part * block).min(len)
    }

    /// The layout in words: `in blocks of 4 over 3 workers`.
    pub(super) fn words(self) -> String {
        let workers = if self.parts == 1 { "worker" } else { "workers" };
        match self.is_cyclic {
            true => format!("in turn over {} {workers}", self.parts),
            false => {
                format!("in blocks of {} over {} {workers}", self.divisor.by(), self.parts)
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Spread;

    #[test]
    fn each_element_has_one_place_and_each_place_one_element() {
        for (len, parts, is_cyclic) in
            (0..30).flat_map(|len| (1..6).flat_map(move |parts| [(len, parts, false), (len, parts, true)]))
        {
            let spread = Spread::new(len, parts, is_cyclic);
            let mut all = Vec::new();
            for part in 0..parts {
                for offset in 0..spread.len_of(part) {
                    let index = spread.index(part, offset);
                    assert_eq!(spread.find(index).map(|(part, at)| (part, at.get())), Some((part, offset)));
                    all.push(index);
                }
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..len), "{spread:?}");
            assert_eq!(spread.find(len), None);
        }
    }

    #[test]
    fn a_range_is_found_in_each_part() {
        for (len, parts, is_cyclic) in
            [(17, 4, false), (17, 4, true), (3, 5, false), (3, 5, true), (16, 4, false)]
        {
            let spread = Spread::new(len, parts, is_cyclic);
            for range in (0..=len).flat_map(|start| (start..=len).map(move |end| start..end)) {
                for part in 0..parts {
                    let within = spread.within(part, &range);
                    for offset in 0..spread.len_of(part) {
                        let is_in = range.contains(&spread.index(part, offset));
                        assert_eq!(within.contains(&offset), is_in, "{spread:?} {range:?} {part} {offset}");
                    }
                }
            }
        }
    }
}
