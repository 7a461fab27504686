//! The daemon's side of a launch. The connection is the launch: when it ends, the nodes are killed.

use super::Daemon;
use super::log::log;
use super::registry::Entry;
use super::session::send;
use crate::cache::Program;
use crate::channel::{Reader, Writer};
use crate::fate::{INTERRUPTED, TERMINATE};
use crate::host::host;
use crate::message::{Command, Event};
use crate::protocol::{BEAT, Launch, Reply, Request, SILENCE, decode};
use crate::spawn::{self, Node};
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// How long the last messages to a launcher may take.
const LAST: Duration = Duration::from_secs(1);

/// Serves a launch to its end.
pub async fn serve(daemon: &Arc<Daemon>, mut reader: Reader, mut writer: Writer, launch: Launch) {
    let (end, ends) = unbounded_channel();
    let prepared = prepare(daemon, &mut reader, &mut writer, &launch, end).await;
    let (entry, program, nodes) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => {
            log(&format!("application {} of {}: not started: {why}", launch.application, launch.owner));
            // What the launcher is still sending is read, since to close the connection before would tell it nothing else.
            let refuse = async {
                send(&mut writer, &Reply::Refused(why)).await?;
                while reader.receive().await?.is_some() {}
                io::Result::Ok(())
            };
            let _ = timeout(LAST, refuse).await;
            return;
        }
    };
    let name = format!("application {} of {}", launch.application, launch.owner);
    log(&format!("{name}: starts nodes {:?}", launch.nodes));
    let why = run(daemon, reader, writer, Running { launch, program, nodes, entry: &entry, ends }).await;
    match entry.running() {
        running if running.is_empty() => log(&format!("{name}: ended")),
        running => log(&format!("{name}: killed nodes {running:?}: {why}")),
    }
}

/// What is there when nodes can be started.
struct Running<'a> {
    launch: Launch,
    program: Program,
    nodes: Vec<Node>,
    entry: &'a Entry,
    ends: UnboundedReceiver<String>,
}

/// Everything up to `Start`.
async fn prepare(
    daemon: &Arc<Daemon>,
    reader: &mut Reader,
    writer: &mut Writer,
    launch: &Launch,
    end: UnboundedSender<String>,
) -> Result<(Entry, Program, Vec<Node>), String> {
    let most = daemon.rack.limits.nodes;
    if launch.nodes.is_empty() || launch.nodes.len() > most {
        let count = launch.nodes.len();
        return Err(format!("{count} nodes on one machine; `nodes` in [limits] allows {most}"));
    }
    if !launch.nodes.is_sorted_by(|one, other| one < other) {
        return Err("the launcher does not keep to the protocol: nodes are not in order".into());
    }
    let entry = daemon.registry.enter(launch, end)?;
    let text = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    let listeners = listen(launch).map_err(text("no port for a node"))?;
    let (cache, hash) = (Arc::clone(&daemon.cache), launch.hash);
    let found = tokio::task::spawn_blocking(move || cache.find(hash)).await;
    let found = found.map_err(io::Error::other).and_then(|found| found).map_err(text("the cache fails"))?;
    let ports = listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect::<io::Result<_>>();
    let ports = ports.map_err(text("no port for a node"))?;
    let ready = Reply::Ready { ports, has_binary: found.is_some() };
    send(writer, &ready).await.map_err(text("the launcher is gone"))?;
    let program = match found {
        Some(program) => program,
        None => {
            let program =
                store(daemon, reader, launch).await.map_err(text("the program cannot be stored"))?;
            send(writer, &Reply::Stored).await.map_err(text("the launcher is gone"))?;
            program
        }
    };
    let addresses = loop {
        match next(reader, Instant::now() + SILENCE).await.map_err(text("the launcher is gone"))? {
            Request::Start { addresses } => break addresses,
            Request::Beat => {}
            _ => return Err("the launcher does not keep to the protocol".into()),
        }
    };
    Ok((entry, program, plan(launch, &addresses, listeners)))
}

/// One socket for each node, unless they all are on this machine.
fn listen(launch: &Launch) -> io::Result<Vec<TcpListener>> {
    match launch.listen {
        Some(address) => launch.nodes.iter().map(|_| TcpListener::bind((address, 0))).collect(),
        None => Ok(Vec::new()),
    }
}

