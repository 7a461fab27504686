//! `gossamer run`: starts the nodes of an application, watches them, and reports how it ended.
//!
//! [`local`] and [`remote`] start hosts and hand [`supervise`](mod@supervise) their ends of the queues: commands to each host,
//! events from all. It gives the exit status. Only [`fate`] decides, and does no I/O.
//!
//! | part | |
//! |---|---|
//! | [`fate`], [`report`], [`signals`] | decisions; the report of how it ended; signals of the user |
//! | [`application`], [`supervise`](mod@supervise), [`drain`] | what is known of hosts and nodes; the loop; the output that is left after it |
//! | [`local`] | with a host in this process |
//! | [`addresses`], [`prepare`], [`relay`], [`remote`] | over daemons: where nodes find each other, up to the start of a machine, what is passed on after it; all machines |

pub mod addresses;
pub mod application;
pub mod drain;
pub mod fate;
pub mod local;
pub mod prepare;
pub mod relay;
pub mod remote;
pub mod report;
pub mod signals;
pub mod supervise;
