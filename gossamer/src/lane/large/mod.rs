//! Values too large for a slot, between nodes.
//!
//! ```text
//! sender                          fabric                 reader
//! Rows ──Progress/LargeValue►  fragments, in order  ──►  Arrivals: rows of their final size
//! request with the ticket ──►        slot           ──►  takes the rows of the ticket
//! ```
//!
//! A large value has a **ticket**, a number that its sender assigns once. It is sent ahead of the request that names
//! the ticket, row by row, in fragments (`Fabric::send`): it is copied once into the fabric and once out of it, into
//! memory that becomes the receiver's vector. A fabric that reads memory of another process takes long rows as they are
//! (`Fabric::send_row`), and copies nothing. A fiber that finds the fabric busy waits, and lets the requests of others
//! pass. Code that cannot wait leaves the value with its request in the lane's backlog, and keeps the backlog's order.
//! By W7 the value is there when its request is.
//!
//! Arguments, results and errors take the same way: the trustee sends what does not fit a response as the argument of a
//! request to the client. Large results do not wait in the backlog: their worker sends them, and then their requests.

mod arrivals;
mod exchange;
mod outgoing;

pub(crate) use arrivals::Arrivals;
pub(crate) use exchange::{Exchange, Late};
pub(crate) use outgoing::{LargeValue, Progress};
