//! What nodes count, for Prometheus: one address at which the metrics of all nodes of this machine are read.
//!
//! Each node serves its own metrics at a Unix socket in a folder (`GOSSAMER_METRICS=unix:folder`). [`serve`](mod@serve)
//! listens, [`gather`] asks the nodes, [`labels`] marks each sample with its origin, and [`merge`] makes one text from
//! all.

pub mod folder;
pub mod gather;
pub mod labels;
pub mod merge;
pub mod serve;

use crate::exit::{Failure, UNREACHABLE};
use folder::SocketFolder;
use gather::{Gatherer, ServedNode};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The variable that says where nodes serve.
pub const VARIABLE: &str = "GOSSAMER_METRICS";

/// Metrics of an application that are served until this is dropped.
#[derive(Debug)]
pub struct ServedMetrics {
    folder: Arc<SocketFolder>,
    serving: JoinHandle<()>,
}

impl ServedMetrics {
    /// Serves the metrics of the nodes of the application of this name, at an address.
    ///
    /// # Errors
    /// If it cannot listen at that address, or cannot make the folder for the nodes' sockets.
    pub async fn start(address: SocketAddr, name: &str) -> Result<Self, Failure> {
        let folder = SocketFolder::new(name, None).map_err(|error| failure(address, &error))?;
        let folder = Arc::new(folder);
        let sockets = Arc::clone(&folder);
        let nodes = move || {
            let sockets = sockets.sockets().into_iter();
            sockets.map(|socket| ServedNode { socket, labels: None }).collect()
        };
        Ok(Self { folder, serving: serve_at(address, nodes).await? })
    }
}

/// Serves the metrics of nodes at an address, until the task is aborted.
///
/// # Errors
/// If it cannot listen at that address.
pub async fn serve_at(
    address: SocketAddr,
    nodes: impl Fn() -> Vec<ServedNode> + Send + Sync + 'static,
) -> Result<JoinHandle<()>, Failure> {
    let listener = TcpListener::bind(address).await.map_err(|error| failure(address, &error))?;
    Ok(tokio::spawn(serve::serve(listener, Arc::new(Gatherer::new(nodes)))))
}

fn failure(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::new(UNREACHABLE, format!("--metrics {address}: {error}"))
}

impl Drop for ServedMetrics {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The variable for a node. A launcher that is itself a node does not pass its own on to its nodes.
#[must_use]
pub fn variable(served: Option<&ServedMetrics>) -> Option<(&'static str, String)> {
    let is_a_place = || std::env::var(VARIABLE).is_ok_and(|value| value.starts_with("unix:"));
    match served {
        Some(served) => Some((VARIABLE, format!("unix:{}", served.folder.path().display()))),
        None => is_a_place().then(|| (VARIABLE, String::new())),
    }
}
