//! How a machine of a rack is examined: what its daemon is asked, step by step on one connection, and what it answers.

use crate::rack::finding::Finding;
use crate::rack::rdma::Variables;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How long a machine may take to examine itself.
pub const LOOK: Duration = Duration::from_secs(20);
/// How long a connection from machine to machine may take.
pub const CONNECT: Duration = Duration::from_secs(3);
/// This many connections are tried at a time.
pub const AT_A_TIME: usize = 64;

/// What a daemon is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExaminationStep {
    /// What is there to report about this machine, for nodes with these variables?
    Look(Variables),
    /// What time is it?
    Clock,
    /// Listen where nodes would, until the end of the examination.
    Listen(IpAddr),
    /// Can you connect to these addresses, as nodes would?
    Connect(Vec<SocketAddr>),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExaminationReply {
    /// Everything that it has found, including what is fine.
    Findings(Vec<Finding>),
    /// The time since the beginning of 1970.
    Clock(Duration),
    /// The port, or why it cannot listen.
    Listens(Result<u16, String>),
    /// For each address, in order, why it cannot be reached, if it cannot.
    Connected(Vec<Result<(), String>>),
}
