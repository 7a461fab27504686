//! The machines of a rack, and how their daemons are spoken to.
//!
//! Given the configuration file, it yields machines and connections to their daemons, over which requests and replies
//! go. It acts on none of them.
//!
//! | part | |
//! |---|---|
//! | [`config`] | `rack.toml` |
//! | [`owner`], [`rdma`] | who asks; what is said of RDMA |
//! | [`protocol`], [`connect`] | what is said; a client's connection to a daemon |
//! | [`finding`], [`examination`] | what `doctor` has found; how a daemon is asked for it |
//! | [`silence`] | how long nothing was heard of the other end |

pub mod config;
pub mod connect;
pub mod examination;
pub mod finding;
pub mod owner;
pub mod protocol;
pub mod rdma;
pub mod silence;
