//! `gossamer recv`, as one chain of steps.
//!
//! ```text
//!   wait for the sender ─▶ take the manifest ─▶ look and answer ─▶ open the stream ─▶ each record ─▶ links and directories
//!   run                    negotiation                                               incoming       ledger
//! ```
//!
//! | part | |
//! |---|---|
//! | [`location`], [`incomplete`] | where an entry goes; which file is its own meanwhile |
//! | [`tree`] | the directory that all go into |
//! | [`writeback`], [`partial_file`], [`output`] | a file's way to disk; a file until it is complete; standard output |
//! | [`destination`] | a directory or standard output |
//! | [`ledger`], [`announcements`] | which entries are done; what the sender says of them on the control connection |
//! | [`incoming`] | records become files |
//! | [`negotiation`], [`run`], [`again`] | up to the open stream; the whole; once more, if the sender comes again |

pub mod again;
pub mod announcements;
pub mod destination;
pub mod incoming;
pub mod incomplete;
pub mod ledger;
pub mod location;
pub mod negotiation;
pub mod output;
pub mod partial_file;
pub mod run;
pub mod tree;
pub mod writeback;
