//! Lane memory of nodes of one machine: all of a lane lies where both have mapped it, so a write is a few stores.
//!
//! Two nodes have a `Pair` of all lanes between their workers; each node has a `Notifier` for each of its workers, by which the other
//! nodes tell it who has something new for it, and wake it. A worker's `Endpoint` joins it to all neighbours at once.
//!
//! Invariants
//! - T1: a `Pair` is laid out by the workers of its two nodes, which both got from node 0: both see the same.
//! - T2: what is shared outside of slots is atomics, and cells that they hand over (B2, B3), at aligned offsets inside the segment.

mod endpoint;
mod neighbours;
mod notifier;
mod pair;
mod queue;

pub(crate) use endpoint::{ShmEndpoint, ShmWriter};
pub(crate) use neighbours::{Neighbour, Neighbours};
pub(crate) use notifier::{Notifier, Notifiers};
pub(crate) use pair::Pair;
#[cfg(all(test, not(loom)))]
pub(crate) use queue::QUEUE_ENTRIES;
