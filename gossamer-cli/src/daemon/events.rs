//! What the daemon logs about itself, launches and strangers. Each event has a name, a sentence, and its values as
//! fields, which the README lists.

use crate::node::ending::{End, How};
use crate::node::signal::{KILL, signal_name};
use crate::rack::protocol::Launch;
use crate::terminal::flood::Flood;
use std::io;
use std::net::IpAddr;
use std::time::Instant;
use tracing::{info, warn};

/// The daemon accepts connections.
pub fn listening(address: &str) {
    let version = env!("CARGO_PKG_VERSION");
    info!(event = "listening", address, version, "gossamer {version} listens on {address}");
}

/// What the daemon keeps its nodes in, so that nothing of them is left behind.
pub fn contained(by: &str) {
    info!(event = "contained", by, "its nodes are contained by {by}");
}

/// The nodes of a launch cannot serve their metrics; they run all the same.
pub fn without_metrics(why: &str) {
    warn!(event = "without_metrics", why, "there is no folder for the metrics of nodes: {why}");
}

/// The daemon accepts no more connections.
pub fn stopping(applications: usize) {
    if applications > 0 {
        info!(event = "stopping", applications, "stops, and ends {applications} applications");
    }
}

/// Some sessions did not end with it.
pub fn hanging() {
    warn!(event = "hanging", "some sessions did not end in time");
}

/// The daemon ends.
pub fn stopped() {
    info!(event = "stopped", "stopped");
}

/// The log of one launch.
#[derive(Debug)]
pub struct LaunchLog {
    application: String,
    owner: String,
}

impl LaunchLog {
    /// The log of this launch.
    pub fn new(launch: &Launch) -> Self {
        Self { application: launch.application.clone(), owner: launch.owner.clone() }
    }

    /// Its nodes are about to be started.
    pub fn starting(&self, nodes: &[u32]) {
        let Self { application, owner } = self;
        let list = list(nodes);
        info!(
            event = "starting",
            application,
            owner,
            nodes = list,
            "application {application} of {owner}: starts nodes {nodes:?}"
        );
    }

    /// It was refused, or its nodes could not be started.
    pub fn not_started(&self, why: &str) {
        let Self { application, owner } = self;
        warn!(
            event = "not_started",
            application, owner, why, "application {application} of {owner}: not started: {why}"
        );
    }

    /// A node has failed.
    pub fn node_failed(&self, node: u32, end: &End) {
        let Self { application, owner } = self;
        let how = end.how.sentence();
        let (status, signal) = match &end.how {
            How::Exited(status) => (Some(*status), None),
            How::Killed { signal, .. } => (None, Some(signal_name(*signal))),
            How::OutOfMemory(_) => (None, Some(signal_name(KILL))),
            How::Lost(_) => (None, None),
        };
        warn!(
            event = "node_failed",
            application,
            owner,
            node,
            status,
            signal,
            how,
            said = end.words,
            "application {application} of {owner}: node {node} {how}"
        );
    }

    /// All of its nodes have ended.
    pub fn ended(&self) {
        let Self { application, owner } = self;
        info!(event = "ended", application, owner, "application {application} of {owner}: ended");
    }

    /// Nodes that still ran were killed.
    pub fn killed(&self, nodes: &[u32], why: &str) {
        let Self { application, owner } = self;
        let list = list(nodes);
        warn!(
            event = "killed",
            application,
            owner,
            nodes = list,
            why,
            "application {application} of {owner}: killed nodes {nodes:?}: {why}"
        );
    }
}

/// `0,1,2`
fn list(nodes: &[u32]) -> String {
    nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Events that strangers can cause as often as they like: a few are written, and the rest are counted.
#[derive(Debug, Default)]
pub struct Refusals(Flood);

impl Refusals {
    /// A connection was refused.
    pub fn refused(&self, peer: IpAddr, why: &io::Error) {
        if let Some((more, suppressed)) = self.turn() {
            let (peer, why) = (peer.to_string(), why.to_string());
            warn!(event = "refused", peer, why, suppressed, "refused {peer}: {why}{more}");
        }
    }

    /// Connections cannot be accepted.
    pub fn unaccepted(&self, why: &io::Error) {
        if let Some((more, suppressed)) = self.turn() {
            let why = why.to_string();
            warn!(event = "unaccepted", why, suppressed, "cannot accept connections: {why}{more}");
        }
    }

    /// If it is time for a line: how many events were not written since the last one.
    fn turn(&self) -> Option<(String, u64)> {
        let suppressed = self.0.turn(Instant::now())?;
        let more = match suppressed {
            0 => String::new(),
            count => format!(" (and {count} such lines since the last one)"),
        };
        Some((more, suppressed))
    }
}
