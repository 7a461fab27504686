//! Processes and their descriptors: how a process ends, how a forked child is recognised and what it closes, how
//! descriptors go to another process and memory goes to a socket, and socket options.

pub(crate) mod close_on_fork;
pub(crate) mod descriptors;
pub(crate) mod exit;
#[cfg(all(test, not(loom)))]
pub(crate) mod fork;
pub(crate) mod forked;
pub(crate) mod socket_options;
pub(crate) mod splice;
