//! Answers that one worker waits for under tickets.

use crate::lane::catch;
use crate::lane::error::DelegationError;
use crate::wire::rows::Rows;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// An answer as it arrives: an encoded result, or why there is none.
pub(crate) type Outcome = Result<Rows, DelegationError>;

/// What to do with an answer that arrives separately.
pub(crate) type Then = Box<dyn FnOnce(Outcome)>;

/// Names an answer: the worker that made the number, and the number.
type Ticket = (usize, u64);

/// Answers that arrive separately from their responses, and the code that waits for them. Either may be here first.
#[derive(Default)]
pub(crate) struct Answers {
    open: RefCell<HashMap<Ticket, Expectation>>,
    /// Answers that have arrived since the last look, with the code that waits for them. It is called from the loop,
    /// not in the delegated closure that brought the answer.
    ready: RefCell<Vec<(Then, Outcome)>>,
}

enum Expectation {
    Awaited(Then),
    Arrived(Outcome),
}

impl Answers {
    fn meet(&self, ticket: Ticket, this: Expectation) {
        let mut open = self.open.borrow_mut();
        match open.entry(ticket) {
            Entry::Vacant(place) => {
                place.insert(this);
            }
            Entry::Occupied(other) => match (other.remove(), this) {
                (Expectation::Awaited(then), Expectation::Arrived(outcome))
                | (Expectation::Arrived(outcome), Expectation::Awaited(then)) => {
                    self.ready.borrow_mut().push((then, outcome));
                }
                // Each number is assigned once.
                _ => {}
            },
        }
    }

    /// Arranges that `then` is called with an answer, now or later, from the loop.
    pub(crate) fn expect(&self, ticket: Ticket, then: Then) {
        self.meet(ticket, Expectation::Awaited(then));
    }

    /// An answer has arrived.
    pub(super) fn arrive(&self, ticket: Ticket, outcome: Outcome) {
        self.meet(ticket, Expectation::Arrived(outcome));
    }

    /// There will be no answer under this ticket: dropping the waiting code tells it so.
    pub(crate) fn withdraw(&self, ticket: (u32, u64)) {
        let awaited = self.open.borrow_mut().remove(&(ticket.0 as usize, ticket.1));
        // Outside the borrow: it may wake a fiber.
        drop(awaited);
    }

    /// The answers that have arrived, each with the code that waits for it.
    pub(super) fn take_ready(&self) -> Vec<(Then, Outcome)> {
        self.ready.take()
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// There will be no answers any more.
    pub(in crate::worker) fn close(&self) {
        let (open, ready) = (self.open.take(), self.ready.take());
        open.into_values().for_each(|expectation| catch::contained(|| drop(expectation)));
        ready.into_iter().for_each(|ready| catch::contained(|| drop(ready)));
    }
}
