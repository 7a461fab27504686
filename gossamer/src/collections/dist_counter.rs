//! [`DistCounter`]: a number that is split into a share for each worker.

use crate::collections::near::some_part;
use crate::collections::{DistVec, Elements, Layout};
use crate::lane::context::{self, Context};
use crate::worker::require_fiber;
use crate::{NoRef, Trustee};
use std::fmt;

/// A number that all workers add to and that is seldom read: each worker adds to its own share.
///
/// Handles are cloned and sent like trusts, and all refer to the same number.
///
/// ```
/// use gossamer::collections::{self, DistCounter};
///
/// #[gossamer::delegate]
/// fn count_multiples(of: u64) -> u64 {
///     let found = DistCounter::new();
///     let counter = found.clone();
///     collections::par_for_each(1..1000, move |number| {
///         if number as u64 % of == 0 {
///             counter.add(1);
///         }
///     });
///     found.sum()
/// }
///
/// assert_eq!(gossamer::run(gossamer::Config::default().threads(2), || count_multiples(7)), 142);
/// ```
#[derive(Clone, NoRef)]
pub struct DistCounter {
    /// One element on each worker, in their order.
    shares: DistVec<u64>,
}

impl DistCounter {
    /// Zero, with a share on each worker of all nodes. One request for each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistCounter, par_for_each_with};
    /// let hits = DistCounter::new();
    /// par_for_each_with(0..1000, |_, hits: &DistCounter| hits.add(1), hits.clone()); // on all workers, without a request
    /// assert_eq!(hits.sum(), 1000);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait; on a thread that is not a worker.
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        require_fiber("new");
        Self::on(&Trustee::all())
    }

    /// Zero, with a share on each of these workers. What other workers add is a request to the first of them.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::DistCounter};
    /// let failed = DistCounter::on(&[Trustee::here()]); // one request to read it
    /// failed.add(1);
    /// assert_eq!(failed.sum(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty; where the caller cannot wait.
    #[track_caller]
    #[must_use]
    pub fn on(trustees: &[Trustee]) -> Self {
        require_fiber("on");
        Self { shares: DistVec::filled(Layout::block(trustees.len()).on(trustees), 0) }
    }

    /// Adds to the share of the caller's worker, wrapping. In a fiber this needs no request; in a delegated closure
    /// or a callback it is a request that nobody waits for, and takes effect some time later
    /// ([`rack::wait_all`](crate::rack::wait_all) waits for it).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistCounter;
    /// let served = DistCounter::new();
    /// served.add(2);
    /// served.add(3);
    /// assert_eq!(served.sum(), 5);
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker.
    #[track_caller]
    pub fn add(&self, count: u64) {
        let own = some_part(&self.shares, Trustee::here());
        let add = const { |share: &mut u64, count: u64| *share = share.wrapping_add(count) };
        match own {
            Some(own) if context::current() == Context::Fiber => {
                self.shares.parts[own]
                    .apply_here(|share| share.iter_mut().for_each(|share| add(share, count)));
            }
            _ => self.shares.update_with_then(own.unwrap_or(0), add, count, drop),
        }
    }

    /// The sum of all shares, wrapping. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistCounter;
    /// let served = DistCounter::new();
    /// let fibers = [2, 3].map(|count| gossamer::spawn_with(|(served, count): (DistCounter, u64)| served.add(count), (served.clone(), count)));
    /// fibers.into_iter().for_each(|fiber| fiber.join());
    /// assert_eq!(served.sum(), 5);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    #[must_use]
    pub fn sum(&self) -> u64 {
        require_fiber("sum");
        self.shares.to_vec().into_iter().fold(0, u64::wrapping_add)
    }

    /// Like [`sum`](Self::sum), but also resets each share to zero: what is added meanwhile is neither counted twice
    /// nor lost.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistCounter;
    /// let served = DistCounter::new();
    /// served.add(5);
    /// assert_eq!((served.take(), served.sum()), (5, 0));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`sum`](Self::sum).
    #[track_caller]
    pub fn take(&self) -> u64 {
        require_fiber("take");
        let take = const {
            |shares: &mut Elements<u64>| shares.iter_mut().map(std::mem::take).fold(0, u64::wrapping_add)
        };
        self.shares.map_all(take).into_iter().fold(0, u64::wrapping_add)
    }
}

impl Default for DistCounter {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DistCounter {
    /// Shows the shares, as a [`DistVec`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DistCounter").field(&self.shares).finish()
    }
}
