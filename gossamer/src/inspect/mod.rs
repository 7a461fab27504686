//! A look inside a running process: what its workers and fibers do, and which fibers wait for each other. It is
//! reported to the command `gossamer stacks`, on SIGQUIT, and by the process itself when it has come to a standstill.
//!
//! One thread of the process watches its runtimes (`watcher.rs`) and opens a socket (`socket.rs`) in a directory of its
//! user. Nobody else may connect, and a worker only copies what its fibers noted of themselves, when it is asked.
#![deny(unsafe_code)]

mod activity;
mod all_wait;
mod backtraces;
mod collect;
mod deadlock;
mod identity;
mod missing;
mod question;
mod quit;
mod relay;
mod render;
mod report;
mod rest;
mod socket;
mod standstill;
mod threads;
pub(crate) mod watcher;

#[cfg(fuzzing)]
pub(crate) use question::fuzz as fuzz_questions;

pub use activity::NodeActivity;
pub use deadlock::{Deadlock, deadlocks};
pub use identity::{NodeIdentity, RuntimeName};
pub use question::{InspectionQuestion, ask, ask_activity, ask_backtraces};
pub use relay::ask_encoded;
pub use render::rendered;
pub use report::{Dependency, FiberGroup, FiberId, FiberLink, NodeReport, WaitReport, WorkerReport};
pub use socket::{InspectionSocket, inspection_sockets};
