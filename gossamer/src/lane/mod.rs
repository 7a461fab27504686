//! A lane: the request and response memory of one ordered pair of workers, and what each end does with it.
//!
//! `README.md` beside this file is the protocol's specification; `model.rs` checks it.

pub(crate) mod catch;
pub(crate) mod client;
mod completion;
pub(crate) mod constant;
pub(crate) mod context;
pub(crate) mod encoded;
pub(crate) mod error;
#[cfg(all(test, not(loom)))]
mod forked;
pub(crate) mod large;
#[cfg(all(test, loom))]
mod model;
pub(crate) mod operation;
pub(crate) mod payload;
pub(crate) mod place;
pub(crate) mod property;
pub(crate) mod registry;
mod run;
pub(crate) mod server;
#[cfg(all(test, not(loom)))]
mod simulated;
mod staging;
#[cfg(all(test, not(loom)))]
mod threads;
pub(crate) mod without_captures;
