//! How nodes connect their queue pairs: the parameters go over the connections on which they have proved themselves,
//! and neither writes before both can receive.

use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::link::setup::{OfferedQueuePairs, ReachedNode, VerbsSetup};
use crate::fabric::verbs::link::unconnected::UnconnectedEndpoint;
use crate::fabric::verbs::survey::{Survey, survey_machine};
use crate::rack::message::MessageSocket;
use crate::transport::handshake;
use crate::transport::purpose::{Door, Purpose};
use crate::transport::records::within_process as records_within_process;
use crate::transport::seal::protection::Protection;
use crate::transport::socket::Socket;
use crate::wire::NoRef;
use crate::worker::nodes::peers::RemoteLinks;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::panic;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for a first answer at most: some devices try for ever.
const PROBE: Duration = Duration::from_secs(8);
/// How long nodes of one process wait for each other.
const IN_PROCESS: Duration = Duration::from_secs(60);

/// The connected queue pairs.
#[derive(Default)]
pub(crate) struct Connected {
    /// Of each worker of this node.
    pub(crate) endpoints: Vec<Mutex<Vec<UnconnectedEndpoint>>>,
    /// Their devices.
    pub(crate) devices: Vec<Arc<DeviceContext>>,
    /// Why nodes cannot be reached, as known to both sides.
    pub(crate) unreached: BTreeMap<usize, String>,
}

/// One step of both sides of a connection: a value, or why there is none.
type Step<T> = Result<T, String>;

type Steps<T> = BTreeMap<usize, Step<T>>;

/// Connections to nodes, by their numbers.
pub(crate) type Controls<'a> = BTreeMap<usize, &'a mut MessageSocket>;

/// Connects the queue pairs of this node's `workers`.
///
/// # Errors
/// If a node is lost meanwhile; the text says which.
pub(crate) fn connect(
    own: Survey,
    workers: Range<usize>,
    reached: Vec<ReachedNode>,
    mut controls: Controls<'_>,
    due: Instant,
) -> Result<Connected, (usize, io::Error)> {
    let left = || due.saturating_duration_since(Instant::now());
    let patience = left() + PROBE + handshake::PATIENCE;
    for (node, control) in &mut controls {
        control.set_patience(patience).map_err(|error| (*node, error))?;
    }
    let said = |error: io::Error| error.to_string();
    let mut setup = VerbsSetup::new(own.devices.clone(), own.settings, workers, reached).map_err(said);
    let mut offered =
        exchange(&mut controls, |node| setup.as_mut().map_err(|why| why.clone())?.offer(node).map_err(said))?;
    let receiving: Steps<()> = exchange(&mut controls, |node| {
        let offered: OfferedQueuePairs = take(&mut offered, node)?;
        setup.as_mut().map_err(|why| why.clone())?.receive(node, offered).map_err(said)
    })?;
    let both: Vec<usize> = receiving.iter().filter(|(_, step)| step.is_ok()).map(|(node, _)| *node).collect();
    // The remaining time is for another fabric.
    let probe_due = Instant::now() + PROBE.min(left() / 2);
    let probed = setup.as_mut().map_err(|why| why.clone());
    let probed = probed.and_then(|setup| setup.probe(&both, probe_due).map_err(said));
    let mut receiving = receiving;
    let reached: Steps<()> = exchange(&mut controls, |node| {
        take(&mut receiving, node)?;
        probed.as_ref().map_err(String::clone)?.get(&node).map_or(Ok(()), |why| Err(why.clone()))
    })?;
    let connected: Vec<usize> =
        reached.iter().filter(|(_, step)| step.is_ok()).map(|(node, _)| *node).collect();
    let unreached = reached.into_iter().filter_map(|(node, step)| Some((node, step.err()?))).collect();
    let (endpoints, devices) = match setup {
        Ok(setup) if !connected.is_empty() => (setup.connect(&connected), own.devices),
        _ => (Vec::new(), Vec::new()),
    };
    Ok(Connected { endpoints: endpoints.into_iter().map(Mutex::new).collect(), devices, unreached })
}

/// The outcome of a step with a node.
fn take<T>(steps: &mut Steps<T>, node: usize) -> Step<T> {
    steps.remove(&node).unwrap_or_else(|| Err(format!("node {node} was not asked")))
}

/// Tells each node what this one has for it, or why it has nothing, and receives the same: returns what it gets, or
/// why one of the two has nothing.
fn exchange<T: NoRef>(
    controls: &mut Controls<'_>,
    mut step: impl FnMut(usize) -> Step<T>,
) -> Result<Steps<T>, (usize, io::Error)> {
    let (mut own, mut both) = (BTreeMap::new(), Steps::new());
    for (node, control) in controls.iter_mut() {
        let step = step(*node);
        own.insert(*node, step.as_ref().err().cloned());
        control.send(step).map_err(|error| (*node, error))?;
    }
    for (node, control) in controls.iter_mut() {
        let theirs: Step<T> = control.receive().map_err(|error| (*node, error))?;
        both.insert(
            *node,
            match own.remove(node).flatten() {
                Some(why) => Err(why),
                None => theirs.map_err(|why| format!("on node {node}: {why}")),
            },
        );
    }
    Ok(both)
}

/// The queue pairs of each node to all others, of a rack inside one process.
///
/// # Errors
/// If there is no RDMA, or not enough of a resource.
pub(crate) fn within_process(nodes: usize, workers: usize) -> io::Result<Vec<RemoteLinks>> {
    let settings = VerbsSettings::find(&|name| std::env::var(name).ok()).map_err(io::Error::other)?;
    let own = || survey_machine(&settings).map_err(|why| io::Error::other(why.to_string()));
    let due = Instant::now() + IN_PROCESS;
    let surveys = (0..nodes).map(|_| own()).collect::<io::Result<Vec<_>>>()?;
    let mut controls: Vec<BTreeMap<usize, MessageSocket>> = (0..nodes).map(|_| BTreeMap::new()).collect();
    for (one, other) in (0..nodes).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let (here, there) = UnixStream::pair()?;
        let purpose = Purpose::of_nodes(Door::Watch, Protection::Checked, (one, other), 0);
        let [connects, accepts] = records_within_process(purpose)?;
        controls[one].insert(other, MessageSocket::new(Socket::Unix(here), connects));
        controls[other].insert(one, MessageSocket::new(Socket::Unix(there), accepts));
    }
    let of = |node: usize| node * workers..(node + 1) * workers;
    let ports = pairs(&surveys[0].offers, &surveys[0].offers).map_err(io::Error::other)?;
    thread::scope(|scope| {
        let joining: Vec<_> = surveys
            .into_iter()
            .zip(&mut controls)
            .enumerate()
            .map(|(node, (own, controls))| {
                let reached = controls.keys().map(|other| ReachedNode {
                    number: *other,
                    workers: of(*other),
                    ports: ports.clone(),
                    end: usize::from(node > *other),
                });
                let reached = reached.collect();
                let controls = controls.iter_mut().map(|(other, control)| (*other, control)).collect();
                scope.spawn(move || connect(own, of(node), reached, controls, due))
            })
            .collect();
        joining
            .into_iter()
            .map(|node| {
                let joined = node.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
                let connected = joined.map_err(|(_, error)| error)?;
                match connected.unreached.into_values().next() {
                    Some(why) => Err(io::Error::other(why)),
                    None => Ok(RemoteLinks {
                        verbs: connected.endpoints,
                        devices: connected.devices,
                        ..RemoteLinks::none(nodes)
                    }),
                }
            })
            .collect()
    })
}
