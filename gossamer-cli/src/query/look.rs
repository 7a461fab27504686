//! What `gossamer stacks` and `gossamer top` look at: programs of this machine, or all nodes that the daemons of a rack
//! have started.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::query::ask::{MachineAnswer, inspect_all, no_such};
use crate::query::programs;
use crate::rack::config;
use crate::rack::protocol::{InspectedNode, Inspection};
use gossamer::inspect::{
    InspectionSocket, NodeActivity, NodeIdentity, NodeReport, ask, ask_activity, ask_backtraces,
};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The programs to look at.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LookArguments {
    /// Only these processes of this machine [default: all of this user]
    #[arg(value_name = "PID", conflicts_with_all = ["rack", "application", "config"])]
    pub(crate) processes: Vec<u32>,
    /// All nodes that the daemons of the rack have started, on all machines
    #[arg(long)]
    pub(crate) rack: bool,
    /// Of these, only the nodes of one application, as listed by `gossamer ps`
    #[arg(long, value_name = "ID")]
    pub(crate) application: Option<String>,
    /// The configuration of the rack whose nodes are shown [default: /etc/gossamer/rack.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl LookArguments {
    fn is_of_rack(&self) -> bool {
        self.rack || self.application.is_some() || self.config.is_some()
    }
}

/// What a node says about itself.
pub trait NodeAnswer: Sized + Send {
    /// Which node it is.
    fn identity(&self) -> &NodeIdentity;
    /// Asks a process of this machine.
    ///
    /// # Errors
    /// If it does not answer.
    fn ask(socket: &InspectionSocket, inspection: Inspection) -> io::Result<Vec<Self>>;
    /// Decodes the answer that a daemon passed on.
    ///
    /// # Errors
    /// If it cannot be decoded.
    fn decode(bytes: &[u8]) -> io::Result<Vec<Self>>;
}

impl NodeAnswer for NodeReport {
    fn identity(&self) -> &NodeIdentity {
        &self.identity
    }

    fn ask(socket: &InspectionSocket, inspection: Inspection) -> io::Result<Vec<Self>> {
        match inspection {
            Inspection::Backtraces => ask_backtraces(socket),
            _ => ask(socket),
        }
    }

    fn decode(bytes: &[u8]) -> io::Result<Vec<Self>> {
        Self::all_from_bytes(bytes)
    }
}

impl NodeAnswer for NodeActivity {
    fn identity(&self) -> &NodeIdentity {
        &self.identity
    }

    fn ask(socket: &InspectionSocket, inspection: Inspection) -> io::Result<Vec<Self>> {
        ask_activity(socket, inspection.time())
    }

    fn decode(bytes: &[u8]) -> io::Result<Vec<Self>> {
        Self::all_from_bytes(bytes)
    }
}

/// Who started a node, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePlace {
    /// The id of its application.
    pub application: String,
    /// Its machine.
    pub machine: String,
}

/// A node that answered.
#[derive(Clone, Debug)]
pub struct SeenNode<T> {
    /// The daemon that has started it; nothing if it is a process of this machine.
    pub place: Option<NodePlace>,
    /// Its answer.
    pub said: T,
}

/// Everything that was seen.
#[derive(Clone, Debug)]
pub struct Seen<T> {
    /// The nodes that have answered.
    pub nodes: Vec<SeenNode<T>>,
    /// For each other node, and each machine that did not answer, the reason.
    pub silent: Vec<String>,
}

/// Looks at all of them at once.
///
/// # Errors
/// If there is nothing to look at, or the configuration is wrong.
pub(crate) fn look<T: NodeAnswer>(
    arguments: &LookArguments,
    inspection: Inspection,
) -> Result<Seen<T>, Failure> {
    if arguments.is_of_rack() {
        return of_rack(arguments, inspection);
    }
    let sockets = programs::chosen(&arguments.processes)?;
    let are_named = !arguments.processes.is_empty();
    let (nodes, silent) = programs::ask_all(&sockets, are_named, |socket| T::ask(socket, inspection));
    let nodes = nodes.into_iter().map(|said| SeenNode { place: None, said }).collect();
    Ok(Seen { nodes, silent: silent.iter().map(programs::told).collect() })
}

