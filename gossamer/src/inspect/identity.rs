//! The node that a report is about.

use crate::NoRef;
use crate::worker::shared::Shared;

/// A process, or the part of it that is one node.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeIdentity {
    /// Its number.
    pub node: u32,
    /// How many nodes there are.
    pub nodes: u32,
    /// Names the rack: the same for all its nodes, and different for every other rack. Empty if the node is alone.
    pub rack: String,
    /// The process.
    pub process: u32,
    /// The number of its runtime, in the order in which they started.
    pub base: u32,
    /// Its executable.
    pub program: String,
}

impl NodeIdentity {
    pub(super) fn of(runtime: &Shared) -> Self {
        let (node, nodes, rack) = match &runtime.peers {
            Some(peers) => (peers.node(), peers.nodes(), peers.rack().to_owned()),
            None => (0, 1, String::new()),
        };
        Self {
            node: node as u32,
            nodes: nodes as u32,
            rack,
            process: std::process::id(),
            base: runtime.base,
            program: std::env::current_exe()
                .map_or_else(|_| String::new(), |path| path.display().to_string()),
        }
    }

    /// Names the runtime that it belongs to.
    #[must_use]
    pub fn runtime(&self) -> RuntimeName<'_> {
        match &self.rack[..] {
            "" => RuntimeName::Alone(self.process, self.base),
            rack => RuntimeName::Rack(rack),
        }
    }
}

/// Names a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RuntimeName<'a> {
    /// Of a process on its own, which may have several: the process and the number.
    Alone(u32, u32),
    /// Of all nodes of a rack.
    Rack(&'a str),
}
