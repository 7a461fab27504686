//! All-to-all exchange of values between workers: a run for each pair.

use crate::collections::layout::{Spread, require_length};
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements, Layout};
use crate::sys::memory::large_pages;
use crate::trust::FibersOfCall;
use crate::worker::require_fiber;
use crate::{NoRef, Trust, Trustee, entrust, spawn_on_with};

/// What has arrived at one worker: a run from each part.
pub(super) type ArrivedRuns<T> = Vec<Vec<T>>;

/// Where the values for each worker arrive.
pub(super) type RunArrivals<T> = Vec<Trust<ArrivedRuns<T>>>;

/// Makes room on each worker for a run from each of `parts` parts.
#[track_caller]
pub(super) fn arrivals<T: NoRef>(trustees: &[Trustee], parts: usize) -> RunArrivals<T> {
    let room = const {
        |parts: usize| -> Trust<ArrivedRuns<T>> { entrust((0..parts).map(|_| Vec::new()).collect()) }
    };
    let start = |trustee: &Trustee| spawn_on_with(*trustee, room, parts);
    trustees.iter().map(start).collect::<FibersOfCall<_>>().joined()
}

/// Sends what part `from` has for each worker, and waits until all of it is there. Inside a process a run is moved.
pub(super) fn send_runs<T: NoRef>(
    arrivals: &RunArrivals<T>,
    from: usize,
    runs: impl IntoIterator<Item = (usize, Vec<T>)>,
) {
    let arrive = const { |arrived: &mut ArrivedRuns<T>, (from, run): (usize, Vec<T>)| arrived[from] = run };
    let send = |(to, run): (usize, Vec<T>)| arrivals[to].apply_with_async(arrive, (from, run));
    let runs = runs.into_iter().filter(|(_, run)| !run.is_empty());
    let pending: Vec<_> = runs.map(send).collect();
    for pending in pending {
        pending.wait();
    }
}

/// What has arrived.
pub(super) fn take_runs<T: NoRef>(arrived: &Trust<ArrivedRuns<T>>) -> ArrivedRuns<T> {
    arrived.apply_here(std::mem::take)
}

/// A vector in blocks, made of the values of some workers, one after another; for each worker, `uneven` has a
/// property and its length.
#[track_caller]
pub(super) fn balanced<T: NoRef>(uneven: Vec<(Trust<Vec<T>>, usize)>) -> DistVec<T> {
    let trustees: Vec<_> = uneven.iter().map(|(values, _)| values.trustee()).collect();
    let len = uneven.iter().map(|(_, count)| count).sum();
    let (trustees, spread) = Layout::block(len).on(&trustees).spread();
    let arrivals = arrivals::<T>(&trustees, trustees.len());
    let send = const {
        |(from, first, spread, values, arrivals): (usize, usize, Spread, Trust<Vec<T>>, RunArrivals<T>)| {
            let mut values = values.apply_here(std::mem::take);
            let mut runs = Vec::new();
            // From the end, so that values that stay are not moved.
            for to in (0..arrivals.len()).rev() {
                let start = spread.index(to, 0).max(first).min(first + values.len());
                runs.push((to, values.split_off(start - first)));
            }
            send_runs(&arrivals, from, runs);
        }
    };
    let (mut fibers, mut first) = (FibersOfCall::new(), 0);
    for (from, (values, count)) in uneven.into_iter().enumerate() {
        let arguments = (from, first, spread, values, arrivals.clone());
        fibers.push(spawn_on_with(trustees[from], send, arguments));
        first += count;
    }
    fibers.joined();
    let keep = const {
        |(part, spread, arrived): (usize, Spread, Trust<ArrivedRuns<T>>)| {
            let mut values = large_pages::with_capacity(spread.len_of(part));
            take_runs(&arrived).iter_mut().for_each(|run| values.append(run));
            entrust(Elements::new(part, spread, values))
        }
    };
    let start = |(part, arrived): (usize, Trust<ArrivedRuns<T>>)| {
        spawn_on_with(trustees[part], keep, (part, spread, arrived))
    };
    let parts = arrivals.into_iter().enumerate().map(start).collect::<FibersOfCall<_>>().joined();
    DistVec { parts: parts.into(), spread }
}

