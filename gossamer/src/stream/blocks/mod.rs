//! The few blocks of a stream that are in memory: the ring that holds them, and the owner of each.
//!
//! Everything that moves blocks (a pump, a window, a call of an end) is a party of the ring's flow and obeys it (U3
//! to U5).

pub(crate) mod flow;
#[cfg(all(test, not(loom)))]
mod model;
pub(crate) mod peer;
pub(crate) mod produced;
pub(crate) mod ring;
