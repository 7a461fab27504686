//! Many processes as one: nodes, how they find each other, and how they end together.

mod bootstrap;
mod collective;
mod control;
mod environment;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod handshake;
mod hello;
mod in_process;
mod message;
mod neighbours;
pub(crate) mod run;
mod socket;
mod topology;
mod wires;

pub use collective::{all_reduce, barrier, broadcast, gather, on_each_node};
pub use in_process::run_in_process;
pub use topology::{Node, nodes, this_node, workers};