fn of_rack<T: NodeAnswer>(arguments: &LookArguments, inspection: Inspection) -> Result<Seen<T>, Failure> {
    let config = arguments.config.as_deref().unwrap_or(Path::new(config::PATH));
    let application = arguments.application.as_deref();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(UNREACHABLE, format!("cannot start: {error}")))?;
    let answers = runtime.block_on(inspect_all(config, application, inspection))?;
    let mut seen = Seen { nodes: Vec::new(), silent: Vec::new() };
    let (mut is_reached, mut last) = (false, None);
    for MachineAnswer { machine, reply, .. } in answers {
        match reply {
            Ok(nodes) => {
                is_reached = true;
                nodes.into_iter().for_each(|node| seen.add(&machine.name, node));
            }
            Err(failure) => {
                seen.silent.push(failure.message.clone());
                last = Some(failure);
            }
        }
    }
    match (last, application) {
        (Some(failure), _) if !is_reached => Err(failure),
        (None, application) if seen.nodes.is_empty() && seen.silent.is_empty() => Err(match application {
            Some(application) => no_such(application),
            None => Failure::new(FAILED, "no application runs on the rack"),
        }),
        _ => Ok(seen),
    }
}

impl<T: NodeAnswer> Seen<T> {
    /// The answer of one node, as the daemon of its machine passed it on.
    fn add(&mut self, machine: &str, node: InspectedNode) {
        let InspectedNode { application, node, pid, answer } = node;
        let place = NodePlace { application, machine: machine.to_owned() };
        let understood = answer
            .and_then(|bytes| T::decode(&bytes).map_err(|error| format!("{error}; is it of this version?")));
        match understood {
            Ok(runtimes) => {
                let seen = runtimes.into_iter().map(|said| SeenNode { place: Some(place.clone()), said });
                self.nodes.extend(seen);
            }
            Err(why) => {
                let NodePlace { application, machine } = place;
                self.silent.push(format!(
                    "node {node} of application {application} (process {pid} on {machine}) does not answer: {why}"
                ));
            }
        }
    }
}

/// The nodes grouped by runtime, in order; a single process is a group of its own.
pub fn by_runtime<T: NodeAnswer>(nodes: &[SeenNode<T>]) -> Vec<Vec<&SeenNode<T>>> {
    let mut runtimes = BTreeMap::<_, Vec<_>>::new();
    for node in nodes {
        let runtime = node.said.identity().runtime();
        // Processes of different machines may have the same number, and two applications know nothing of each other.
        let application = node.place.as_ref().map(|place| &place.application);
        runtimes.entry((application, runtime)).or_default().push(node);
    }
    runtimes.values_mut().for_each(|nodes| nodes.sort_by_key(|node| node.said.identity().node));
    runtimes.into_values().collect()
}

/// The common name of the nodes of a runtime: the program that they run, and who started it.
pub fn title<T: NodeAnswer>(nodes: &[&SeenNode<T>]) -> String {
    let Some(first) = nodes.first() else { return String::new() };
    let of = first.said.identity();
    let all = of.nodes;
    match (&first.place, all) {
        (Some(place), _) => {
            let where_each_is: Vec<String> =
                machines(nodes).into_iter().map(|(machine, count)| format!("{count} on {machine}")).collect();
            let where_each_is = where_each_is.join(", ");
            format!("application {} ({}), of {all} nodes {where_each_is}", place.application, of.program)
        }
        (None, 1) => format!("process {} ({})", of.process, of.program),
        (None, _) => format!("rack {} ({}), {} of {all} nodes here", of.rack, of.program, nodes.len()),
    }
}

/// How many of these nodes each machine has.
fn machines<'a, T>(nodes: &[&'a SeenNode<T>]) -> BTreeMap<&'a str, usize> {
    let mut machines = BTreeMap::new();
    for place in nodes.iter().filter_map(|node| node.place.as_ref()) {
        *machines.entry(place.machine.as_str()).or_default() += 1;
    }
    machines
}
