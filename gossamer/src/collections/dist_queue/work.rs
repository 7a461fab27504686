//! Going through a [`DistQueue`]: what the fiber of each worker does.

use crate::collections::DistQueue;
use crate::collections::call_id::CallId;
use crate::collections::near::some_part;
use crate::collections::outstanding::{Claim, Outstanding, StopOnDrop, does_items_of, give_back};
use crate::lane::catch::resume_saying;
use crate::trust::{rethrow, spawn_around};
use crate::worker::{Cancelled, require_fiber};
use crate::{NoRef, Pending, Trust, Trustee, entrust, sleep, yield_now};
use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Items that a worker takes from its own part at a time, at most: nobody else can take them then.
const MOST_IN_HAND: usize = 32;
/// How long it does items before it gives the others that it has taken back, and others on its worker run.
const TURN: Duration = Duration::from_micros(50);
/// Items between two looks at the clock, at most: so many may take long before it is known.
const MOST_BETWEEN: usize = 8;
/// Items that it takes from the part of another worker.
const MOST_STOLEN: usize = 1024;
/// How long a worker without work waits before it looks again: at first, and at most.
const IDLE: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];

impl<T: NoRef> DistQueue<T> {
    #[track_caller]
    pub(super) fn run<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, &mut Vec<T>),
    {
        require_fiber("par_for_each");
        loop {
            let claim = Claim::wait_for(&self.under_way);
            // Items that others push meanwhile are not counted, so the workers may end before these are done.
            let items = self.len();
            if items == 0 {
                return;
            }
            self.run_counted::<N, _, _, _>(items, claim, closure, &arguments);
        }
    }

    /// Runs until this many items, and those that follow from them, are done.
    #[track_caller]
    fn run_counted<N, C: NoRef + Clone, F, G>(&self, items: usize, claim: Claim, closure: F, arguments: &C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, &mut Vec<T>),
    {
        let id = claim.id();
        let remaining = entrust(Outstanding { items, is_stopped: false, _claim: claim });
        type Share<T, C> = (usize, CallId, DistQueue<T>, Trust<Outstanding>, C);
        let fiber = move |(number, id, queue, remaining, arguments): Share<T, C>| {
            does_items_of(id);
            // If an item that others have cannot travel, the loop ends, too.
            let _stop = StopOnDrop(remaining.clone());
            queue.work(number, &remaining, closure(arguments));
        };
        // If the caller is cancelled, they end with their present items, so that no item is lost.
        let _stop = StopOnDrop(remaining.clone());
        let mut fibers = Vec::new();
        // Not `map`, whose closure would be named as the caller when a panic is reported.
        for (number, trustee) in self.parts.trustees().into_iter().enumerate() {
            let arguments = (number, id, self.clone(), remaining.clone(), arguments.clone());
            fibers.push(spawn_around::<N, _, _, _>(trustee, fiber, arguments, Location::caller()));
        }
        let mut first = None;
        for fiber in fibers {
            if let Err(error) = fiber.try_join() {
                first.get_or_insert(error);
            }
        }
        self.under_way.apply_with(give_back, id);
        if let Some(error) = first {
            rethrow(error, Location::caller());
        }
    }

    /// What the fiber of one worker does.
    fn work(&self, number: usize, remaining: &Trust<Outstanding>, mut each: impl FnMut(T, &mut Vec<T>)) {
        let (mut idle, mut pace) = (IDLE[0], Pace { most: 1, between: 1 });
        let mut items = DoneItems { remaining, done: 0, told: None };
        loop {
            let mut hand = self.take_own(pace.most);
            if hand.is_empty() {
                hand = self.steal(number, pace.most);
            }
            let (had, mut more) = (hand.len(), Vec::new());
            let outcome = call_some(&mut hand, &mut more, &mut pace, &mut each);
            let done = had - hand.len();
            // Counted before others can take the new items, so that none is done before it is counted.
            let is_over = if had == 0 || outcome.is_err() {
                items.tell(more.len(), done, outcome.is_err())
            } else {
                items.note(more.len(), done)
            };
            self.add(hand.into_iter().chain(more));
            if let Err(payload) = outcome {
                resume_saying(payload, |message| format!("an item of a queue: {message}"));
            }
            if is_over {
                return;
            }
            if had == 0 {
                sleep(idle);
                idle = (2 * idle).min(IDLE[1]);
            } else {
                idle = IDLE[0];
                yield_now();
            }
        }
    }

    /// Adds items to this worker's part, or to the first one.
    #[track_caller]
    pub(super) fn add(&self, items: impl IntoIterator<Item = T>) {
        let mut items: Vec<T> = items.into_iter().collect();
        let own = |part: &mut VecDeque<T>| part.extend(items.drain(..));
        if self.own(own).is_none() {
            let extend = const { |part: &mut VecDeque<T>, items: Vec<T>| part.extend(items) };
            self.parts.update_with(0, extend, items);
        }
    }

    /// The last of this worker's items, at most half of them, so that others find some.
    fn take_own(&self, most: usize) -> VecDeque<T> {
        let take = |part: &mut VecDeque<T>| part.split_off(part.len() - part.len().div_ceil(2).min(most));
        self.own(take).unwrap_or_default()
    }

    /// Applies a closure to this worker's part, if it has one.
    #[track_caller]
    fn own<R>(&self, closure: impl FnOnce(&mut VecDeque<T>) -> R) -> Option<R> {
        let own = some_part(&self.parts, Trustee::here())?;
        self.parts.parts[own].apply_here(|part| part.first_mut().map(closure))
    }

    /// The first items of another worker, at most half of them. All but a few go into this worker's part.
    fn steal(&self, number: usize, most: usize) -> VecDeque<T> {
        let take = const {
            |part: &mut VecDeque<T>, ()| {
                part.drain(..part.len().div_ceil(2).min(MOST_STOLEN)).collect::<Vec<_>>()
            }
        };
        let workers = self.parts.len();
        for other in (number + 1..workers).chain(0..number) {
            let stolen = self.parts.update_with(other, take, ());
            if !stolen.is_empty() {
                self.add(stolen);
                return self.take_own(most);
            }
        }
        VecDeque::new()
    }
}

