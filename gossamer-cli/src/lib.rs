//! The parts of the command `gossamer`, which launches and watches the nodes of an application, and moves files.
//!
//! A library only so that tests and fuzz targets reach the parts; nothing here is meant for other programs. A test
//! checks that each of its rooms imports only from those above it:
//!
//! | room | |
//! |---|---|
//! | [`exit`] | what each exit status means |
//! | [`processes`] | which processes have started which others |
//! | [`values`] | values of options, as users write them |
//! | [`terminal`] | standard input and output |
//! | [`secure`] | encrypted connections between those who know a key |
//! | [`metrics`] | what nodes count, at one address |
//! | [`node`] | the nodes of one machine |
//! | [`rack`] | the machines of a rack, and what is said to their daemons |
//! | [`doctor`] | what there is to say of a machine |
//! | [`program`] | the program that is shipped |
//! | [`launcher`] | `run` |
//! | [`daemon`] | `daemon` |
//! | [`query`] | `status`, `ps`, `kill`, `logs`, `stacks`, `top`, `doctor`, `check-rdma` |
//! | [`files`] | `send` and `recv` |
//! | [`cli`] | the command line |

pub mod cli;
pub mod daemon;
pub mod doctor;
pub mod exit;
pub mod files;
pub mod launcher;
pub mod metrics;
pub mod node;
pub mod processes;
pub mod program;
pub mod query;
pub mod rack;
pub mod secure;
pub mod terminal;
pub mod values;
