//! Many processes as one: nodes, how they find each other, and how they end together.

mod bootstrap;
mod control;
mod environment;
mod handshake;
mod hello;
mod in_process;
mod message;
mod neighbours;
pub(crate) mod run;
mod socket;
mod wires;

pub use in_process::run_in_process;
