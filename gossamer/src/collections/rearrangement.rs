//! [`Rearrangement`]: a call that moves elements of a vector between its parts.

use crate::collections::call_id::CallId;
use crate::collections::{DistVec, Elements};
use crate::{NoRef, sleep};
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

/// How long a call waits before it looks again whether one that has failed has ended: at first, and at most.
const WAITS: [Duration; 2] = [Duration::from_micros(5), Duration::from_millis(1)];

/// The elements on their way into a part.
pub(super) struct IncomingElements<T> {
    /// The latest rearrangement that the part has heard of, and whether it has failed. They are numbered by the first
    /// part.
    latest: u64,
    has_failed: bool,
    /// Noted by the first part only.
    under_way: Option<CurrentCall>,
    /// Its elements, with the parts that they come from.
    runs: Vec<(usize, Vec<T>)>,
}

/// The rearrangement under way.
struct CurrentCall {
    id: CallId,
    called_at: String,
    /// It has failed, and ends when all parts have heard of that.
    is_ending: bool,
}

/// Why a rearrangement cannot begin.
#[derive(NoRef)]
enum NotBegun {
    /// Another one is under way, which was called there.
    Busy(String),
    /// One that has failed is about to end.
    Ending,
}

impl<T> Default for IncomingElements<T> {
    fn default() -> Self {
        Self { latest: 0, has_failed: false, under_way: None, runs: Vec::new() }
    }
}

impl<T> IncomingElements<T> {
    /// The number of a new rearrangement.
    fn begin(&mut self, id: CallId, called_at: String) -> Result<u64, NotBegun> {
        match &self.under_way {
            Some(other) if other.is_ending => return Err(NotBegun::Ending),
            Some(other) => return Err(NotBegun::Busy(other.called_at.clone())),
            None => self.under_way = Some(CurrentCall { id, called_at, is_ending: false }),
        }
        self.hear_of(self.latest + 1);
        Ok(self.latest)
    }

    /// Elements of earlier rearrangements that are still here are of ones that have failed.
    fn hear_of(&mut self, number: u64) {
        if number > self.latest {
            (self.latest, self.has_failed) = (number, false);
            self.runs.clear();
        }
    }

    fn arrive(&mut self, number: u64, from: usize, run: Vec<T>) {
        self.hear_of(number);
        // Otherwise it is late, from a fiber of a rearrangement that has failed.
        if number == self.latest && !self.has_failed {
            self.runs.push((from, run));
        }
    }

    /// What has arrived from each of `parts` parts.
    pub(super) fn take(&mut self, number: u64, parts: usize) -> Vec<Vec<T>> {
        self.hear_of(number);
        let mut taken: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        self.runs.drain(..).for_each(|(from, run)| taken[from] = run);
        taken
    }

    fn begin_to_end(&mut self, id: CallId) {
        if let Some(under_way) = self.under_way.as_mut().filter(|under_way| under_way.id == id) {
            under_way.is_ending = true;
        }
    }

    fn end(&mut self, id: CallId) {
        self.under_way.take_if(|under_way| under_way.id == id);
    }

    fn fail(&mut self, number: u64) {
        self.hear_of(number);
        if number == self.latest {
            self.has_failed = true;
            self.runs.clear();
        }
    }
}

/// A rearrangement under way; a vector has one at a time. Elements are copied to the parts where they belong, and when
/// all are there, each part takes what has arrived, in one delegated closure: that cannot be cancelled, so no element
/// is lost.
pub(super) struct Rearrangement<'a, T: NoRef> {
    vector: &'a DistVec<T>,
    id: CallId,
    pub(super) number: u64,
    has_ended: bool,
}

impl<'a, T: NoRef> Rearrangement<'a, T> {
    /// Waits for one that has failed to end.
    ///
    /// # Panics
    /// If another one is under way.
    #[track_caller]
    pub(super) fn begin(vector: &'a DistVec<T>) -> Self {
        let id = CallId::new();
        // Made first, so that it ends even if the caller is cancelled while it waits for the number.
        let mut begun = Self { vector, id, number: 0, has_ended: false };
        let begin = const {
            |elements: &mut Elements<T>, (id, place): (CallId, String)| elements.incoming().begin(id, place)
        };
        let mut wait = WAITS[0];
        loop {
            match vector.parts[0].apply_with(begin, (id, Location::caller().to_string())) {
                Ok(number) => {
                    begun.number = number;
                    return begun;
                }
                Err(NotBegun::Busy(other)) => {
                    panic!("the vector is being sorted by the call at {other}: wait until that has ended")
                }
                Err(NotBegun::Ending) => sleep(wait),
            }
            wait = (2 * wait).min(WAITS[1]);
        }
    }

    /// Nothing is under way any more.
    #[track_caller]
    pub(super) fn end(mut self) {
        self.has_ended = true;
        let end = const { |elements: &mut Elements<T>, id: CallId| elements.incoming().end(id) };
        self.vector.parts[0].apply_with(end, self.id);
    }
}

impl<T: NoRef> Drop for Rearrangement<'_, T> {
    /// Another one can begin when each part has answered: then it has served all that this one has asked of it, since
    /// requests of a worker are served in order.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (first, id) = (self.vector.parts[0].clone(), self.id);
        let begin_to_end =
            const { |elements: &mut Elements<T>, id: CallId| elements.incoming().begin_to_end(id) };
        first.apply_with_then(begin_to_end, id, drop);
        let end = const { |elements: &mut Elements<T>, id: CallId| elements.incoming().end(id) };
        let fail = const { |elements: &mut Elements<T>, number: u64| elements.incoming().fail(number) };
        let ended = Rc::new(EndOnDrop(Some(move || first.apply_with_then(end, id, drop))));
        for part in self.vector.parts.iter() {
            let ended = Rc::clone(&ended);
            part.apply_with_then(fail, self.number, move |()| drop(ended));
        }
    }
}

/// Does what it has when the last clone is dropped.
struct EndOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for EndOnDrop<F> {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// Sends what part `from` has for each part of a vector, and waits until all of it is there.
#[track_caller]
pub(super) fn send_in<T: NoRef>(
    vector: &DistVec<T>,
    number: u64,
    from: usize,
    runs: impl IntoIterator<Item = (usize, Vec<T>)>,
) {
    let arrive = const {
        |elements: &mut Elements<T>, (number, from, run): (u64, usize, Vec<T>)| {
            elements.incoming().arrive(number, from, run);
        }
    };
    let runs = runs.into_iter().filter(|(_, run)| !run.is_empty());
    let send = |(to, run): (usize, Vec<T>)| vector.parts[to].apply_with_async(arrive, (number, from, run));
    let pending: Vec<_> = runs.map(send).collect();
    for pending in pending {
        pending.wait();
    }
}
