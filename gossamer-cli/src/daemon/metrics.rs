//! What all nodes of this machine count, at one address of the daemon (`gossamer daemon --metrics`).

use crate::daemon::events;
use crate::daemon::registry::{Registration, Registry};
use crate::daemon::state::Daemon;
use crate::exit::Failure;
use crate::metrics::folder::{FolderOwner, SocketFolder};
use crate::metrics::gather::{NodeLabels, ServedNode};
use crate::metrics::{VARIABLE, serve_at};
use crate::secure::random;
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves the metrics of the nodes that run here, at an address, until the daemon ends.
///
/// # Errors
/// If it cannot listen at that address.
pub async fn serve(address: SocketAddr, registry: Arc<Registry>) -> Result<(), Failure> {
    let nodes = move || {
        let nodes = registry.nodes(None).into_iter();
        let served = nodes.map(|node| {
            let labels = NodeLabels { application: node.application, node: node.node, process: node.pid };
            let folder = node.metrics.as_ref().map(|folder| folder.path().join(node.node.to_string()));
            ServedNode { socket: folder.unwrap_or_default(), labels: Some(labels) }
        });
        served.collect()
    };
    // The task ends with the process.
    let _serving = serve_at(address, nodes).await?;
    Ok(())
}

/// The variable that tells the nodes of a launch where to serve their metrics, if the daemon serves metrics. It takes
/// precedence over what their launcher says.
pub fn variable(daemon: &Daemon, registration: &Registration) -> Option<(&'static str, String)> {
    if !daemon.serves_metrics {
        return None;
    }
    let owner = daemon.user.as_ref().map(|user| FolderOwner { user: user.user, group: user.group });
    let name = random::hexadecimal::<8>().map_err(|failure| failure.message);
    let folder = name.and_then(|name| SocketFolder::new(&name, owner).map_err(|error| error.to_string()));
    match folder {
        Ok(folder) => {
            let value = format!("unix:{}", folder.path().display());
            registration.serve_metrics(Arc::new(folder));
            Some((VARIABLE, value))
        }
        Err(why) => {
            events::without_metrics(&why);
            None
        }
    }
}
