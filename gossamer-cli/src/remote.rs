//! `gossamer run` over the daemons of a rack. The launcher talks to every daemon itself; it owns the application, which
//! ends with it.

use crate::channel::{Reader, Writer};
use crate::config::{Machine, Rack};
use crate::connect::Connection;
use crate::exit::{FAILED, Failure, UNREACHABLE, USAGE};
use crate::key::Key;
use crate::message::{Command, Event};
use crate::program::Program;
use crate::protocol::{BEAT, Launch, Reply, Request, SILENCE, decode, encode};
use crate::supervise::{self, Application, Heard, supervise};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// How long a daemon may take to look for a program, or to store it.
const PREPARATION: Duration = Duration::from_secs(60);
/// The bytes of the program in one message.
const PIECE: usize = 256 * 1024;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Run {
    /// The configuration.
    pub config: PathBuf,
    /// How many nodes: one on each machine, if not said.
    pub nodes: Option<u32>,
    /// On which machines: all, if empty.
    pub hosts: Vec<String>,
    /// How many workers each node has.
    pub threads: Option<u32>,
    /// Whether lines are marked with the node's name.
    pub prefix: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Runs an application to its end, and gives the exit status.
///
/// # Errors
/// If it cannot be started.
pub async fn run(run: Run) -> Result<u8, Failure> {
    let rack = Rack::read(&run.config)?;
    let key = Key::read(&rack.key)?;
    let mut machines = rack.choose(&run.hosts)?;
    let program = Program::find(run.command, run.threads)?;
    let count = run.nodes.map_or(machines.len(), |nodes| usize::try_from(nodes).unwrap_or(usize::MAX));
    machines.truncate(count);
    // Nodes are dealt out to the machines in turn.
    let places: Vec<usize> = (0..count).map(|node| node % machines.len()).collect();
    let (tell, events) = unbounded_channel();
    let (tell_addresses, addresses) = watch::channel(None);
    let (tell_ready, mut ready) = unbounded_channel();
    let mut links = JoinSet::new();
    let mut handles = Vec::new();
    for (index, machine) in machines.iter().enumerate() {
        let (commands, orders) = unbounded_channel();
        let heard = Heard::default();
        handles.push(supervise::Machine {
            name: Some(machine.name.clone()),
            commands,
            heard: Arc::clone(&heard),
        });
        let nodes = (0..count).filter(|&node| places.get(node) == Some(&index));
        let link = Link {
            machine: machine.clone(),
            rack: rack.clone(),
            key: key.clone(),
            program: program.path.clone(),
            launch: Launch {
                nodes: nodes.filter_map(|node| u32::try_from(node).ok()).collect(),
                ..program.launch.clone()
            },
            alone: machines.len() == 1,
        };
        let (tell_ready, tell, addresses) = (tell_ready.clone(), tell.clone(), addresses.clone());
        links.spawn(async move {
            let prepared = link.prepare(addresses).await;
            let tell = move |event| tell.send((index, event)).is_ok();
            match prepared {
                Ok((connection, at, wait)) => {
                    let _ = tell_ready.send(Ok((index, at)));
                    if let Some(connection) = wait.start(connection, &tell).await {
                        serve(connection, orders, &heard, tell).await;
                    }
                }
                Err(failure) => drop(tell_ready.send(Err(failure))),
            }
        });
    }
    drop(tell_ready);
    let found = all_ready(&mut ready, machines.len()).await?;
    let list = match found.as_slice() {
        [_] => local_addresses(&program.launch.application, count),
        _ => node_addresses(&machines, &places, found)?,
    };
    tell_addresses.send_replace(Some(list));
    let result =
        supervise(Application { machines: handles, nodes: places, events, prefix: run.prefix }).await;
    // With the ways to them gone, the links say what is left to say, and close.
    let _ = timeout(BEAT, async { while links.join_next().await.is_some() {} }).await;
    result
}

/// Where the nodes of a machine listen, in their order.
type Places = Vec<SocketAddr>;

/// Waits for all machines: their places, or all that is wrong.
async fn all_ready(
    ready: &mut UnboundedReceiver<Result<(usize, Places), Failure>>,
    machines: usize,
) -> Result<Vec<Places>, Failure> {
    let mut found = vec![Places::new(); machines];
    let mut failures: Vec<Failure> = Vec::new();
    for _ in 0..machines {
        match ready.recv().await {
            Some(Ok((index, places))) => {
                if let Some(known) = found.get_mut(index) {
                    *known = places;
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

/// The value of `GOSSAMER_NODES` if all nodes are on one machine.
fn local_addresses(application: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|node| format!("unix:gossamer-{application}-{node}")).collect();
    names.join(",")
}

/// The value of `GOSSAMER_NODES`.
fn node_addresses(machines: &[Machine], places: &[usize], found: Vec<Places>) -> Result<String, Failure> {
    let loopback: Vec<bool> =
        found.iter().map(|places| places.iter().all(|address| address.ip().is_loopback())).collect();
    if let Some(here) = loopback.iter().position(|&loopback| loopback)
        && loopback.contains(&false)
    {
        let name = machines.get(here).map_or("", |machine| machine.name.as_str());
        return Err(Failure::new(
            USAGE,
            format!(
                "the address of {name} leads back to this machine, where the other machines cannot reach it; write its \
                 network address into the configuration"
            ),
        ));
    }
    let mut found: Vec<_> = found.into_iter().map(Vec::into_iter).collect();
    let next =
        |&place: &usize| found.get_mut(place).and_then(Iterator::next).map(|address| address.to_string());
    let list: Vec<String> = places.iter().filter_map(next).collect();
    Ok(list.join(","))
}

/// What is needed to start the nodes of one machine.
struct Link {
    machine: Machine,
    rack: Rack,
    key: Key,
    program: PathBuf,
    launch: Launch,
    /// Whether all nodes are there.
    alone: bool,
}

/// Waits until all machines are ready.
struct Wait(watch::Receiver<Option<String>>);

impl Link {
    fn failure(&self, what: impl std::fmt::Display) -> Failure {
        Failure::new(UNREACHABLE, format!("cannot start nodes on {}: {what}", self.machine.name))
    }

    /// Everything up to `Ready` or `Stored`.
    async fn prepare(
        mut self,
        addresses: watch::Receiver<Option<String>>,
    ) -> Result<(Connection, Places, Wait), Failure> {
        let mut connection = Connection::open(&self.machine, &self.rack, &self.key).await?;
        if !self.alone {
            // Where the daemon is reached, its nodes are as well.
            self.launch.listen = Some(connection.address.ip());
        }
        let request = Request::Launch(Box::new(self.launch.clone()));
        connection.send(&request).await.map_err(|error| self.failure(error))?;
        let (ports, has_binary) = match self.reply(&mut connection).await? {
            Reply::Ready { ports, has_binary } => (ports, has_binary),
            _ => return Err(self.failure("its daemon does not keep to the protocol")),
        };
        if !self.alone && ports.len() != self.launch.nodes.len() {
            return Err(self.failure("its daemon does not keep to the protocol"));
        }
        if !has_binary {
            self.ship(&mut connection).await?;
        }
        let at = connection.address.ip();
        let places = ports.into_iter().map(|port| SocketAddr::new(at, port)).collect();
        Ok((connection, places, Wait(addresses)))
    }

    async fn reply(&self, connection: &mut Connection) -> Result<Reply, Failure> {
        match timeout(PREPARATION, connection.reader.receive()).await {
            Ok(received) => self.understood(received),
            Err(_) => Err(self.failure(format!("its daemon says nothing for {} s", PREPARATION.as_secs()))),
        }
    }

    fn understood(&self, received: io::Result<Option<Vec<u8>>>) -> Result<Reply, Failure> {
        match received.and_then(|message| message.map(|message| decode(&message)).transpose()) {
            Ok(Some(Reply::Refused(why))) => Err(self.failure(why)),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.failure("its daemon has closed the connection")),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Sends the program.
    async fn ship(&self, connection: &mut Connection) -> Result<(), Failure> {
        let Connection { reader, writer, .. } = &mut *connection;
        let reply = tokio::select! {
            // It may refuse the rest.
            received = reader.receive() => self.understood(received)?,
            sent = self.send_program(writer) => match sent {
                Ok(()) => self.reply(connection).await?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let what = "the program became shorter while it was shipped; launch it again";
                    return Err(Failure::new(FAILED, what));
                }
                // It says why, if it can.
                Err(error) => return Err(self.reply(connection).await.err().unwrap_or_else(|| self.failure(error))),
            }
        };
        match reply {
            Reply::Stored => Ok(()),
            _ => Err(self.failure("its daemon does not keep to the protocol")),
        }
    }

    async fn send_program(&self, writer: &mut Writer) -> io::Result<()> {
        let mut file = File::open(&self.program)?;
        let mut left = self.launch.length;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let mut piece = vec![0; length];
            // The page cache has it, since it was hashed just now.
            file.read_exact(&mut piece)?;
            left -= length as u64;
            send(writer, &Request::Binary(piece)).await?;
        }
        Ok(())
    }
}

async fn send(writer: &mut Writer, request: &Request) -> io::Result<()> {
    writer.send(&encode(request)?).await
}

impl Wait {
    /// Starts the nodes as soon as all machines are ready, and keeps the daemon's patience until then. Gives nothing if
    /// the launch was given up.
    async fn start(self, mut connection: Connection, tell: &impl Fn(Event) -> bool) -> Option<Connection> {
        let Self(mut addresses) = self;
        loop {
            let request = match timeout(BEAT, addresses.wait_for(Option::is_some)).await {
                Ok(known) => Request::Start { addresses: known.ok()?.clone().unwrap_or_default() },
                Err(_) => Request::Beat,
            };
            if let Err(error) = send(&mut connection.writer, &request).await {
                tell(Event::Lost(format!("nothing can be sent to its daemon: {error}")));
                return None;
            }
            if matches!(request, Request::Start { .. }) {
                return Some(connection);
            }
        }
    }
}

/// Passes on what daemon and launcher tell each other, until one of them is gone.
async fn serve(
    connection: Connection,
    orders: UnboundedReceiver<Command>,
    heard: &Heard,
    tell: impl Fn(Event) -> bool,
) {
    let Connection { reader, writer, .. } = connection;
    tokio::select! {
        why = listen(reader, heard, &tell) => {
            tell(Event::Lost(why));
        }
        result = speak(writer, orders) => {
            if let Err(error) = result {
                tell(Event::Lost(format!("nothing can be sent to its daemon: {error}")));
            }
        }
    }
}

/// Passes on events until the daemon is lost, and says why it is.
async fn listen(mut reader: Reader, heard: &Heard, tell: &impl Fn(Event) -> bool) -> String {
    loop {
        let now = Instant::now();
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.into_std());
        let message = match timeout_at(now + SILENCE, reader.receive()).await {
            Ok(Ok(Some(message))) => message,
            Ok(Ok(None)) => return "its daemon has closed the connection".into(),
            Ok(Err(error)) => return format!("the connection to its daemon is broken: {error}"),
            Err(_) => return format!("nothing was heard of its daemon for {} s", SILENCE.as_secs()),
        };
        match decode(&message) {
            Ok(Reply::Event(event)) => {
                tell(event);
            }
            Ok(Reply::Beat) => {}
            Ok(Reply::Refused(why)) => return format!("its daemon has given up: {why}"),
            Ok(_) | Err(_) => return "its daemon does not keep to the protocol".into(),
        }
    }
}

/// Sends commands, or a beat if there is none, until there is no launcher any more.
async fn speak(mut writer: Writer, mut orders: UnboundedReceiver<Command>) -> io::Result<()> {
    loop {
        let request = match timeout(BEAT, orders.recv()).await {
            Ok(Some(command)) => Request::Command(command),
            Ok(None) => return Ok(()),
            Err(_) => Request::Beat,
        };
        send(&mut writer, &request).await?;
    }
}
