//! How nodes find each other: all connect to node 0, which waits for all, compares their programs, and tells everyone
//! who the members are.

use crate::fabric::choice::FabricChoice;
use crate::fabric::verbs::availability::Unavailable;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::survey::{Survey, survey_machine};
use crate::lane::registry::{Described, Registry};
use crate::rack::absence::{self, lost, problem_with};
use crate::rack::connections::Port;
use crate::rack::environment::Membership;
use crate::rack::greeting::{Greeted, HANDSHAKES, go_to_door, greet, problem};
use crate::rack::hello::{Hello, Member, Reply, difference, lay_out};
use crate::rack::message::MessageSocket;
use crate::rack::neighbours::LOCALHOST;
use crate::rack::pair_fabric;
use crate::runtime::StartError;
use crate::transport::entrance::Entrance;
use crate::transport::handshake;
use crate::transport::purpose::{Door, Purpose};
use crate::transport::seal::protection::Protection;
use crate::transport::socket::{Socket, SocketListener};
use crate::worker::config::Config;
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to reach node 0.
const RETRY: Duration = Duration::from_millis(20);

/// The rack, as a node sees it once all have met.
pub(crate) struct Met {
    pub(crate) members: Vec<Member>,
    /// To every other node, if this is node 0; otherwise to node 0.
    pub(crate) controls: Vec<MessageSocket>,
    /// Where this node waits for connections from other machines, if there may be any.
    pub(crate) port: Option<Port>,
    /// The fabrics that may join nodes, chosen by node 0.
    pub(crate) fabric: FabricChoice,
    /// The RDMA ports of this node.
    pub(crate) survey: Option<Survey>,
}

/// Meets the other nodes, before `due`.
///
/// # Errors
/// If not all arrive in time, one runs another program, or a connection is lost. The text says which, and what to do.
pub(crate) fn meet(membership: &Membership, config: &Config, due: Instant) -> Result<Met, StartError> {
    let mut hello = Hello::of_this_process(membership.node, membership.nodes, config)?;
    let survey = match survey_own_ports(membership, config.fabric)? {
        Ok(survey) => {
            hello.ports = Ok(survey.offers.clone());
            Some(survey)
        }
        Err(why) => {
            hello.ports = Err(why);
            None
        }
    };
    let met = if membership.node == 0 {
        receive_all(membership, hello, config, due)
    } else {
        join(membership, hello, config, due)
    };
    Ok(Met { survey, ..met? })
}

/// The RDMA ports of this node, or why it uses none.
fn survey_own_ports(
    membership: &Membership,
    fabric: FabricChoice,
) -> Result<Result<Survey, String>, StartError> {
    let settings = VerbsSettings::find(&|name| std::env::var(name).ok()).map_err(StartError::Config)?;
    if !fabric.may_use_verbs() {
        return Ok(Err(format!("it was started with GOSSAMER_FABRIC={fabric}")));
    }
    if membership.protection != Protection::Checked {
        return Ok(Err(format!("RDMA cannot provide GOSSAMER_PROTECTION={}", membership.protection)));
    }
    if fabric == FabricChoice::Auto && membership.rendezvous.host().is_none() {
        return Ok(Err("all nodes are of this machine".to_owned()));
    }
    match survey_machine(&settings) {
        Ok(survey) => Ok(Ok(survey)),
        Err(Unavailable::Asked(why)) => Err(StartError::Config(why)),
        Err(why) => Ok(Err(why.to_string())),
    }
}

/// Opens the port, at `host`, of a node that nodes on other machines may have to reach.
fn open_port(hello: &mut Hello, host: Option<&str>, config: &Config) -> Result<Option<Port>, StartError> {
    let host = host.or(if config.fabric.shares_memory() { None } else { Some(LOCALHOST) });
    let port = host.map(Port::open).transpose();
    let port =
        port.map_err(|source| StartError::System { step: "opening a port for other nodes", source })?;
    hello.data = port.as_ref().map(|port| port.address.clone()).unwrap_or_default();
    Ok(port)
}

/// Meets the others as node 0.
fn receive_all(
    membership: &Membership,
    mut own: Hello,
    config: &Config,
    due: Instant,
) -> Result<Met, StartError> {
    let address = &membership.rendezvous;
    let port = open_port(&mut own, address.host(), config)?;
    let inherited = SocketListener::inherited().map_err(|error| problem(error.to_string()))?;
    let listener = inherited.map_or_else(|| SocketListener::bind(address), Ok).map_err(|error| {
        problem(format!("node 0 cannot listen at {address}, where the others look for it: {error}"))
    })?;
    let entrance =
        Entrance::new(listener).map_err(|source| StartError::System { step: "listening", source })?;
    let mut there: Vec<Option<Greeted<Hello>>> = (0..membership.nodes).map(|_| None).collect();
    let (arrived, arrivals) = mpsc::sync_channel::<io::Result<Greeted<Hello>>>(HANDSHAKES);
    while there.iter().skip(1).any(Option::is_none) {
        while let Ok(greeted) = arrivals.try_recv() {
            let (hello, socket) = greeted
                .map_err(|error| problem(format!("a node at {address} could not be understood: {error}")))?;
            admit(&own, &mut there, hello, socket)?;
        }
        // Short, since nodes that arrived must be watched.
        match entrance.take_until(due.min(Instant::now() + RETRY)) {
            Ok(visitors) => visitors.into_iter().for_each(|visitor| {
                // Also a node with another protection, which is told so.
                let takes = |purpose: Purpose| purpose.door == Door::Control && purpose.to == 0;
                greet(visitor, membership, takes, hear_hello, arrived.clone());
            }),
            Err(_) if Instant::now() < due => {}
            Err(error) => {
                let missing = there.iter().enumerate().skip(1).filter(|(_, node)| node.is_none());
                let missing: Vec<usize> = missing.map(|(node, _)| node).collect();
                let names: Vec<_> = missing.iter().map(usize::to_string).collect();
                let text = format!(
                    "node {} of {} did not come to {address} in time ({error}): was it started, and can it reach this \
                     address? GOSSAMER_START_SECONDS sets how long to wait",
                    names.join(", "),
                    membership.nodes
                );
                return Err(absence::missing(&missing, text));
            }
        }
    }
    let mut hellos = vec![own];
    let mut controls = Vec::new();
    for (hello, socket) in there.into_iter().flatten() {
        hellos.push(hello);
        controls.push(socket);
    }
    let members = lay_out(&hellos, config);
    if let Some(complaint) = pair_fabric::refusal(&members, config.fabric) {
        refuse(controls.iter_mut(), &complaint);
        return Err(problem(complaint));
    }
    for (index, socket) in controls.iter_mut().enumerate() {
        socket
            .send(Reply::Welcome(members.clone(), config.fabric))
            .map_err(|error| lost(index + 1, &error))?;
    }
    Ok(Met { members, controls, port, fabric: config.fabric, survey: None })
}

