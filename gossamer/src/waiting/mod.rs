//! Waiting: for a future of any kind, for the first of several, for all of several, and for a limited time.
//!
//! Everything here works in fibers, which let the others of their worker run meanwhile, and on threads that are not workers.
#![deny(unsafe_code)]

mod block_on;
mod join_all;
mod join_set;
pub mod select;
mod sleep;
mod timeout;

pub use block_on::block_on;
pub use join_all::join_all;
pub use join_set::JoinSet;
pub use sleep::{Sleep, sleep_async};
pub use timeout::{Elapsed, timeout, timeout_async};
