//! `gossamer run`: starts the nodes of an application, watches them, and reports how it ended.
//!
//! [`local`] and [`remote`] start hosts and give [`supervise`](mod@supervise) their ends of the queues: commands to
//! each host, events from all. It returns the exit status. Only [`fate`] decides, and does no I/O.
//!
//! | part | |
//! |---|---|
//! | [`options`] | what the user asked for |
//! | [`fate`], [`fault`], [`timeout`], [`report`], [`signals`] | decisions; who is at fault; the time that is left; the report of how it ended; signals of the user |
//! | [`output`], [`outlets`], [`drain`] | where output goes; what is written to; what is left to write at the end |
//! | [`application`], [`supervise`](mod@supervise) | what is known of hosts and nodes; the loop |
//! | [`local`] | with a host in this process |
//! | [`mapping`], [`addresses`], [`prepare`], [`relay`], [`remote`] | over daemons: which machine a node is on, where nodes find each other, up to the start of a machine, what is passed on after it; all machines |

pub mod addresses;
pub mod application;
pub mod drain;
pub mod fate;
pub mod fault;
pub mod local;
pub mod mapping;
pub mod options;
pub mod outlets;
pub mod output;
pub mod prepare;
pub mod relay;
pub mod remote;
pub mod report;
pub mod signals;
pub mod supervise;
pub mod timeout;
