//! Containment of a node: everything that it starts ends with it, and it ends with the process that started it.
//!
//! Each node has a guardian, a process of this program between it and its host (the launcher, or a daemon). Guardian and host are
//! *child subreapers*: a process whose parent has ended becomes the child of the nearest one above it, also if it was forked
//! twice or has a session of its own. So all that a node has started descends from its guardian, and is found there.
//!
//! | who is killed | who ends what is left |
//! |---|---|
//! | the node, or it ends by itself | its guardian |
//! | the host | every guardian: the socket between the two is closed by the kernel |
//! | the guardian | the node, by its death signal; the host, to which the rest has come |
//!
//! Where this process may make cgroups of version 2, each node has one, too: it also holds processes that the guardian
//! must not signal (a program of another user, such as `sudo`), and the kernel kills it at once. It also limits what
//! the node may use of its machine.
//!
//! | part | |
//! |---|---|
//! | [`protocol`] | what host and guardian tell each other |
//! | [`handle`] | the host's side: starts a guardian, passes signals on, ends what a killed one has left |
//! | [`process`] | the guardian |
//! | [`failure`] | why a node could not be started |
//! | [`descendants`], [`cgroup`] | how what is left is found, and killed |
//! | [`controllers`], [`memory_watch`] | limits of a cgroup; whether a node was killed for want of memory |

pub mod cgroup;
pub mod controllers;
pub mod descendants;
pub mod failure;
pub mod handle;
pub mod memory_watch;
pub mod process;
pub mod protocol;
