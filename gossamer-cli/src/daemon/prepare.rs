//! A launch up to the start of its nodes: a place in the registry, ports, the program, the addresses of all nodes.

use crate::daemon::exchange::{next_of_preparation, send};
use crate::daemon::metrics;
use crate::daemon::registry::Registration;
use crate::daemon::state::Daemon;
use crate::node::invocation::{Invocation, NodeSpec};
use crate::program::cache::CachedProgram;
use crate::program::upload::Upload;
use crate::rack::protocol::{Launch, Reply, Request};
use crate::secure::channel::{Reader, Writer};
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_blocking;

/// What is needed to start nodes.
pub struct PreparedLaunch {
    /// Its place in the registry, held as long as the launch lasts.
    pub registration: Registration,
    /// What to execute.
    pub program: CachedProgram,
    /// The nodes.
    pub nodes: Vec<NodeSpec>,
}

/// Everything up to `Start`; `end` will get the name of the user who wants to end the application.
///
/// # Errors
/// Why its nodes cannot be started here.
pub async fn prepare(
    daemon: &Arc<Daemon>,
    reader: &mut Reader,
    writer: &mut Writer,
    launch: &Launch,
    end: UnboundedSender<String>,
) -> Result<PreparedLaunch, String> {
    check(launch, daemon.rack.limits.nodes)?;
    let registration = daemon.registry.enter(launch, end)?;
    let listeners = listen(launch).map_err(text("no port for a node"))?;
    let found = find(daemon, launch).await.map_err(text("the cache fails"))?;
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
    let addresses = addresses(reader).await?;
    let mut nodes = plan(launch, &addresses, listeners);
    if let Some(variable) = metrics::variable(daemon, &registration) {
        nodes.iter_mut().for_each(|node| node.variables.push(variable.clone()));
    }
    Ok(PreparedLaunch { registration, program, nodes })
}

fn text(what: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

fn check(launch: &Launch, most: usize) -> Result<(), String> {
    let count = launch.nodes.len();
    if count == 0 || count > most {
        return Err(format!("{count} nodes on one machine; `nodes` in [limits] allows {most}"));
    }
    if !launch.nodes.is_sorted_by(|one, other| one < other) {
        return Err("the launcher does not keep to the protocol: nodes are not in order".into());
    }
    Ok(())
}

/// One socket for each node, unless they all are on this machine.
fn listen(launch: &Launch) -> io::Result<Vec<TcpListener>> {
    match launch.listen {
        Some(address) => launch.nodes.iter().map(|_| TcpListener::bind((address, 0))).collect(),
        None => Ok(Vec::new()),
    }
}

/// The program, if it is in the cache.
async fn find(daemon: &Daemon, launch: &Launch) -> io::Result<Option<CachedProgram>> {
    let (cache, hash) = (Arc::clone(&daemon.cache), launch.hash);
    blocking(move || cache.find(hash)).await
}

/// Receives the program.
async fn store(daemon: &Daemon, reader: &mut Reader, launch: &Launch) -> io::Result<CachedProgram> {
    let (cache, hash, length) = (Arc::clone(&daemon.cache), launch.hash, launch.length);
    let mut upload = blocking(move || Upload::begin(&cache, hash, length)).await?;
    while !upload.is_whole() {
        match next_of_preparation(reader).await? {
            // A busy disk must not keep other launches waiting.
            Request::Binary(bytes) => {
                upload = blocking(move || upload.write(&bytes).map(|()| upload)).await?
            }
            Request::Heartbeat => {}
            _ => return Err(io::Error::other("the launcher does not keep to the protocol")),
        }
    }
    blocking(move || upload.finish()).await
}

/// Has another thread do what waits for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Waits until all machines are ready: the addresses of all nodes.
async fn addresses(reader: &mut Reader) -> Result<String, String> {
    loop {
        match next_of_preparation(reader).await.map_err(text("the launcher is gone"))? {
            Request::Start { addresses } => return Ok(addresses),
            Request::Heartbeat => {}
            _ => return Err("the launcher does not keep to the protocol".into()),
        }
    }
}

fn plan(launch: &Launch, addresses: &str, listeners: Vec<TcpListener>) -> Vec<NodeSpec> {
    let mut listeners = listeners.into_iter().map(OwnedFd::from);
    let node = |&index: &u32| NodeSpec {
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

/// What the nodes of a launch execute.
pub fn invocation(daemon: &Daemon, launch: &Launch, file: PathBuf) -> Invocation {
    let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let directory = text(&launch.directory);
    Invocation {
        file: file.into(),
        arguments: launch.arguments.iter().map(text).collect(),
        environment: Some(launch.environment.iter().map(|(name, value)| (text(name), text(value))).collect()),
        directory: Some(if Path::new(&directory).is_dir() { directory } else { "/".into() }),
        mask: Some(launch.mask),
        limits: launch.limits,
        allowance: launch.allowance,
        user: daemon.user.clone(),
    }
}
