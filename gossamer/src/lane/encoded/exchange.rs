//! What a worker keeps for its lanes to other processes: arguments that were sent ahead of their requests, and answers
//! that come apart from their responses.

use crate::lane::error::DelegationError;
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

/// Arguments that were sent ahead, by client and ticket. The one thing here that is not one worker's: another may read the
/// connection that they come on.
#[derive(Default)]
pub(crate) struct Ahead(Mutex<HashMap<(usize, u64), Vec<u8>>>);

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, HashMap<(usize, u64), Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More bytes of arguments of a request that will come.
    pub(crate) fn arrive(&self, client: usize, ticket: u64, total: usize, bytes: &[u8]) {
        let mut ahead = self.lock();
        let arguments = ahead.entry((client, ticket)).or_insert_with(|| Vec::with_capacity(total));
        arguments.extend_from_slice(bytes);
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

    /// More bytes of arguments of a request that will come.
    pub(crate) fn arrive(&self, client: usize, ticket: u64, total: usize, bytes: &[u8]) {
        self.ahead.arrive(client, ticket, total, bytes);
    }

    /// The arguments of a request, which were sent ahead.
    pub(super) fn take(&self, client: usize, ticket: u64) -> Option<Vec<u8>> {
        self.ahead.lock().remove(&(client, ticket))
    }

    /// Keeps an answer that goes apart; its ticket.
    pub(super) fn answer_late(&self, client: usize, outcome: Result<Vec<u8>, DelegationError>) -> u64 {
        let ticket = self.ticket();
        self.late.borrow_mut().push(Late { client, ticket, outcome });
        ticket
    }

    /// The answers that have to be sent.
    #[inline]
    pub(crate) fn take_late(&self) -> Vec<Late> {
        self.late.take()
    }
}
