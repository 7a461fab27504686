//! What nodes count, for Prometheus: one address at which the metrics of all nodes of this machine are read.
//!
//! Each node serves its own at a Unix socket of a folder (`GOSSAMER_METRICS=unix:folder`); [`serve`](mod@serve) asks them all when it is
//! asked, and [`merge`] makes one text of theirs.

pub mod folder;
pub mod merge;
pub mod serve;

use crate::exit::{Failure, UNREACHABLE};
use folder::SocketFolder;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The variable that says where nodes serve.
const VARIABLE: &str = "GOSSAMER_METRICS";

/// Metrics that are served until this is dropped.
#[derive(Debug)]
pub struct ServedMetrics {
    folder: Arc<SocketFolder>,
    serving: JoinHandle<()>,
}

impl ServedMetrics {
    /// Serves, at an address, the nodes of the application of this name.
    ///
    /// # Errors
    /// If that address or the folder for their sockets cannot be had.
    pub async fn start(address: SocketAddr, name: &str) -> Result<Self, Failure> {
        let failed = |error| Failure::new(UNREACHABLE, format!("--metrics {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let folder = Arc::new(SocketFolder::new(name).map_err(failed)?);
        let serving = tokio::spawn(serve::serve(listener, Arc::clone(&folder)));
        Ok(Self { folder, serving })
    }
}

impl Drop for ServedMetrics {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What a node is told. A launcher that is a node itself does not lend its own place to its nodes.
#[must_use]
pub fn variable(served: Option<&ServedMetrics>) -> Option<(&'static str, String)> {
    let is_a_place = || std::env::var(VARIABLE).is_ok_and(|value| value.starts_with("unix:"));
    match served {
        Some(served) => Some((VARIABLE, format!("unix:{}", served.folder.path().display()))),
        None => is_a_place().then(|| (VARIABLE, String::new())),
    }
}
