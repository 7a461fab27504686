//! Connections between processes of an application, for nodes and streams: sockets of either kind, the proof that both
//! ends know one key, and records that cannot be changed on the way unnoticed.
//!
//! Its users decide what goes over a connection.

pub(crate) mod entrance;
pub(crate) mod handshake;
pub(crate) mod purpose;
pub(crate) mod random;
pub(crate) mod records;
pub(crate) mod seal;
pub(crate) mod silence;
pub(crate) mod socket;
pub(crate) mod unproven;
