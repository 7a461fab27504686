//! The floor: the only home of the operating system and the context switch.
//!
//! Everything here is plain `std`-like safe API over an unsafe mechanism. Nothing here knows about workers, lanes or
//! trusts.

pub(crate) mod fibers;
pub(crate) mod image;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod signals;
pub(crate) mod sync;
pub(crate) mod threads;
