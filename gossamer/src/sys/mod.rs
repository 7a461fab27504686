//! The floor: the only home of the operating system and the context switch.
//!
//! Everything here is plain `std`-like safe API over an unsafe mechanism. Nothing here knows of workers, lanes or trusts.

pub(crate) mod bell;
pub(crate) mod children;
pub(crate) mod descriptors;
pub(crate) mod doorbell;
pub(crate) mod exit;
pub(crate) mod fatal;
pub(crate) mod faults;
pub(crate) mod fibers;
#[cfg(all(test, not(loom)))]
pub(crate) mod fork;
pub(crate) mod forked;
pub(crate) mod futex;
pub(crate) mod image;
pub(crate) mod line;
pub(crate) mod overflow;
pub(crate) mod poll;
pub(crate) mod prefetch;
pub(crate) mod range;
pub(crate) mod records;
pub(crate) mod segment;
pub(crate) mod splice;
pub(crate) mod threads;
pub(crate) mod userfault;