impl<T: NoRef + Clone> DistVec<T> {
    /// A vector of clones of the elements, in another layout.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let blocks = DistVec::from_fn(5, |index| index);
    /// let turns = blocks.with_layout(Layout::cyclic(5));
    /// assert_eq!(turns.to_vec(), blocks.to_vec());
    /// assert_eq!(turns.local(|elements| elements.to_vec()), Some(vec![0, 2, 4]));
    /// # });
    /// ```
    ///
    /// # Cost
    /// A request from each worker that has elements to each that gets some, with all of them at once; so elements can
    /// be in memory twice. Two fibers on each worker.
    ///
    /// # Panics
    /// If the layout is for another number of elements; and like [`from_fn`](Self::from_fn).
    #[track_caller]
    #[must_use]
    pub fn with_layout(&self, layout: impl Into<Layout>) -> DistVec<T> {
        require_fiber("with_layout");
        let (trustees, spread) = layout.into().spread();
        require_length(spread, self.len());
        let arrivals = self.send_all(&trustees, spread);
        let keep = const {
            |(part, from, spread, arrived): (usize, Spread, Spread, Trust<ArrivedRuns<T>>)| {
                entrust(Elements::new(part, spread, in_order(take_runs(&arrived), from, part, spread)))
            }
        };
        let start = |(part, arrived): (usize, Trust<ArrivedRuns<T>>)| {
            spawn_on_with(trustees[part], keep, (part, self.spread, spread, arrived))
        };
        let fibers = arrivals.into_iter().enumerate().map(start).collect::<FibersOfCall<_>>();
        let parts = fibers.joined();
        DistVec { parts: parts.into(), spread }
    }

    /// Sends a clone of each element to its place in another layout.
    #[track_caller]
    fn send_all(&self, trustees: &[Trustee], spread: Spread) -> RunArrivals<T> {
        let arrivals = arrivals::<T>(trustees, self.parts.len());
        let send = const {
            |part: &OwnPart<T>, (to, arrivals): (Spread, RunArrivals<T>)| {
                let runs = runs_for(part, to);
                send_runs(&arrivals, part.number, runs.into_iter().enumerate());
            }
        };
        self.on_parts_as_is(send, (spread, arrivals.clone()));
        arrivals
    }
}

/// Clones of the elements of a part, for each part of another layout.
pub(super) fn runs_for<T: NoRef + Clone>(part: &OwnPart<T>, to: Spread) -> ArrivedRuns<T> {
    // As many for each, unless both layouts are in blocks.
    let usual = part.len().div_ceil(to.parts());
    let mut runs: ArrivedRuns<T> = (0..to.parts()).map(|_| large_pages::with_capacity(usual)).collect();
    part.for_each(|index, element| {
        if let Some((at, _)) = to.find(index) {
            runs[at].push(element.clone());
        }
    });
    runs
}

/// The elements of a part, from what each part of another layout has sent.
pub(super) fn in_order<T>(arrived: ArrivedRuns<T>, from: Spread, part: usize, spread: Spread) -> Vec<T> {
    let mut values = large_pages::with_capacity(spread.len_of(part));
    if !from.is_cyclic() {
        // All that come from one block are before those of the next.
        arrived.into_iter().for_each(|mut run| values.append(&mut run));
        return values;
    }
    let mut runs: Vec<_> = arrived.into_iter().map(Vec::into_iter).collect();
    let source = |offset| from.find(spread.index(part, offset));
    values.extend((0..spread.len_of(part)).filter_map(source).filter_map(|(source, _)| runs[source].next()));
    values
}
