//! What all connections of all nodes share, and how clients get in.

use crate::clients::Clients;
use crate::connection::{Connection, Stream};
use crate::ending::{self, Ending, SIGNALS};
use crate::open_files;
use crate::protocol::parser::Limits;
use crate::protocol::refusal::Refusal;
use crate::report::{say, warn};
use crate::settings::Settings;
use crate::snapshot::{self, Saves};
use crate::store::ranges::LONGEST_VALUE;
use crate::store::{Shard, now};
use gossamer::net::{self, TcpListener, TcpStream, UnixListener, UnixStream};
use gossamer::signal::Signals;
use gossamer::sync::mpsc;
use gossamer::{Latch, NoRef, Replicated, Sharded, Trust, Trustee, rack};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;
use std::{io, process};

/// How often to look for keys that expire one after another.
const PAUSE: Duration = Duration::from_millis(10);
/// While some keys expire, the clock is read at least this often: somebody may set it.
const LONGEST: Duration = Duration::from_secs(60);
/// How long to accept nobody at the socket after that has failed.
const PATIENCE: Duration = Duration::from_secs(1);

/// The store, and what belongs to it.
#[derive(NoRef, Clone)]
pub struct Server {
    pub store: Sharded<[u8], Shard>,
    pub settings: Replicated<Settings>,
    pub saves: Trust<Saves>,
    /// Held while settings are changed, so that simultaneous changes all survive.
    changing: Trust<Latch<()>>,
    /// The clients of each worker, at the indices of their workers' shards.
    pub clients: Sharded<[u8], Clients>,
    pub ending: Trust<Ending>,
    /// In milliseconds since 1970.
    started: u64,
    /// Another number for each start.
    nonce: u64,
}

/// Which workers have keys, and which serve clients.
struct Roles {
    trustees: Vec<Trustee>,
    clients: Vec<Trustee>,
}

impl Roles {
    /// How many workers of each node, counted from the first, only keep keys; if none, all workers do both.
    ///
    /// # Errors
    /// If no worker is left for clients.
    fn new(trustees: usize) -> io::Result<Self> {
        let mut roles = Self { trustees: Vec::new(), clients: Vec::new() };
        for node in rack::nodes() {
            let workers = node.workers();
            if trustees == 0 {
                roles.trustees.extend(&workers);
                roles.clients.extend(&workers);
            } else if trustees < workers.len() {
                roles.trustees.extend(&workers[..trustees]);
                roles.clients.extend(&workers[trustees..]);
            } else {
                return Err(io::Error::other(format!(
                    "--trustees {trustees} leaves no worker for clients on node {}, which has {}: give it more with --threads",
                    node.index(),
                    workers.len()
                )));
            }
        }
        Ok(roles)
    }
}

impl Server {
    fn new(settings: Settings, trustees: &[Trustee], ending: Ending) -> Self {
        let store = Sharded::on(trustees, const { Shard::default });
        let server = Self {
            store,
            settings: Replicated::new(settings.clone()),
            saves: gossamer::entrust(Saves::default()),
            changing: gossamer::entrust(Latch::new(())),
            clients: Sharded::with(const { Clients::default }),
            ending: gossamer::entrust(ending),
            started: now(),
            nonce: RandomState::new().hash_one(process::id()),
        };
        server.replace_settings(settings);
        for shard in server.store.shards() {
            // It ends with the program.
            drop(gossamer::spawn_on_with(shard.trustee(), remove_expired, shard.clone()));
        }
        server
    }

    pub fn shards(&self) -> &[Trust<Shard>] {
        self.store.shards()
    }

    /// Changes settings on all nodes, either all of them or none; returns the reason if one cannot be changed.
    pub fn change_settings(&self, changes: Vec<(String, Vec<u8>)>) -> Result<(), Refusal> {
        let changed = self.changing.launch_with(change_settings, (self.clone(), changes));
        changed.map_err(Refusal::from)
    }

    fn replace_settings(&self, settings: Settings) {
        let for_shards = (settings.eviction(self.shards().len()), settings.encodings);
        self.store.map_all_with(Shard::set_up, for_shards);
        self.settings.replace(settings);
    }

    #[inline]
    pub fn limits(&self, is_authenticated: bool) -> Limits {
        Limits { longest_argument: LONGEST_VALUE as i64, is_authenticated }
    }

    /// 40 hexadecimal digits, which are others at each start.
    pub fn run_id(&self) -> String {
        format!("{:024x}{:016x}", self.started, self.nonce)
    }

    pub fn uptime(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.started))
    }

    /// When the last snapshot was made, in seconds since 1970; if there is none, since when there has been nothing to
    /// lose.
    pub fn last_save(&self) -> u64 {
        let last = self.saves.apply_with(Saves::last, ());
        if last == 0 { self.started / 1000 } else { last }
    }
}

