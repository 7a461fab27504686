//! What each exit status of `gossamer` means.
//!
//! | status | of `gossamer run` |
//! |---|---|
//! | the application's | node 0 ended by itself, and no other node failed |
//! | the first failed node's | a node ended with a status other than 0 |
//! | 128 + signal | the first node that failed was killed by a signal |
//! | 1 | a node ended with status 0, but before node 0 |
//! | 2 | a mistake on the command line or in a configuration file |
//! | 3 | a machine could not be reached, or could not start its nodes |
//! | 74 | the output could not be written, on a full disk for example |
//! | 75 | a machine was lost, or a node gave up because its peer was lost and nobody knows why |
//! | 124 | its time was up (`--timeout`) |
//! | 126, 127 | the program is not executable, is not there |
//! | 129, 130, 143 | after its terminal was closed, after Ctrl-C, after SIGTERM or `gossamer kill` |
//! | 141 | the reader of standard output has closed it |
//!
//! | status | of `gossamer send` and `gossamer recv` |
//! |---|---|
//! | 0 | everything is in its place |
//! | 1 | some files were not transferred, the others are in their places |
//! | 2 | a mistake on the command line or in a configuration file |
//! | 3 | the other side was not reached, or has another code |
//! | 74 | the receiver could not write any more |
//! | 75 | the other side was lost |
//! | 124 | not all was sent in time |
//! | 141 | the reader of the receiver's standard output has closed it |
//!
//! `gossamer status --health` ends with 0 if the daemon of this machine is alive, else with 3. The other commands end
//! with 0, or with 2 or 3 as above. `kill` and `logs` end with 1 if no such application runs, `stacks` and `top` if no
//! such program does, `check-rdma` if RDMA cannot be used, and `doctor` if something should be fixed, with 4 if
//! programs do not run.

use std::fmt;

/// A node ended too early, a command found nothing to work on, or some files were not transferred.
pub const FAILED: u8 = 1;
/// A mistake on the command line or in a configuration file.
pub const USAGE: u8 = 2;
/// A machine could not be reached, or could not start its nodes.
pub const UNREACHABLE: u8 = 3;
/// Programs cannot run on this machine as it is.
pub const UNABLE: u8 = 4;
/// The output could not be written.
pub const OUTPUT: u8 = 74;
/// A machine or the other side of a transfer was lost. A node that has lost a peer ends with this status, too.
pub const LOST: u8 = 75;
/// The application has run for as long as it may.
pub const TIMED_OUT: u8 = 124;
/// The program is there, but cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The program is not there.
pub const NOT_FOUND: u8 = 127;
/// SIGINT, SIGPIPE or SIGTERM ended the application: this and the signal's number.
pub const SIGNALLED: u8 = 128;

/// Why a command could not do its work: a message for the user, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit status of the command.
    pub status: u8,
    /// What happened, where, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with this status.
    pub fn new(status: u8, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
