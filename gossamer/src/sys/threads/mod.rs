//! Threads of the kernel: which processors they may run on, what the kernel reports about them, and how one that is not
//! a worker waits.

pub(crate) mod affinity;
pub(crate) mod bystander;
#[cfg(feature = "may")]
pub(crate) mod coroutine;
pub(crate) mod outside;
pub(crate) mod ownership;
pub(crate) mod policy;
pub(crate) mod procfs;
