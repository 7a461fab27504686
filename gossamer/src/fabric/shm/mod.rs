//! Lane memory of nodes of one machine: the whole lane lies where both have mapped it, so a write is a few stores.
//!
//! Two nodes have a `Pair` of all lanes between their workers. Each node has a `Notifier` for each of its workers,
//! through which the other nodes tell the worker who has something new for it, and wake it. A worker's `Endpoint` joins
//! it to all neighbours at once.
//!
//! Invariants
//! - T1: the workers of its two nodes determine the layout of a `Pair`. Both nodes got them from node 0, so both see
//!   the same.
//! - T2: what is shared outside of slots is atomics, and cells that the atomics hand over (B2, B3), at aligned offsets
//!   inside the segment.

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
