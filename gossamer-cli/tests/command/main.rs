//! Tests of the command.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod administration;
mod cli;
mod common;
mod containment;
mod decoders;
mod fate;
mod files;
mod hostile;
mod local;
mod misuse;
mod namespaces;
mod programs;
mod rack;
mod rdma;
