//! `gossamer run` over the daemons of a rack. The launcher talks to every daemon itself. The application is the
//! launcher's, and ends with it.

use crate::exit::Failure;
use crate::launcher::addresses::{NodeAddresses, local_addresses, node_addresses};
use crate::launcher::application::{Application, HostHandle, LastHeard};
use crate::launcher::mapping::{Mapping, only_used};
use crate::launcher::options::RunOptions;
use crate::launcher::output::{NodeOutputFiles, OutputOptions};
use crate::launcher::prepare::MachineLaunch;
use crate::launcher::relay::relay;
use crate::launcher::supervise::supervise;
use crate::node::message::{Command, Event};
use crate::node::resource_limits::raise_open_files;
use crate::program::find::Program;
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{HEARTBEAT, Launch};
use crate::secure::key::Key;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct RemoteRun {
    /// The configuration.
    pub config: PathBuf,
    /// How many nodes; if not given, as many as the mapping has room for.
    pub nodes: Option<u32>,
    /// Which machine each of them is on.
    pub mapping: Mapping,
    /// On which machines: all, if empty.
    pub hosts: Vec<String>,
    /// The rest.
    pub options: RunOptions,
}

/// What a machine reports once it is prepared: its index, and where its nodes will listen.
type Prepared = Result<(usize, NodeAddresses), Failure>;

/// The ends of the queues that one machine's task has.
struct MachineEnds {
    index: usize,
    orders: UnboundedReceiver<Command>,
    heard: LastHeard,
    events: UnboundedSender<(usize, Event)>,
    ready: UnboundedSender<Prepared>,
    addresses: watch::Receiver<Option<String>>,
}

/// Runs an application to its end, and gives the exit status.
///
/// # Errors
/// If it cannot be started.
pub async fn run(run: RemoteRun) -> Result<u8, Failure> {
    let rack = Rack::read(&run.config)?;
    let key = Key::read(&rack.key)?;
    let named = if run.hosts.is_empty() { run.mapping.machines() } else { run.hosts };
    let machines = rack.choose(&named)?;
    let RunOptions { settings, allowance, output, time_limit, command } = run.options;
    let program = Program::find(command, settings, allowance)?;
    let count = run.nodes.map(|nodes| usize::try_from(nodes).unwrap_or(usize::MAX));
    let assignment = run.mapping.assign(&machines, count)?;
    let (machines, assignment) = only_used(machines, &assignment);
    let files = open_files(&output, &machines, &assignment, &program.launch.application)?;
    let (tell, events) = unbounded_channel();
    let (tell_addresses, addresses) = watch::channel(None);
    let (tell_ready, ready) = unbounded_channel();
    let mut tasks = JoinSet::new();
    let mut hosts = Vec::new();
    for (index, machine) in machines.iter().enumerate() {
        let (commands, orders) = unbounded_channel();
        let heard = LastHeard::default();
        hosts.push(HostHandle { name: Some(machine.name.clone()), commands, heard: Arc::clone(&heard) });
        let launch = MachineLaunch {
            machine: machine.clone(),
            rack: rack.clone(),
            key: key.clone(),
            program: program.path.clone(),
            launch: Launch { nodes: nodes_of(index, &assignment), ..program.launch.clone() },
            alone: machines.len() == 1,
        };
        let (events, ready, addresses) = (tell.clone(), tell_ready.clone(), addresses.clone());
        tasks.spawn(run_machine(launch, MachineEnds { index, orders, heard, events, ready, addresses }));
    }
    drop(tell_ready);
    let found = all_ready(ready, machines.len()).await?;
    tell_addresses.send_replace(Some(list(&machines, &assignment, found, &program.launch.application)?));
    let application = Application { machines: hosts, nodes: assignment, events, output, files, time_limit };
    let result = supervise(application).await;
    // Without the channels to them, the tasks report what is left, and close their connections.
    let _ = timeout(HEARTBEAT, async { while tasks.join_next().await.is_some() {} }).await;
    result
}

/// The files for the nodes' output, if it goes to files.
fn open_files(
    output: &OutputOptions,
    machines: &[Machine],
    assignment: &[usize],
    application: &str,
) -> Result<Option<NodeOutputFiles>, Failure> {
    let Some(pattern) = &output.files else { return Ok(None) };
    raise_open_files();
    let name = |&machine: &usize| machines.get(machine).map_or("", |machine| machine.name.as_str());
    let names: Vec<&str> = assignment.iter().map(name).collect();
    pattern.open(&names, application).map(Some)
}

/// The nodes of a machine.
fn nodes_of(machine: usize, assignment: &[usize]) -> Vec<u32> {
    let nodes = assignment.iter().enumerate().filter(|(_, at)| **at == machine);
    nodes.filter_map(|(node, _)| u32::try_from(node).ok()).collect()
}

/// One machine, from connecting to its daemon until that connection is of no more use.
async fn run_machine(launch: MachineLaunch, ends: MachineEnds) {
    let MachineEnds { index, orders, heard, events, ready, addresses } = ends;
    match launch.prepare().await {
        Ok((connection, at)) => {
            let _ = ready.send(Ok((index, at)));
            let tell = move |event| events.send((index, event)).is_ok();
            relay(connection, addresses, orders, &heard, tell).await;
        }
        Err(failure) => drop(ready.send(Err(failure))),
    }
}

/// The value of `GOSSAMER_NODES`.
fn list(
    machines: &[Machine],
    assignment: &[usize],
    found: Vec<NodeAddresses>,
    application: &str,
) -> Result<String, Failure> {
    match found.as_slice() {
        [_] => Ok(local_addresses(application, assignment.len())),
        _ => node_addresses(machines, assignment, found),
    }
}

/// Waits for all machines: returns the addresses of their nodes, or everything that is wrong.
async fn all_ready(
    mut ready: UnboundedReceiver<Prepared>,
    machines: usize,
) -> Result<Vec<NodeAddresses>, Failure> {
    let mut found = vec![NodeAddresses::new(); machines];
    let mut failures: Vec<Failure> = Vec::new();
    for _ in 0..machines {
        match ready.recv().await {
            Some(Ok((index, addresses))) => {
                if let Some(known) = found.get_mut(index) {
                    *known = addresses;
                }
            }
            Some(Err(failure)) => failures.push(failure),
            None => break,
        }
    }
    match failures.first().map(|failure| failure.status) {
        None => Ok(found),
        Some(status) => {
            let messages: Vec<String> = failures.into_iter().map(|failure| failure.message).collect();
            Err(Failure::new(status, messages.join("\ngossamer: ")))
        }
    }
}
