//! Open files, of which each client needs one.

use crate::report::warn;
use crate::settings::Settings;
use gossamer::rack;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Of a node besides those of its clients: of a snapshot, of clients that are refused, and whatever comes and goes.
const OTHERS: usize = 64;
/// Of each worker: listeners, pollers, what wakes it.
const OF_A_WORKER: usize = 8;
/// Of each other node: its socket, its memory.
const OF_A_NODE: usize = 4;

/// Raises this process's limit, if this many clients need that and the system allows it. Returns for how many it is
/// enough.
fn raise_here(clients: usize) -> usize {
    let (workers, nodes) = (rack::this_node().workers().len(), rack::nodes().len());
    // Over TCP each worker has a connection to each other node; in shared memory each other worker has what wakes it.
    let lanes = (nodes - 1) * (workers + OF_A_NODE) + rack::workers().len() - workers;
    let others = (OTHERS + OF_A_WORKER * workers + lanes) as u64;
    let wanted = others.saturating_add(clients as u64);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Some(maximum.map_or(wanted, |maximum| wanted.min(maximum)));
    // No limit is none at all.
    let enough = if current.is_none_or(|current| current >= wanted) {
        current
    } else if setrlimit(Resource::Nofile, Rlimit { current: raised, maximum }).is_ok() {
        raised
    } else {
        current
    };
    enough.map_or(clients, |files| {
        usize::try_from(files.saturating_sub(others)).unwrap_or(clients).min(clients)
    })
}

/// Raises the limit of each node for this many clients of it. Returns for how many it is enough on all nodes.
pub fn raise(clients: usize) -> usize {
    rack::on_each_node(const { raise_here }, clients).into_iter().min().unwrap_or(clients)
}

/// Raises the limits as the settings need it, or lowers `maxclients` to what they are enough for.
///
/// # Errors
/// If there would be no room for a client.
pub fn make_room(settings: &mut Settings) -> io::Result<()> {
    let (wanted, most) = (settings.most_clients, raise(settings.most_clients));
    if most == 0 {
        return Err(io::Error::other(
            "the limit of open files (ulimit -n) leaves none for clients: raise its hard limit",
        ));
    }
    if most < wanted {
        settings.most_clients = most;
        warn(format_args!(
            "the limit of open files (ulimit -n) is enough for {most} clients, so maxclients is {most} and not {wanted}; raise its hard limit for more"
        ));
    }
    Ok(())
}