/// What a node says about itself, which must be the node that it has proved to be.
fn hear_hello(purpose: Purpose, socket: &mut MessageSocket) -> io::Result<Hello> {
    let hello: Hello = socket.receive()?;
    if hello.node == purpose.from as usize {
        Ok(hello)
    } else {
        let text = format!("it came as node {}, and says that it is node {}", purpose.from, hello.node);
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

/// Admits a node if it is one of the missing ones and runs this program.
fn admit(
    own: &Hello,
    there: &mut [Option<Greeted<Hello>>],
    hello: Hello,
    mut socket: MessageSocket,
) -> Result<(), StartError> {
    let node = hello.node;
    let complaint = if hello.nodes != own.nodes {
        Some(format!(
            "node {node} was started as one of {} nodes, node 0 as one of {}",
            hello.nodes, own.nodes
        ))
    } else if node == 0 || node >= there.len() || there[node].is_some() {
        Some(format!(
            "two processes were started as node {node}: one of them on {} (process {})",
            hello.host, hello.pid
        ))
    } else if hello.protection != own.protection {
        Some(format!(
            "node {node} on {} was started with GOSSAMER_PROTECTION={}, node 0 with {}: all nodes need the same",
            hello.host, hello.protection, own.protection
        ))
    } else if !own.is_same_program(&hello) {
        let theirs: io::Result<Vec<Described>> = socket.send(Reply::Explain).and_then(|()| socket.receive());
        let difference = theirs.map(|theirs| difference(&Registry::get().describe(), &theirs));
        Some(format!(
            "node {node} on {} runs another program than node 0, or another build of it: {}; start the same file everywhere",
            hello.host,
            difference.unwrap_or_else(|error| format!("maybe with another version of gossamer ({error})"))
        ))
    } else {
        None
    };
    let Some(complaint) = complaint else {
        there[node] = Some((hello, socket));
        return Ok(());
    };
    refuse(there.iter_mut().flatten().map(|(_, socket)| socket).chain([&mut socket]), &complaint);
    Err(problem(complaint))
}

/// Tells nodes why they cannot start.
fn refuse<'a>(nodes: impl Iterator<Item = &'a mut MessageSocket>, complaint: &str) {
    for socket in nodes {
        // Otherwise the end of the connection will tell it.
        let _told = socket.send(Reply::Refused(complaint.to_owned()));
    }
}

/// Meets node 0 as another node.
fn join(membership: &Membership, mut hello: Hello, config: &Config, due: Instant) -> Result<Met, StartError> {
    let address = &membership.rendezvous;
    let mut socket = reach(membership, due)?;
    let port = open_port(&mut hello, socket.socket().local_host().as_deref(), config)?;
    let unreachable =
        |error: io::Error| problem_with(0, &error, format!("node 0 at {address} did not answer: {error}"));
    socket.send(hello).map_err(unreachable)?;
    // The last node may arrive late.
    socket
        .set_patience(due.saturating_duration_since(Instant::now()) + handshake::PATIENCE)
        .map_err(unreachable)?;
    loop {
        match socket.receive().map_err(unreachable)? {
            Reply::Welcome(members, fabric) => {
                return Ok(Met { members, controls: vec![socket], port, fabric, survey: None });
            }
            Reply::Refused(complaint) => return Err(problem(complaint)),
            Reply::Explain => {
                socket.send(Registry::get().describe()).map_err(unreachable)?;
            }
        }
    }
}

/// Connects to node 0, which may not have started yet.
fn reach(membership: &Membership, due: Instant) -> Result<MessageSocket, StartError> {
    let address = &membership.rendezvous;
    let purpose = membership.purpose(Door::Control, 0, 0);
    loop {
        let attempt = Socket::connect(address, handshake::PATIENCE)
            .and_then(|socket| go_to_door(socket, membership, purpose));
        match attempt {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(problem(format!(
                    "the process that listens at {address} is not node 0 of this application: {error} (check GOSSAMER_TOKEN)"
                )));
            }
            Err(error) if Instant::now() + RETRY >= due => {
                let text = format!(
                    "node {} cannot reach node 0 at {address}: {error}; was node 0 started, and is it still running?",
                    membership.node
                );
                return Err(problem_with(0, &error, text));
            }
            Err(_) => thread::sleep(RETRY),
        }
    }
}
