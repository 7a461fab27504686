//! Launching beside other readers, and on several latches at once.

use crate::lane::operation::refuse_captures;
use crate::trust::hold::{HeldCell, hold, hold_to_read};
use crate::trust::launched::Launch;
use crate::trust::spanned;
use crate::trust::spawn::Else;
use crate::trust::{Latch, NoRef, Trust};
use crate::wire::encoder::Encoder;
use std::panic::Location;
use std::sync::Arc;

impl<T: Send + Sync + 'static> Trust<Latch<T>> {
    /// Like [`launch`](Self::launch), for a closure that only reads: several of them hold the latch at the same time.
    ///
    /// It is fair: a reader that arrives after a waiting [`launch`](Self::launch) waits behind it, so that none waits
    /// for ever.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let prices = gossamer::entrust(gossamer::Latch::new(vec![3_u64, 5, 8]));
    /// let sum: u64 = prices.launch_read(|prices| {
    ///     gossamer::sleep(std::time::Duration::from_millis(1)); // others read meanwhile
    ///     prices.iter().sum()
    /// });
    /// assert_eq!(sum, 16);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_read<U: NoRef, F>(&self, closure: F) -> U
    where
        F: FnOnce(&T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.launch_and_wait::<F, _, _, _>(Reading(|value: &T, ()| closure(value)), (), Location::caller())
    }

    /// Like [`launch_read`](Self::launch_read), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let names = gossamer::entrust(gossamer::Latch::new(vec!["tea".to_owned(), "milk".to_owned()]));
    /// assert_eq!(names.launch_read_with(|names, at: usize| names[at].clone(), 1), "milk");
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_read_with<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> U
    where
        F: FnOnce(&T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.launch_and_wait::<F, _, _, _>(Reading(closure), arguments, Location::caller())
    }
}

/// A closure that reads beside others.
struct Reading<F>(F);

impl<T: Sync, C, U, F> Launch<T, C, U> for Reading<F>
where
    F: FnOnce(&T, C) -> U + Send + 'static,
{
    fn run(self, cell: Arc<HeldCell<T>>, arguments: C) -> U {
        let held = hold_to_read(cell, "launch_read");
        (self.0)(held.value(), arguments)
    }
}

impl<T: Send + 'static> Trust<Latch<T>> {
    /// Runs a closure with several latches of one trustee held, in a fiber there, and returns its result.
    ///
    /// The latches are taken in a fixed order, whatever the order of `latches`, so two such closures never wait for
    /// each other. The values come in the order of `latches`. It costs one request, like [`launch`](Self::launch),
    /// and a list at the trustee.
    ///
    /// Latches of several trustees cannot be held at once, since the values do not leave their trustee: entrust what
    /// has to change together to one trustee, or launch from a launched closure, always in the same order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, Trust, Trustee};
    /// let bank = Trustee::all()[1];
    /// let accounts = [100_u64, 5].map(|coins| bank.entrust(Latch::new(coins)));
    /// let moved = |balances: &mut [&mut u64], coins: u64| {
    ///     *balances[0] -= coins;
    ///     *balances[1] += coins;
    ///     (*balances[0], *balances[1])
    /// };
    /// assert_eq!(Trust::launch_all_with(&accounts, moved, 30), (70, 35));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `latches` is empty, contains one twice, or has those of several trustees; and like
    /// [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_all<U: NoRef, F>(latches: &[Self], closure: F) -> U
    where
        F: FnOnce(&mut [&mut T]) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        Self::launch_on_all::<F, _, _, _>(latches, |values, ()| closure(values), ())
    }

    /// Like [`launch_all`](Self::launch_all), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, Trust, Trustee};
    /// let accounts = [100_u64, 5, 60].map(|coins| Trustee::all()[1].entrust(Latch::new(coins)));
    /// let levy = |balances: &mut [&mut u64], each: u64| {
    ///     balances.iter_mut().filter(|balance| ***balance >= each).map(|balance| **balance -= each).count()
    /// };
    /// assert_eq!(Trust::launch_all_with(&accounts, levy, 30), 2); // nobody saw only one of them change
    /// assert_eq!(accounts.map(|account| account.launch(|balance| *balance)), [70, 5, 30]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`launch_all`](Self::launch_all).
    #[track_caller]
    pub fn launch_all_with<C: NoRef, U: NoRef, F>(latches: &[Self], closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut [&mut T], C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        Self::launch_on_all::<F, _, _, _>(latches, closure, arguments)
    }

    #[track_caller]
    fn launch_on_all<N, C: NoRef, U: NoRef, F>(latches: &[Self], closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut [&mut T], C) -> U + Send + 'static,
    {
        let trustee = match latches {
            [] => panic!("`launch_all` without latches: pass at least one"),
            [first, ..] => first.trustee(),
        };
        assert!(
            latches.iter().all(|latch| latch.trustee() == trustee),
            "`launch_all` of latches of several trustees, whose values cannot be in one place: entrust them to one, or \
             `launch` on one of them in the closure that is launched on another, in the same order everywhere"
        );
        for pair in in_order(latches).windows(2) {
            let (one, other) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            assert!(
                latches[one].property() != latches[other].property(),
                "`launch_all` with the same latch in places {one} and {other}, which would wait for itself"
            );
        }
        let body = |(latches, arguments): (Vec<Self>, C)| {
            let mut held: Vec<_> = latches.iter().map(|_| None).collect();
            for place in in_order(&latches) {
                // The fiber is the trustee's, so this runs at once.
                let cell =
                    latches[place].apply(const { |latch: &mut Latch<T>| LatchCell(Arc::clone(&latch.0)) });
                held[place] = Some(hold(cell.0, "launch_all"));
            }
            let mut values: Vec<&mut T> = held.iter_mut().flatten().map(|held| held.value()).collect();
            closure(&mut values, arguments)
        };
        let arguments = (latches.to_vec(), arguments);
        spanned::start::<N, _, _, _>(trustee, Else::Nowhere, body, arguments, Location::caller()).join()
    }
}

/// The places of latches of one trustee, in the order in which they are taken.
fn in_order<T>(latches: &[Trust<T>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..latches.len()).collect();
    order.sort_unstable_by_key(|place| latches[*place].property());
    order
}

/// The value of a latch for a fiber of its trustee.
struct LatchCell<T>(Arc<HeldCell<T>>);

// SAFETY: it is only ever a result at the trustee's own worker, and refuses to be encoded.
unsafe impl<T: Send + 'static> NoRef for LatchCell<T> {
    fn encode(self, to: &mut Encoder) {
        to.refuse(self);
    }
}