/// Receives the program.
async fn store(daemon: &Daemon, reader: &mut Reader, launch: &Launch) -> io::Result<Program> {
    let mut upload = daemon.cache.upload(launch.hash, launch.length)?;
    while !upload.is_whole() {
        match next(reader, Instant::now() + SILENCE).await? {
            Request::Binary(bytes) => upload.write(&bytes)?,
            Request::Beat => {}
            _ => return Err(io::Error::other("the launcher does not keep to the protocol")),
        }
    }
    tokio::task::spawn_blocking(move || upload.finish()).await.map_err(io::Error::other)?
}

/// The next request, if it comes in time.
async fn next(reader: &mut Reader, deadline: Instant) -> io::Result<Request> {
    match timeout_at(deadline, reader.receive()).await {
        Ok(Ok(Some(message))) => decode(&message),
        Ok(Ok(None)) => Err(io::Error::other("it has closed the connection")),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other(format!("it said nothing for {} s", SILENCE.as_secs()))),
    }
}

fn plan(launch: &Launch, addresses: &str, listeners: Vec<TcpListener>) -> Vec<Node> {
    let mut listeners = listeners.into_iter().map(OwnedFd::from);
    let node = |&index: &u32| Node {
        index,
        variables: vec![
            ("GOSSAMER_NODES", addresses.to_owned()),
            ("GOSSAMER_NODE", index.to_string()),
            ("GOSSAMER_TOKEN", launch.token.clone()),
        ],
        listener: listeners.next(),
    };
    launch.nodes.iter().map(node).collect()
}

fn program(daemon: &Daemon, launch: &Launch, file: PathBuf) -> spawn::Program {
    let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let directory = PathBuf::from(text(&launch.directory));
    spawn::Program {
        file,
        arguments: launch.arguments.iter().map(text).collect(),
        environment: Some(launch.environment.iter().map(|(name, value)| (text(name), text(value))).collect()),
        directory: Some(if directory.is_dir() { directory } else { "/".into() }),
        mask: Some(launch.mask),
        limits: launch.limits,
        user: daemon.user.clone(),
    }
}

/// Runs the nodes until the launcher is gone or the daemon ends, and says which.
async fn run(daemon: &Daemon, mut reader: Reader, writer: Writer, running: Running<'_>) -> String {
    let Running { launch, program: stored, nodes, entry, mut ends } = running;
    let program = program(daemon, &launch, stored.path());
    let (commands, orders) = unbounded_channel();
    let (tell, mut events) = unbounded_channel();
    let (replies, outgoing) = unbounded_channel();
    let host = tokio::spawn(async move { host(&program, nodes, orders, tell).await });
    let mut speaker = tokio::spawn(speak(writer, outgoing));
    let mut stopping = daemon.stopping.clone();
    let mut heard = Instant::now();
    let mut kill_at = None;
    let why = loop {
        tokio::select! {
            request = next(&mut reader, heard + SILENCE) => {
                heard = Instant::now();
                match request {
                    Ok(Request::Command(command)) => drop(commands.send(command)),
                    Ok(Request::Beat) => {}
                    Ok(_) => break "the launcher does not keep to the protocol".into(),
                    Err(error) => break format!("the launcher is lost: {error}"),
                }
            }
            Some(event) = events.recv() => {
                entry.note(&event);
                let _ = replies.send(Reply::Event(event));
            }
            Some(by) = ends.recv() => {
                let _ = replies.send(Reply::Event(Event::Stopping(format!("ended by `gossamer kill` of {by}"))));
                let _ = commands.send(Command::Signal(TERMINATE));
                kill_at.get_or_insert(Instant::now() + INTERRUPTED);
            }
            () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                kill_at = None;
                let _ = commands.send(Command::Signal(9));
            }
            _ = stopping.wait_for(|stopping| *stopping) => {
                let why = "the daemon was stopped";
                let _ = replies.send(Reply::Event(Event::Lost(why.into())));
                break why.into();
            }
            _ = &mut speaker => break "the launcher is lost: nothing can be sent to it".into(),
        }
    };
    drop(commands);
    let _ = host.await;
    drop(replies);
    if !speaker.is_finished() && timeout(LAST, &mut speaker).await.is_err() {
        speaker.abort();
    }
    why
}

/// Sends what there is, or a beat if there is nothing.
async fn speak(mut writer: Writer, mut outgoing: UnboundedReceiver<Reply>) {
    loop {
        let reply = match timeout(BEAT, outgoing.recv()).await {
            Ok(Some(reply)) => reply,
            Ok(None) => return,
            Err(_) => Reply::Beat,
        };
        if send(&mut writer, &reply).await.is_err() {
            return;
        }
    }
}