fn change_settings((): &mut (), (server, changes): (Server, Vec<(String, Vec<u8>)>)) -> Result<(), String> {
    let mut settings = server.settings.read().clone();
    let before = settings.most_clients;
    for (name, value) in changes {
        settings.set(&name, &value)?;
    }
    let wanted = settings.most_clients;
    let most = if wanted > before { open_files::raise(wanted) } else { wanted };
    if most < wanted {
        return Err(format!(
            "ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the specified number of clients, try with {most}"
        ));
    }
    server.replace_settings(settings);
    Ok(())
}

/// Removes keys that have expired, without end.
fn remove_expired(shard: Trust<Shard>) {
    let woken = shard.apply_here(Shard::expiry_notice);
    loop {
        match shard.apply_here(Shard::remove_expired) {
            None => woken.notified(),
            Some(next) if next <= now() => gossamer::yield_now(),
            Some(next) => {
                gossamer::sleep(PAUSE);
                let left = Duration::from_millis(next.saturating_sub(now()));
                // Whichever comes first.
                let _due = gossamer::timeout(left.min(LONGEST), woken.notified_async());
            }
        }
    }
}

fn serve_tcp(stream: TcpStream, server: Server) {
    // Without it, replies only come later.
    drop(stream.set_nodelay(true));
    Connection::serve(Stream::Tcp(stream), server);
}

fn serve_unix((stream, server): (UnixStream, Server)) {
    Connection::serve(Stream::Unix(stream), server);
}

/// Listens until a signal or SHUTDOWN comes. `trustees` workers of each node only keep keys and serve no clients; if it
/// is 0, all workers do both.
///
/// # Errors
/// If an address is taken, the snapshot cannot be read, the system refuses, or no worker is left for clients.
pub fn run(address: IpAddr, mut settings: Settings, trustees: usize) -> io::Result<()> {
    let signals = Signals::new(SIGNALS)?;
    let roles = Roles::new(trustees)?;
    snapshot::check_directory(&settings)?;
    open_files::make_room(&mut settings)?;
    let address = SocketAddr::new(address, settings.port);
    if settings.port != 0 {
        // Listeners that share a port would share it with another server, too; this one does not.
        let alone = TcpListener::bind(address);
        drop(
            alone.map_err(|error| {
                io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
            })?,
        );
    }
    let (sender, mut ended) = mpsc::unbounded_channel();
    let server = Server::new(settings.clone(), &roles.trustees, Ending::new(sender));
    ending::by_signals(signals, &server.ending);
    let loaded = snapshot::load(&server)?;
    let path = &settings.unix_socket;
    // Clients are served once all that can be refused has been done.
    let bound = if path.is_empty() { None } else { Some(bind_at(path)?) };
    let acceptors = net::serve_on(&roles.clients, address, serve_tcp, server.clone())?;
    say(format_args!("listening on {}", acceptors.local_addr()));
    if loaded > 0 {
        say(format_args!("{loaded} keys loaded"));
    }
    let at_path = bound.map(|(listener, at_path)| {
        say(format_args!("listening on {path}"));
        let node = rack::this_node();
        let workers = roles.clients.iter().copied().filter(|worker| worker.node() == node).collect();
        serve_at_path(listener, server.clone(), workers);
        at_path
    });
    // There is always a sender.
    say(format_args!("ended by {}", ended.recv().unwrap_or_default()));
    drop(at_path);
    acceptors.close()
}

/// The socket at a path, which is removed with this.
struct SocketAtPath {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketAtPath {
    fn drop(&mut self) {
        // Somebody else's by now, perhaps.
        if std::fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Listens at a path on this node; nobody is accepted yet.
fn bind_at(path: &str) -> io::Result<(UnixListener, SocketAtPath)> {
    let describe =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot listen at {path}: {error}"));
    // Any other file would refuse a connection, too.
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket
        && std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        // It is left from a server that has ended.
        std::fs::remove_file(path).map_err(describe)?;
    }
    let listener = UnixListener::bind(path).map_err(describe)?;
    let inode = std::fs::symlink_metadata(path).map_err(describe)?.ino();
    Ok((listener, SocketAtPath { path: path.into(), inode }))
}

/// These workers serve the clients of a listener in turn.
fn serve_at_path(listener: UnixListener, server: Server, workers: Vec<Trustee>) {
    drop(gossamer::spawn_local(move || {
        for next in 0_usize.. {
            match listener.accept() {
                Ok((stream, _)) => {
                    let worker = workers[next % workers.len()];
                    drop(gossamer::spawn_on_with(worker, serve_unix, (stream, server.clone())));
                }
                Err(error) => {
                    warn(format_args!("a connection cannot be accepted: {error}"));
                    gossamer::sleep(PATIENCE);
                }
            }
        }
    }));
}
