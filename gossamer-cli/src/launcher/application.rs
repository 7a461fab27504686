//! What the launcher knows of an application: its hosts and its nodes.

use crate::launcher::output::{NodeOutputFiles, OutputOptions};
use crate::launcher::timeout::TimeLimit;
use crate::node::message::{Command, Event};
use crate::terminal::lines::Lines;
use crate::terminal::stream::Stream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// A machine that was silent for this long (three heartbeats) gets a line in the report.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// When the machine was last heard of; nothing, for this machine.
pub type LastHeard = Arc<Mutex<Option<Instant>>>;

/// A machine that hosts nodes.
#[derive(Debug)]
pub struct HostHandle {
    /// Its name in messages; nothing for this machine.
    pub name: Option<String>,
    /// Takes commands for its host.
    pub commands: UnboundedSender<Command>,
    /// When it was last heard of.
    pub heard: LastHeard,
}

/// An application that is being started.
#[derive(Debug)]
pub struct Application {
    /// The machines.
    pub machines: Vec<HostHandle>,
    /// Which machine each node is on.
    pub nodes: Vec<usize>,
    /// What the hosts report, each with the index of its machine.
    pub events: UnboundedReceiver<(usize, Event)>,
    /// How their output is passed on.
    pub output: OutputOptions,
    /// The files that it goes to, if not to the launcher's own.
    pub files: Option<NodeOutputFiles>,
    /// How long they may run.
    pub time_limit: Option<TimeLimit>,
}

/// What the launcher knows of a node.
#[derive(Debug)]
pub struct NodeState {
    /// Where it is.
    pub machine: usize,
    /// Its process there, once it is known.
    pub pid: Option<u32>,
    /// Its standard output.
    pub out: Lines,
    /// Its standard error.
    pub err: Lines,
    /// Whether all its output has arrived.
    pub drained: bool,
}

/// Hosts and nodes, each by its index.
#[derive(Debug)]
pub struct Members {
    /// The hosts.
    pub machines: Vec<HostHandle>,
    /// The nodes.
    pub nodes: Vec<NodeState>,
}

impl NodeState {
    /// Node `index`, which is on this machine.
    pub fn new(index: usize, machine: usize, output: &OutputOptions) -> Self {
        let lines = |stream| {
            let lines = Lines::new(index, output.style(stream));
            if output.timestamps { lines.with_times() } else { lines }
        };
        Self { machine, pid: None, out: lines(Stream::Out), err: lines(Stream::Err), drained: false }
    }
}

impl Members {
    /// Hosts, and nodes on these machines.
    #[must_use]
    pub fn new(machines: Vec<HostHandle>, nodes: Vec<usize>, output: &OutputOptions) -> Self {
        let nodes = nodes.into_iter().enumerate();
        Self { machines, nodes: nodes.map(|(index, at)| NodeState::new(index, at, output)).collect() }
    }

    /// Sends a command to all hosts.
    pub fn tell_all(&self, command: &Command) {
        for machine in &self.machines {
            // If the host is gone, an event says so.
            let _ = machine.commands.send(command.clone());
        }
    }

    /// Sends a command to the host of a machine.
    pub fn tell(&self, machine: usize, command: Command) {
        if let Some(machine) = self.machines.get(machine) {
            let _ = machine.commands.send(command);
        }
    }

    /// A node, provided that it is on the machine that reports it.
    pub fn node(&mut self, machine: usize, node: u32) -> Option<(usize, &mut NodeState)> {
        let index = usize::try_from(node).ok()?;
        self.nodes.get_mut(index).filter(|node| node.machine == machine).map(|node| (index, node))
    }

    /// The machines that were silent for a while, though not long enough to be lost; and for how long.
    pub fn silent(&self) -> Vec<(String, Duration)> {
        let silence = |machine: &HostHandle| {
            let heard = (*machine.heard.lock().unwrap_or_else(PoisonError::into_inner))?;
            Some((machine.name.clone()?, heard.elapsed()))
        };
        self.machines.iter().filter_map(silence).filter(|(_, silence)| *silence >= SUSPICIOUS).collect()
    }

    /// ` on MACHINE (pid N)`.
    #[must_use]
    pub fn place(&self, node: usize) -> String {
        let Some(node) = self.nodes.get(node) else { return String::new() };
        let machine = self.machines.get(node.machine).and_then(|machine| machine.name.as_ref());
        let machine = machine.map_or_else(String::new, |name| format!(" on {name}"));
        let pid = node.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        format!("{machine}{pid}")
    }
}
