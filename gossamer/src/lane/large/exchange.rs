//! What a worker keeps of the large values of its lanes: those that arrive, and answers that are sent separately from
//! their responses.

use crate::lane::error::DelegationError;
use crate::lane::large::Arrivals;
use crate::wire::rows::Rows;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// An answer that found no room in its response.
pub(crate) struct Late {
    /// Index of the worker that asked.
    pub(crate) client: usize,
    pub(crate) ticket: u64,
    pub(crate) outcome: Result<Rows, DelegationError>,
}

/// Used by one worker.
pub(crate) struct Exchange {
    incoming: Arc<Arrivals>,
    late: RefCell<Vec<Late>>,
    /// Bytes of these answers.
    late_bytes: Cell<usize>,
    tickets: Cell<u64>,
}

impl Exchange {
    pub(crate) fn new(incoming: Arc<Arrivals>) -> Self {
        Self { incoming, late: RefCell::default(), late_bytes: Cell::default(), tickets: Cell::default() }
    }

    /// A number that this worker has not used before, below 2^63.
    pub(crate) fn ticket(&self) -> u64 {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        ticket
    }

    /// Large values for this worker.
    pub(crate) fn incoming(&self) -> &Arrivals {
        &self.incoming
    }

    /// Keeps an answer that is sent separately. Returns its ticket.
    pub(in crate::lane) fn answer_late(&self, client: usize, outcome: Result<Rows, DelegationError>) -> u64 {
        let ticket = self.ticket();
        let bytes = outcome.as_ref().map_or(0, Rows::bytes_of_all);
        self.late_bytes.set(self.late_bytes.get() + bytes);
        self.late.borrow_mut().push(Late { client, ticket, outcome });
        ticket
    }

    /// Whether an answer has to be sent.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.borrow().is_empty()
    }

    /// How many bytes they have.
    #[inline(always)]
    pub(crate) fn late_bytes(&self) -> usize {
        self.late_bytes.get()
    }

    /// The answers that have to be sent.
    #[inline]
    pub(crate) fn take_late(&self) -> Vec<Late> {
        self.late_bytes.set(0);
        self.late.take()
    }
}
