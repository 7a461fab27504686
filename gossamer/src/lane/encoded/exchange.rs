//! What a worker keeps for its lanes to other processes: arguments that were sent ahead of their requests, and answers
//! that come apart from their responses.

use crate::lane::error::DelegationError;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// An answer that found no room in its response.
pub(crate) struct Late {
    /// Index of the worker that asked.
    pub(crate) client: usize,
    pub(crate) ticket: u64,
    pub(crate) outcome: Result<Vec<u8>, DelegationError>,
}

/// Used by one worker.
#[derive(Default)]
pub(crate) struct Exchange {
    /// By client and ticket.
    ahead: RefCell<HashMap<(usize, u64), Vec<u8>>>,
    late: RefCell<Vec<Late>>,
    tickets: Cell<u64>,
}

impl Exchange {
    /// A number that this worker has not given before, below 2^63.
    pub(crate) fn ticket(&self) -> u64 {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        ticket
    }

    /// More bytes of arguments of a request that will come.
    pub(crate) fn arrive(&self, client: usize, ticket: u64, total: usize, bytes: &[u8]) {
        let mut ahead = self.ahead.borrow_mut();
        let arguments = ahead.entry((client, ticket)).or_insert_with(|| Vec::with_capacity(total));
        arguments.extend_from_slice(bytes);
    }

    /// The arguments of a request, which were sent ahead.
    pub(super) fn take(&self, client: usize, ticket: u64) -> Option<Vec<u8>> {
        self.ahead.borrow_mut().remove(&(client, ticket))
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
