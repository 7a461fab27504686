//! What every connection of every node shares, and how clients come in.

use crate::clients::Clients;
use crate::connection::{Connection, Stream};
use crate::protocol::parser::Limits;
use crate::settings::Settings;
use crate::snapshot::{self, Saves};
use crate::store::ranges::LONGEST_VALUE;
use crate::store::{Shard, now};
use gossamer::net::{self, TcpListener, TcpStream, UnixListener, UnixStream};
use gossamer::signal::{SignalKind, Signals};
use gossamer::{Latch, NoRef, Replicated, Sharded, Trust, Trustee, rack};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Keys that expire one after another are looked for this often.
const PAUSE: Duration = Duration::from_millis(10);
/// While there are some that expire, the clock is looked at this often at least: it may be set.
const LONGEST: Duration = Duration::from_secs(60);
/// How long nobody is accepted at the socket after that has failed.
const PATIENCE: Duration = Duration::from_secs(1);

/// The store, and what there is beside it.
#[derive(NoRef, Clone)]
pub struct Server {
    pub store: Sharded<[u8], Shard>,
    pub settings: Replicated<Settings>,
    pub saves: Trust<Saves>,
    /// Who changes the settings has this, so that changes at once all remain.
    changing: Trust<Latch<()>>,
    /// Those of each worker, at the indices of their workers' shards.
    pub clients: Sharded<[u8], Clients>,
    /// In milliseconds since 1970.
    started: u64,
}

impl Server {
    pub fn new(settings: Settings) -> Self {
        let store = Sharded::with(const { Shard::default });
        let server = Self {
            store,
            settings: Replicated::new(settings.clone()),
            saves: gossamer::entrust(Saves::default()),
            changing: gossamer::entrust(Latch::new(())),
            clients: Sharded::with(const { Clients::default }),
            started: now(),
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

    /// Changes settings, all or none, for all nodes; why not, if one cannot be.
    pub fn change_settings(&self, changes: Vec<(String, String)>) -> Option<String> {
        self.changing.launch_with(change_settings, (self.clone(), changes))
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

    pub fn uptime(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.started))
    }

    /// When a snapshot was made, in seconds since 1970; since when there is nothing to lose, if none was.
    pub fn last_save(&self) -> u64 {
        let last = self.saves.apply_with(Saves::last, ());
        if last == 0 { self.started / 1000 } else { last }
    }
}

fn change_settings((): &mut (), (server, changes): (Server, Vec<(String, String)>)) -> Option<String> {
    let mut settings = server.settings.read().clone();
    for (name, value) in changes {
        if let Err(refusal) = settings.set(&name, &value) {
            return Some(String::from_utf8_lossy(&refusal.0).into_owned());
        }
    }
    server.replace_settings(settings);
    None
}

/// Removes keys that have expired, for ever.
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
    // Without it replies come later, and no worse.
    drop(stream.set_nodelay(true));
    Connection::serve(Stream::Tcp(stream), server);
}

fn serve_unix((stream, server): (UnixStream, Server)) {
    Connection::serve(Stream::Unix(stream), server);
}

/// Listens until a signal comes.
///
/// # Errors
/// If an address is taken, the snapshot cannot be read, or the system refuses.
pub fn run(address: IpAddr, settings: Settings) -> io::Result<()> {
    let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
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
    let server = Server::new(settings.clone());
    let loaded = snapshot::load(&server)?;
    let acceptors = net::serve(address, serve_tcp, server.clone())?;
    println!("listening on {}", acceptors.local_addr());
    if loaded > 0 {
        println!("{loaded} keys loaded");
    }
    if !settings.unix_socket.is_empty() {
        listen_at(&settings.unix_socket, &server)?;
    }
    println!("ended by {}", ending.recv()?);
    if !settings.unix_socket.is_empty() {
        drop(std::fs::remove_file(&settings.unix_socket));
    }
    acceptors.close()
}

/// Listens at a path on this node; its workers serve clients in turn.
fn listen_at(path: &str, server: &Server) -> io::Result<()> {
    let describe =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot listen at {path}: {error}"));
    if std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        // Of a server that has ended.
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path).map_err(describe)?;
    println!("listening on {path}");
    let server = server.clone();
    drop(gossamer::spawn_local(move || {
        let workers: Vec<Trustee> = rack::this_node().workers();
        for next in 0_usize.. {
            match listener.accept() {
                Ok((stream, _)) => {
                    let worker = workers[next % workers.len()];
                    drop(gossamer::spawn_on_with(worker, serve_unix, (stream, server.clone())));
                }
                Err(error) => {
                    eprintln!("hydra: a connection cannot be accepted: {error}");
                    gossamer::sleep(PATIENCE);
                }
            }
        }
    }));
    Ok(())
}
