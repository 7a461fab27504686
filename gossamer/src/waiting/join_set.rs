//! [`JoinSet`]: fibers, and other futures, in the order in which they end.

use crate::lane::error::DelegationError;
use crate::trust::JoinHandle;
use crate::waiting::block_on;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt;
use std::future::Future;

/// A task group: futures, such as the [`JoinHandle`]s of fibers, from which you take the next one that is ready.
///
/// ```
/// use gossamer::{JoinSet, spawn_with};
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let mut squares: JoinSet<_> = (1..=4_u64).map(|number| spawn_with(|number| number * number, number)).collect();
/// let mut sum = 0;
/// while let Some(square) = squares.join_next() {
///     sum += square;
/// }
/// assert_eq!(sum, 30);
/// # });
/// ```
///
/// Dropping it drops the futures, which stops neither fibers nor requests. Each future takes an allocation.
pub struct JoinSet<F: Future>(FuturesUnordered<F>);

impl<F: Future> JoinSet<F> {
    /// An empty set.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, spawn_with};
    /// let mut lengths = JoinSet::new();
    /// for word in ["to", "be", "not"] {
    ///     lengths.insert(spawn_with(|word: String| word.len(), word.to_owned()));
    /// }
    /// assert_eq!(lengths.join_all().iter().sum::<usize>(), 7);
    /// # });
    /// ```
    pub fn new() -> Self {
        Self(FuturesUnordered::new())
    }

    /// Adds a future.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, spawn};
    /// let mut fibers = JoinSet::new();
    /// fibers.insert(spawn(|| 7));
    /// assert_eq!(fibers.join_next(), Some(7));
    /// # });
    /// ```
    pub fn insert(&mut self, future: F) {
        self.0.push(future);
    }

    /// How many futures have not been taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, spawn};
    /// let mut fibers = JoinSet::new();
    /// fibers.insert(spawn(|| 7));
    /// assert_eq!(fibers.len(), 1);
    /// # fibers.join_next();
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all futures have been taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let mut fibers = gossamer::JoinSet::new();
    /// fibers.insert(gossamer::spawn(|| 42));
    /// assert!(!fibers.is_empty());
    /// assert_eq!(fibers.join_next(), Some(42));
    /// assert!(fibers.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for the next future that is ready; `None` if all have been taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, spawn};
    /// let mut fibers = JoinSet::new();
    /// fibers.insert(spawn(|| 7));
    /// assert_eq!((fibers.join_next(), fibers.join_next()), (Some(7), None));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If that future panics, such as the handle of a fiber that panicked: the set stays usable, without it. And in a
    /// delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn join_next(&mut self) -> Option<F::Output> {
        block_on(self.join_next_async())
    }

    /// Like [`join_next`](Self::join_next), as a future. Dropping it before it is ready loses nothing.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, block_on, spawn_with};
    /// let mut squares: JoinSet<_> = (1..=3_u64).map(|number| spawn_with(|number| number * number, number)).collect();
    /// let sum = block_on(async {
    ///     let mut sum = 0;
    ///     while let Some(square) = squares.join_next_async().await {
    ///         sum += square;
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 14);
    /// # });
    /// ```
    pub async fn join_next_async(&mut self) -> Option<F::Output> {
        self.0.next().await
    }

    /// Waits for all, and returns their results in the order in which they became ready.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{JoinSet, spawn};
    /// let mut fibers = JoinSet::new();
    /// (0..3).for_each(|_| fibers.insert(spawn(|| 7)));
    /// assert_eq!(fibers.join_all(), [7, 7, 7]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// As soon as one of them does; and in a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn join_all(self) -> Vec<F::Output> {
        block_on(self.0.collect())
    }
}

impl<U> JoinSet<JoinHandle<U>> {
    /// Cancels the fibers that have not been taken ([`JoinHandle::cancel`]), waits until they have ended, and returns
    /// the outcome of each, in no particular order: those that had ended by then have a result.
    ///
    /// ```
    /// use gossamer::{JoinSet, sleep, spawn_with};
    /// use std::time::Duration;
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let race = |seconds| { sleep(Duration::from_secs(seconds)); seconds };
    /// let mut racers: JoinSet<_> = [0, 3600].into_iter().map(|seconds| spawn_with(race, seconds)).collect();
    /// assert_eq!(racers.join_next(), Some(0));
    /// assert!(racers.cancel_all()[0].is_err());
    /// # });
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait; and while the caller unwinds from a panic.
    #[track_caller]
    pub fn cancel_all(self) -> Vec<Result<U, DelegationError>> {
        self.0.iter().for_each(JoinHandle::cancel);
        let mut ended = Vec::new();
        // Not in a closure, which would hide the caller's line from reports.
        for fiber in self.0 {
            ended.push(fiber.try_join());
        }
        ended
    }
}

impl<F: Future> Default for JoinSet<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Future> FromIterator<F> for JoinSet<F> {
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        Self(futures.into_iter().collect())
    }
}

impl<F: Future> Extend<F> for JoinSet<F> {
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        self.0.extend(futures);
    }
}

impl<F: Future> fmt::Debug for JoinSet<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish_non_exhaustive()
    }
}
