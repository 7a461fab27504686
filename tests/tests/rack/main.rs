//! A rack of nodes: several in this process, as processes of their own, and under every launcher.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod attacked;
mod collectives;
mod grace;
mod large;
mod launchers;
mod meanwhile;
mod metrics;
mod nodes;
mod pinned;
mod processes;
mod runs;
mod settling;
mod staying;
mod teams;

/// The program of nodes that are processes.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rack_program");
