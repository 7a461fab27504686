//! `gossamer daemon`: starts nodes on its machine for launchers that know the rack's key.
//!
//! One thread does everything but hashing: nodes die with the thread that has started them.

mod gate;
mod launch;
mod log;
mod registry;
mod session;

use crate::cache::Cache;
use crate::config::Rack;
use crate::exit::{Failure, UNREACHABLE, USAGE};
use crate::key::Key;
use crate::spawn::{self, User};
use gate::Gate;
use log::{Log, log};
use registry::Registry;
use rustix::process::{Gid, Uid};
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long sessions have to end when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(7);

/// What all sessions share.
struct Daemon {
    rack: Rack,
    key: Key,
    /// As whom nodes run, if not as the daemon.
    user: Option<User>,
    cache: Arc<Cache>,
    registry: Arc<Registry>,
    started: Instant,
    /// Set when the daemon ends.
    stopping: watch::Receiver<bool>,
    refusals: Log,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// If the configuration is wrong, or the daemon cannot listen.
pub async fn run(config: &Path) -> Result<u8, Failure> {
    let rack = Rack::read(config)?;
    let (tell_stopping, stopping) = watch::channel(false);
    let daemon = Arc::new(Daemon::new(rack, stopping)?);
    spawn::raise_open_files();
    let cannot = |what: String| move |error| Failure::new(UNREACHABLE, format!("{what}: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot("no signals".into()))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot("no signals".into()))?;
    let address = daemon.rack.listen().to_owned();
    let listener =
        TcpListener::bind(&address).await.map_err(cannot(format!("cannot listen on {address}")))?;
    log(&format!("gossamer {} listens on {address}", env!("CARGO_PKG_VERSION")));
    let gate = Arc::new(Gate::default());
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let daemon = Arc::clone(&daemon);
                    gate.admit(&mut sessions, |ticket| session::serve(daemon, stream, peer, ticket));
                }
                Err(error) => {
                    daemon.refusals.add(&format!("cannot accept connections: {error}"));
                    // Of files, say: until some are closed.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = sessions.join_next() => {}
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    drop(listener);
    tell_stopping.send_replace(true);
    let ended = async { while sessions.join_next().await.is_some() {} };
    if timeout(FAREWELL, ended).await.is_err() {
        log("some sessions did not end in time");
    }
    log("stopped");
    Ok(0)
}

impl Daemon {
    fn new(rack: Rack, stopping: watch::Receiver<bool>) -> Result<Self, Failure> {
        let key = Key::read(&rack.key)?;
        let user = rack.user.as_ref().map(|user| find_user(user.get_ref())).transpose()?;
        let cache = Cache::open(&rack.cache.directory, rack.cache.mebibytes << 20).map_err(|error| {
            let directory = rack.cache.directory.display();
            Failure::new(USAGE, format!("the cache directory {directory} cannot be used: {error}"))
        })?;
        Ok(Self {
            key,
            user,
            cache,
            registry: Arc::new(Registry::new(&rack.limits)),
            started: Instant::now(),
            stopping,
            refusals: Log::default(),
            rack,
        })
    }
}

/// A user and its groups.
fn find_user(name: &str) -> Result<User, Failure> {
    let failed = |error: &dyn std::error::Error| Failure::new(USAGE, format!("`user` {name:?}: {error}"));
    let user = match nix::unistd::User::from_name(name) {
        Ok(Some(user)) => user,
        Ok(None) => return Err(Failure::new(USAGE, format!("`user`: there is no user {name:?}"))),
        Err(error) => return Err(failed(&error)),
    };
    let own = rustix::process::geteuid();
    if !own.is_root() && own.as_raw() != user.uid.as_raw() {
        let message = format!("`user`: only a daemon that runs as root can start nodes as {name:?}");
        return Err(Failure::new(USAGE, message));
    }
    let groups = if own.is_root() {
        let name = CString::new(user.name).map_err(|error| failed(&error))?;
        let groups = nix::unistd::getgrouplist(&name, user.gid).map_err(|error| failed(&error))?;
        Some(groups.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect())
    } else {
        None
    };
    Ok(User { user: Uid::from_raw(user.uid.as_raw()), group: Gid::from_raw(user.gid.as_raw()), groups })
}
