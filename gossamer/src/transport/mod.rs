//! Connections between processes of an application, for nodes and streams: sockets of either kind, and the proof that both ends know
//! one key.
//!
//! What goes over a connection is its users' matter.

pub(crate) mod handshake;
pub(crate) mod random;
pub(crate) mod socket;
