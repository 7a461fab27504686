//! Making a [`DistVec`]: each worker makes its own elements.

use crate::collections::element_loop::{BETWEEN, TURN};
use crate::collections::layout::{Spread, require_length};
use crate::collections::{DistVec, Elements, Layout};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::sys::memory::large_pages;
use crate::trust::{FibersOfCall, spawn_around};
use crate::wire::captured::Captured;
use crate::worker::{Cancelled, require_fiber};
use crate::{NoRef, Trust, WithoutCaptures, entrust, yield_now};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::Instant;

/// Elements between two looks at the clock, if they take little time.
const MOST_BETWEEN: usize = 1 << 16;

impl<T: 'static> DistVec<T> {
    /// A vector whose elements are computed from their indices, each on its own worker, by one fiber on each, which lets
    /// the worker serve others every 100 us. The closure runs in that fiber, so it may wait.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let doubled = gossamer::collections::DistVec::from_fn(4, |index| 2 * index);
    /// assert_eq!(doubled.to_vec(), [0, 2, 4, 6]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `make` panics, with the index; where the caller cannot wait; on a thread that is not a worker, unless the
    /// layout names its workers with [`on`](Layout::on); and if a worker would have more than 2^32 - 1 elements.
    #[track_caller]
    pub fn from_fn<F>(layout: impl Into<Layout>, make: F) -> Self
    where
        F: FnOnce(usize) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        Self::made::<F, _, _, _>(layout.into(), move |()| move |index| make(index), ())
    }

    /// Like [`from_fn`](Self::from_fn), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let names = DistVec::from_fn_with(3, |index, prefix: &String| format!("{prefix}{index}"), "node".to_owned());
    /// assert_eq!(names.to_vec(), ["node0", "node1", "node2"]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn from_fn_with<C: NoRef + Clone, F>(layout: impl Into<Layout>, make: F, arguments: C) -> Self
    where
        F: Fn(usize, &C) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index| make(index, &arguments);
        Self::made::<F, _, _, _>(layout.into(), lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __from_fn_with<C: Captured + Clone, F, G>(layout: impl Into<Layout>, arguments: C, make: F) -> Self
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize) -> T,
    {
        const { refuse_captures::<F>() };
        Self::made::<F, _, _, _>(layout.into(), make, arguments)
    }

    #[track_caller]
    fn made<N, C: NoRef + Clone, F, G>(layout: Layout, make: F, arguments: C) -> Self
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize) -> T,
    {
        require_fiber("from_fn");
        let (trustees, spread) = layout.spread();
        let make_part = move |(part, spread, arguments): (usize, Spread, C)| -> Trust<Elements<T>> {
            let values = made_part(part, spread, make(arguments));
            entrust(Elements::new(part, spread, values))
        };
        let mut fibers = FibersOfCall::new();
        // Not `map`, whose closure would be named as the caller when a panic is reported.
        for (part, trustee) in trustees.into_iter().enumerate() {
            let arguments = (part, spread, arguments.clone());
            fibers.push(spawn_around::<N, _, _, _>(trustee, make_part, arguments, Location::caller()));
        }
        Self { parts: fibers.joined().into(), spread }
    }
}

/// The elements of a part, made in turns, between which the worker serves the requests of others.
fn made_part<T>(part: usize, spread: Spread, mut make: impl FnMut(usize) -> T) -> Vec<T> {
    let len = spread.len_of(part);
    let mut values = large_pages::with_capacity(len);
    let run = AssertUnwindSafe(|| {
        let (mut begun, mut between) = (Instant::now(), BETWEEN);
        loop {
            let (some, some_begun) = (values.len()..len.min(values.len() + between), Instant::now());
            values.extend(some.map(|offset| make(spread.index(part, offset))));
            if values.len() == len {
                return;
            }
            // Most elements take next to nothing, less than the clock.
            let is_short = some_begun.elapsed() < TURN / 8;
            between = if is_short { (2 * between).min(MOST_BETWEEN) } else { BETWEEN };
            if begun.elapsed() > TURN {
                yield_now();
                begun = Instant::now();
            }
        }
    });
    if let Err(payload) = catch_unwind(run) {
        if payload.is::<Cancelled>() {
            resume_unwind(payload);
        }
        let index = spread.index(part, values.len());
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    values
}

impl<T: NoRef + Clone> DistVec<T> {
    /// A vector of clones of one value, which each worker makes for itself. One fiber on each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let ones = DistVec::filled(Layout::block(4), 1_u64);
    /// assert_eq!(ones.to_vec(), [1, 1, 1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn filled(layout: impl Into<Layout>, value: T) -> Self {
        require_fiber("filled");
        Self::from_fn_with(layout, const { |_, value: &T| value.clone() }, value)
    }

    /// A vector of clones of these values, in blocks over all workers: [`from_vec`](Self::from_vec) of them.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let list = DistVec::from_slice(&[3_u64, 1, 2]);
    /// assert_eq!(list.get(0), 3);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`from_vec`](Self::from_vec).
    #[track_caller]
    pub fn from_slice(values: &[T]) -> Self {
        require_fiber("from_slice");
        Self::from_vec(values.len(), values.to_vec())
    }
}

impl<T: NoRef> DistVec<T> {
    /// A vector of these values: each worker is sent its elements, by one fiber.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let names = vec!["Ada".to_owned(), "Alan".to_owned(), "Grace".to_owned()];
    /// let names = DistVec::from_vec(Layout::cyclic(names.len()), names);
    /// assert_eq!(names.get(2), "Grace");
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the number of values is not that of the layout; and like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn from_vec(layout: impl Into<Layout>, values: Vec<T>) -> Self {
        require_fiber("from_vec");
        let (trustees, spread) = layout.into().spread();
        require_length(spread, values.len());
        let mut parts: Vec<Vec<T>> =
            (0..spread.parts()).map(|part| large_pages::with_capacity(spread.len_of(part))).collect();
        for (index, value) in values.into_iter().enumerate() {
            if let Some((part, _)) = spread.find(index) {
                parts[part].push(value);
            }
        }
        let keep = const {
            |(part, spread, values): (usize, Spread, Vec<T>)| entrust(Elements::new(part, spread, values))
        };
        let mut fibers = FibersOfCall::new();
        for (part, (trustee, values)) in trustees.into_iter().zip(parts).enumerate() {
            fibers.push(crate::spawn_on_with(trustee, keep, (part, spread, values)));
        }
        Self { parts: fibers.joined().into(), spread }
    }
}

impl<T: NoRef> From<Vec<T>> for DistVec<T> {
    /// In blocks over all workers: [`DistVec::from_vec`].
    #[track_caller]
    fn from(values: Vec<T>) -> Self {
        Self::from_vec(values.len(), values)
    }
}

impl<T: NoRef> FromIterator<T> for DistVec<T> {
    /// In blocks over all workers. Their number is only known at the end, so they are collected here before they are
    /// sent.
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        require_fiber("collect");
        Self::from(values.into_iter().collect::<Vec<_>>())
    }
}