/// What a worker has done of the items that are outstanding.
struct DoneItems<'a> {
    remaining: &'a Trust<Outstanding>,
    /// Not told yet. So there are never more items than are counted as outstanding.
    done: usize,
    /// Told, and whether the loop is over is not answered yet.
    told: Option<Pending<bool>>,
}

impl DoneItems<'_> {
    /// Counts what a worker that has more to do has added and done, and waits for nothing unless it has added more than
    /// it has done. Returns whether the loop is known to be over.
    fn note(&mut self, added: usize, done: usize) -> bool {
        if added > self.done + done {
            return self.tell(added, done, false);
        }
        self.done = self.done + done - added;
        if self.told.as_ref().is_some_and(|told| !told.is_finished()) {
            return false;
        }
        let is_over = self.told.take().is_some_and(Pending::wait);
        let done = mem::take(&mut self.done);
        self.told = Some(self.remaining.apply_with_async(Outstanding::count, (0, done, false)));
        is_over
    }

    /// Like [`note`](Self::note), and waits until it is known whether the loop is over.
    fn tell(&mut self, added: usize, done: usize, failed: bool) -> bool {
        // Its answer is older than the next one.
        let was_over = self.told.take().is_some_and(Pending::wait);
        let done = mem::take(&mut self.done) + done;
        self.remaining.apply_with(Outstanding::count, (added, done, failed)) || was_over
    }
}

/// How fast a worker gets on.
struct Pace {
    /// Items that it takes next, at most.
    most: usize,
    /// Items before it looks at the clock.
    between: usize,
}

/// Calls the closure for the items in hand, the last one first, for the length of a turn. After it, and after a panic,
/// the remaining ones stay.
fn call_some<T>(
    hand: &mut VecDeque<T>,
    more: &mut Vec<T>,
    pace: &mut Pace,
    each: &mut impl FnMut(T, &mut Vec<T>),
) -> Result<(), Box<dyn Any + Send>> {
    let (had, begun) = (hand.len(), Instant::now());
    let run = AssertUnwindSafe(|| {
        let mut in_turn = Duration::ZERO;
        while in_turn < TURN && !hand.is_empty() {
            for _ in 0..pace.between {
                let Some(item) = hand.pop_back() else { break };
                each(item, more);
            }
            let took = begun.elapsed() - in_turn;
            in_turn += took;
            pace.between = if took < TURN / 2 { (2 * pace.between).min(MOST_BETWEEN) } else { 1 };
        }
        pace.most = if in_turn < TURN { (2 * pace.most).min(MOST_IN_HAND) } else { had - hand.len() };
    });
    match catch_unwind(run) {
        Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
        outcome => outcome,
    }
}
