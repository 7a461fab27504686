//! Tests of the command.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod administration;
mod cli;
mod common;
mod containment;
mod decoders;
mod doctor;
mod endings;
mod fate;
mod fault;
mod files;
mod frozen;
mod history;
mod hostile;
mod inspection;
mod limits;
mod local;
mod mapping;
mod misuse;
mod namespaces;
mod output;
mod programs;
mod rack;
mod rdma;
mod service;
mod stacks;
mod terminal;
mod timeout;
mod top;
