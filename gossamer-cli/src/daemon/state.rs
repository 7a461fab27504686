//! What all sessions of a daemon share.

use crate::daemon::events::Refusals;
use crate::daemon::examine::Examinations;
use crate::daemon::inspect::Inspections;
use crate::daemon::rdma::RdmaDevices;
use crate::daemon::registry::Registry;
use crate::exit::{Failure, USAGE};
use crate::node::invocation::User;
use crate::program::cache::ProgramCache;
use crate::rack::config::Rack;
use crate::secure::key::Key;
use rustix::process::{Gid, Uid};
use std::ffi::CString;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// What all sessions share.
pub struct Daemon {
    /// The configuration.
    pub rack: Rack,
    /// The key of the rack.
    pub key: Key,
    /// The user that nodes run as, if not the daemon's own.
    pub user: Option<User>,
    /// The programs that were shipped here.
    pub cache: Arc<ProgramCache>,
    /// The applications that have nodes here.
    pub registry: Arc<Registry>,
    /// The RDMA devices of this machine.
    pub rdma: RdmaDevices,
    /// Permits to ask nodes what they do.
    pub inspections: Inspections,
    /// Permits to examine this machine.
    pub examinations: Examinations,
    /// Whether what nodes count is served.
    pub serves_metrics: bool,
    /// When the daemon was started.
    pub started: Instant,
    /// Set when the daemon ends.
    pub stopping: watch::Receiver<bool>,
    /// Logs refused connections.
    pub refusals: Refusals,
}

impl Daemon {
    /// From a configuration; `stopping` is set when the daemon ends. `serves_metrics` says whether the metrics of nodes
    /// are served.
    ///
    /// # Errors
    /// If the configuration is wrong.
    pub fn new(rack: Rack, stopping: watch::Receiver<bool>, serves_metrics: bool) -> Result<Self, Failure> {
        let key = Key::read(&rack.key)?;
        let user = rack.user.as_ref().map(|user| find_user(user.get_ref())).transpose()?;
        let cache =
            ProgramCache::open(&rack.cache.directory, rack.cache.mebibytes << 20).map_err(|error| {
                let directory = rack.cache.directory.display();
                Failure::new(USAGE, format!("the cache directory {directory} cannot be used: {error}"))
            })?;
        Ok(Self {
            key,
            user,
            cache,
            registry: Arc::new(Registry::new(&rack.limits)),
            rdma: RdmaDevices::default(),
            inspections: Inspections::default(),
            examinations: Examinations::default(),
            serves_metrics,
            started: Instant::now(),
            stopping,
            refusals: Refusals::default(),
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
