//! Many processes as one: nodes, how they find each other, and how they end together.
//!
//! A *node* is a process of the program. All run the same executable, started by our launcher (`gossamer run`), by
//! Slurm (`srun`), by Open MPI (`mpirun`), or with a list of addresses in `GOSSAMER_NODES`. `main`, or what
//! [`run`](crate::run) is given, runs on node 0; the others serve: their workers are trustees like those of node 0, and
//! [`spawn`](crate::spawn) spreads fibers over all of them.
//!
//! Values that are sent to another node are encoded, unless they are plain data: see [`NoRef`](crate::NoRef). If a
//! node dies, all end.

mod absence;
mod bootstrap;
pub(crate) mod collective;
mod connections;
mod control;
mod device_events;
mod environment;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod greeting;
mod heartbeat;
mod hello;
mod in_process;
mod loss;
mod message;
mod metrics;
mod neighbours;
mod pair_fabric;
pub(crate) mod program;
mod queue_pairs;
#[doc(hidden)]
pub mod rdma;
mod round;
pub(crate) mod run;
mod settle;
mod survivors;
pub(crate) mod team;
pub(crate) mod team_member;
mod topology;
mod traces;

pub use collective::{all_reduce, barrier, broadcast, gather, on_each_node};
pub use in_process::run_in_process;
pub use metrics::metrics;
pub use settle::wait_all;
pub use topology::{Node, nodes, this_node, workers};
