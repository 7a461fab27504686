//! Lanes over queue pairs: writes, messages between the two ends, large values.

mod arriving;
#[cfg(all(test, not(loom)))]
mod attacked;
mod connection;
#[cfg(all(test, not(loom)))]
mod counted;
mod credit;
pub(crate) mod endpoint;
mod lane_pool;
mod lane_writes;
pub(crate) mod message;
mod places;
#[cfg(all(test, not(loom)))]
mod rates;
mod received;
mod remote_node;
mod send_queue;
mod sent;
pub(crate) mod setup;
mod source_ring;
#[cfg(all(test, not(loom)))]
mod tests;
mod told_readers;
#[cfg(all(test, not(loom)))]
mod traffic;
pub(crate) mod unconnected;
