//! A rack inside one process: for tests of programs that run on several nodes.

use crate::fabric::choice::FabricChoice;
use crate::fabric::shm::{Neighbour, Notifiers, Pair};
#[cfg(all(test, not(loom)))]
use crate::fabric::sim::Network;
use crate::rack::connections;
use crate::rack::device_events::DeviceWatch;
use crate::rack::hello::share;
use crate::rack::neighbours::LOCALHOST;
use crate::rack::queue_pairs;
use crate::runtime::{self, NodeThreads, Placement, StartError};
use crate::sys::image::address;
use crate::sys::sync::eventfd::EventFd;
use crate::sys::threads::affinity;
use crate::trace::NodeTrace;
use crate::transport::handshake::Token;
use crate::worker::config::Config;
use crate::worker::end::quiet::wait_until_quiet;
use crate::worker::nodes::peers::{Peers, RemoteLinks};
use crate::worker::shared::Phase;
use std::io;
use std::os::fd::AsFd;
use std::panic::{self, Location};
use std::sync::Arc;

/// Runs `f` as [`run`](crate::run) does, on `nodes` nodes that all live in this process, each with the number of
/// workers set in `config` (by default one). Between nodes values are encoded, lanes lie in shared memory (or go over
/// TCP or RDMA, see [`Config::fabric`]) and trusts are lent, as between processes. So a test can check that a program
/// runs on a rack, and a debugger sees all of it. Workers are pinned if [`Config::pin`] says so, and not by default.
///
/// ```
/// use gossamer::{Config, Trustee, rack};
///
/// #[gossamer::delegate] // its closures go to other nodes
/// fn greet() -> Vec<String> {
///     let names: Vec<_> = Trustee::all().iter().map(|there| there.entrust(String::from("node"))).collect();
///     names.iter().map(|name| name.apply(|name| { name.push('!'); name.clone() })).collect()
/// }
///
/// assert_eq!(rack::run_in_process(3, Config::default(), greet), ["node!"; 3]);
/// ```
///
/// # Panics
/// If `f` panics, with its payload; if the runtime cannot start; when called from a fiber; if there are no nodes.
#[track_caller]
pub fn run_in_process<R: Send + 'static>(
    nodes: usize,
    config: Config,
    f: impl FnOnce() -> R + Send + 'static,
) -> R {
    assert!(
        crate::worker::with(|worker| worker.is_none()),
        "`run_in_process` inside a runtime: spawn a fiber instead"
    );
    assert!(nodes > 0, "a rack has at least one node");
    address::check_single().unwrap_or_else(|text| panic!("{text}"));
    let runtimes = runtime::from_environment(config).and_then(|config| start(nodes, &config));
    let runtimes = runtimes.unwrap_or_else(|error| panic!("{error}"));
    let watches = runtimes.iter().map(|node| DeviceWatch::of(node.shared())).collect::<io::Result<Vec<_>>>();
    let _watches = watches.unwrap_or_else(|error| panic!("cannot start: watching RDMA devices: {error}"));
    let others: Vec<_> = runtimes.iter().skip(1).map(|node| Arc::clone(node.shared())).collect();
    let traces = move || others.iter().map(NodeTrace::of).collect::<Vec<_>>();
    runtimes[0].offer_trace(traces.clone());
    let outcome = NodeThreads::run_first(&runtimes, f, Location::caller());
    for phase in [Phase::Draining, Phase::Dropping] {
        runtimes.iter().for_each(|node| node.shared().advance_to(phase));
        let shared = runtimes.iter().map(|node| &**node.shared());
        let look = || shared.clone().try_fold(0_u64, |sum, node| Some(node.look()?.wrapping_add(sum)));
        wait_until_quiet(shared.clone(), look, String::new);
    }
    let traces = if runtimes[0].is_traced() { traces() } else { Vec::new() };
    let mut traces = Some(traces);
    runtimes.into_iter().for_each(|node| node.leave(traces.take().unwrap_or_default()));
    outcome.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

fn start(nodes: usize, config: &Config) -> Result<Vec<NodeThreads>, StartError> {
    let workers = config.worker_count(1);
    let peers = connect(nodes, workers, config)
        .map_err(|source| StartError::System { step: "joining nodes", source })?;
    let allowed = affinity::allowed().unwrap_or_default();
    let is_crowded = (1..nodes * workers).contains(&allowed.len());
    let placed = |node| {
        let own = share(&allowed, node, nodes);
        let processors = Some(own).filter(|own| config.pins(workers, own.len(), false) && !own.is_empty());
        Placement { workers, processors, is_crowded }
    };
    let start = |(node, peers)| NodeThreads::start(config.clone(), Some(placed(node)), Some(peers));
    peers.into_iter().enumerate().map(start).collect()
}

/// What every node knows about the others.
fn connect(nodes: usize, workers: usize, config: &Config) -> io::Result<Vec<Peers>> {
    let fabric = config.fabric;
    let all = nodes * workers;
    let notifiers = (0..nodes).map(|_| Notifiers::create(workers, all)).collect::<io::Result<Vec<_>>>()?;
    let eventfd = |_| EventFd::new();
    let eventfds =
        (0..nodes).map(|_| (0..workers).map(eventfd).collect()).collect::<io::Result<Vec<Vec<_>>>>()?;
    let remote: Vec<RemoteLinks> = match fabric {
        FabricChoice::Tcp => connections::loopback(nodes, workers, config.protection)?,
        FabricChoice::Verbs => queue_pairs::within_process(nodes, workers)?,
        #[cfg(all(test, not(loom)))]
        FabricChoice::Simulated(seed) => {
            let network = Network::seeded(seed);
            let links = || RemoteLinks { simulated: Some(Arc::clone(&network)), ..RemoteLinks::none(nodes) };
            (0..nodes).map(|_| links()).collect()
        }
        _ => (0..nodes).map(|_| RemoteLinks::none(nodes)).collect(),
    };
    let mut neighbours: Vec<Vec<Neighbour>> = (0..nodes).map(|_| Vec::new()).collect();
    let of = |node: usize| node * workers..(node + 1) * workers;
    // By the same handles as in another process.
    let neighbour = |node: usize, pair: Pair| {
        let again = |eventfd: &EventFd| Ok(EventFd::from_descriptor(eventfd.as_fd().try_clone_to_owned()?));
        let notifiers = Notifiers::attach(notifiers[node].as_fd().try_clone_to_owned()?, workers, all)?;
        let eventfds = eventfds[node].iter().map(again).collect::<io::Result<Vec<_>>>()?;
        Ok::<_, io::Error>(Neighbour { workers: of(node), pair, notifiers, eventfds })
    };
    for first in (0..nodes).filter(|_| fabric.shares_memory()) {
        for second in first + 1..nodes {
            let pair = Pair::create(of(first), of(second))?;
            let other = Pair::attach(pair.as_fd().try_clone_to_owned()?, of(second), of(first))?;
            neighbours[first].push(neighbour(second, pair)?);
            neighbours[second].push(neighbour(first, other)?);
        }
    }
    let workers = vec![workers; nodes];
    let rack = Token::random()?.public_name("rack");
    let nodes = neighbours.into_iter().zip(remote).zip(notifiers.into_iter().zip(eventfds)).enumerate();
    Ok(nodes
        .map(|(node, ((neighbours, remote), own))| {
            Peers::new((node, LOCALHOST.to_owned(), rack.clone()), &workers, neighbours, remote, own)
        })
        .collect())
}
