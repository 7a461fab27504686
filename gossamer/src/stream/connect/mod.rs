//! How two ends come together: in one process, by an address, or as the two ends of a channel between workers.

mod acceptor;
pub(crate) mod channel;
pub(crate) mod listener;
pub(crate) mod pair;
pub(crate) mod parameters;
mod party;
#[cfg(not(loom))]
mod rdma;
mod routes;
#[cfg(not(loom))]
pub(crate) mod statement;
