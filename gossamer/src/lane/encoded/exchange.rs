//! What a worker keeps for its lanes to other processes: arguments that were sent ahead of their requests, and answers
//! that come apart from their responses.

use crate::lane::error::DelegationError;
use crate::wire::refusal::Malformed;
use crate::wire::run::{Part, Run};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An answer that found no room in its response.
pub(crate) struct Late {
    /// Index of the worker that asked.
    pub(crate) client: usize,
    pub(crate) ticket: u64,
    pub(crate) outcome: Result<Vec<u8>, DelegationError>,
}

/// Parts of arguments that were sent ahead, by client and ticket. The one thing here that is not one worker's: another may read the
/// connection that they come on.
#[derive(Default)]
pub(crate) struct Ahead(Mutex<Arrived>);

type Arrived = HashMap<(usize, u64), Vec<Run>>;

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece of arguments of a request that will come.
    ///
    /// # Errors
    /// If there is no memory for the part that it is of, or it does not fit that.
    pub(crate) fn arrive(
        &self,
        (client, ticket): (usize, u64),
        part: Part,
        piece: &[u8],
    ) -> Result<(), Malformed> {
        part.arrive(self.lock().entry((client, ticket)).or_default(), piece)
    }
}

/// Used by one worker.
pub(crate) struct Exchange {
    ahead: Arc<Ahead>,
    late: RefCell<Vec<Late>>,
    tickets: Cell<u64>,
}

impl Exchange {
    pub(crate) fn new(ahead: Arc<Ahead>) -> Self {
        Self { ahead, late: RefCell::default(), tickets: Cell::default() }
    }

    /// A number that this worker has not given before, below 2^63.
    pub(crate) fn ticket(&self) -> u64 {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        ticket
    }

    /// What was sent ahead to this worker.
    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// The arguments of a request, which were sent ahead.
    pub(super) fn take(&self, client: usize, ticket: u64) -> Option<Vec<Run>> {
        self.ahead.lock().remove(&(client, ticket))
    }

    /// Keeps an answer that goes apart; its ticket.
    pub(super) fn answer_late(&self, client: usize, outcome: Result<Vec<u8>, DelegationError>) -> u64 {
        let ticket = self.ticket();
        self.late.borrow_mut().push(Late { client, ticket, outcome });
        ticket
    }

    /// Whether an answer has to be sent.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.borrow().is_empty()
    }

    /// The answers that have to be sent.
    #[inline]
    pub(crate) fn take_late(&self) -> Vec<Late> {
        self.late.take()
    }
}
