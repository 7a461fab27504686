//! How two ends connect: in one process, by an address, or as the ends of a channel between workers.

mod acceptor;
pub(crate) mod channel;
pub(crate) mod listener;
mod meeting;
pub(crate) mod pair;
pub(crate) mod parameters;
mod party;
mod rdma;
mod routes;
pub(crate) mod statement;
