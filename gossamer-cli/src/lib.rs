//! The parts of the command `gossamer`, which launches and watches the nodes of an application.
//!
//! A library only so that tests and fuzz targets reach the parts; nothing here is meant for other programs.
//!
//! | part | |
//! |---|---|
//! | [`cli`], [`exit`] | the command line; what each exit status means |
//! | [`local`] | `run --local` |
//! | [`supervise`], [`fate`] | the launcher's loop; its decisions, which do no I/O |
//! | [`host`], [`spawn`] | the nodes of one machine; one process of them |
//! | [`message`], [`window`] | what launcher and host tell each other; how much may be on its way |
//! | [`lines`], [`printer`], [`input`] | output and input |

pub mod cli;
pub mod ending;
pub mod exit;
pub mod fate;
pub mod host;
pub mod input;
pub mod lines;
pub mod local;
pub mod message;
pub mod printer;
pub mod random;
pub mod report;
pub mod spawn;
pub mod supervise;
pub mod window;
