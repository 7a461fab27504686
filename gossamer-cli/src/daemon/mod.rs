//! `gossamer daemon`: starts nodes on its machine for launchers that know the rack's key.
//!
//! Given the path of the configuration, it serves connections until it is told to stop. Nothing that it knows outlives
//! it. One thread does everything except hashing, since nodes die with the thread that has started them.
//!
//! | part | |
//! |---|---|
//! | [`log`], `events` | how the log is written; what is written there |
//! | `record`, `registry`, `state` | one application; all applications here; what all sessions share |
//! | `service_manager` | what systemd is told |
//! | `rdma` | the RDMA devices, at which a few look at a time |
//! | `exchange`, `answer` | requests in, replies out; the answers to most requests |
//! | `check` | a check of RDMA between this machine and a client's |
//! | `examine` | what there is to say of this machine, for `doctor` |
//! | `inspect`, `metrics` | what nodes do, for a client; what they count, for all |
//! | `prepare`, `launch` | a launch up to the start of its nodes; from there to its end |
//! | `session`, `listen` | one connection; all of them |

mod answer;
mod check;
mod events;
mod examine;
mod exchange;
mod inspect;
mod launch;
pub mod listen;
pub mod log;
mod metrics;
mod prepare;
mod rdma;
mod record;
mod registry;
mod service_manager;
mod session;
mod state;
