//! The parts of the command `gossamer`, which launches and watches the nodes of an application, and moves files.
//!
//! A library only so that tests and fuzz targets reach the parts; nothing here is meant for other programs.
//!
//! | part | |
//! |---|---|
//! | [`cli`], [`exit`] | the command line; what each exit status means |
//! | [`local`] | `run --local` |
//! | [`remote`], [`program`] | `run` over the daemons of a rack; the program that is shipped |
//! | [`query`], [`table`] | `status`, `ps`, `kill`, `logs` |
//! | [`supervise`], [`fate`], [`report`] | the launcher's loop; its decisions, which do no I/O; its report |
//! | [`daemon`], [`cache`] | the daemon; the programs that were shipped to it |
//! | [`connect`], [`channel`] | connections to daemons, connections between those who know the key |
//! | [`protocol`], [`noise`] | what is said there, how it is encrypted |
//! | [`files`] | `send` and `recv` |
//! | [`config`], [`key`] | the configuration of a rack; the key that its machines share |
//! | [`host`], [`spawn`] | the nodes of one machine; one process of them |
//! | [`message`], [`window`] | what launcher and host tell each other; how much may be on its way |
//! | [`lines`], [`printer`], [`input`] | output and input |

pub mod cache;
pub mod channel;
pub mod cli;
pub mod config;
pub mod connect;
pub mod daemon;
pub mod ending;
pub mod exit;
pub mod fate;
pub mod files;
pub mod host;
pub mod input;
pub mod key;
pub mod lines;
pub mod local;
pub mod message;
pub mod noise;
pub mod printer;
pub mod program;
pub mod protocol;
pub mod query;
pub mod random;
pub mod remote;
pub mod report;
pub mod spawn;
pub mod supervise;
pub mod table;
pub mod window;
