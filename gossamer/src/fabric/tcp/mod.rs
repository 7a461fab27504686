//! Lane memory of a node on another machine: writes go over a TCP connection, and the worker that reads it lands them.
//!
//! One connection per worker and remote node carries the frames of all its lanes there, in records
//! (`transport::records`): nothing lands that differs from what was sent, or that is out of its place. A connection
//! keeps its order, and the reader lands a header after its body, so the contract holds (W1, W2, W7). Frames wait in
//! memory while the socket takes no more, and lanes have no more under way than they have slots (W3).

#[cfg(all(test, not(loom)))]
mod attacked;
mod connection;
mod endpoint;
pub(crate) mod frame;
mod incoming;
mod outgoing;

pub(crate) use connection::{Connection, Proved, TcpWriter};
pub(crate) use endpoint::{Registered, TcpEndpoint};
