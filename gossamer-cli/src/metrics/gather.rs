//! Asks all nodes for their metrics. A node that is stopped, or answers something else, is left out, and does not hold
//! up the others for long.

use crate::metrics::labels::{labelled, quoted};
use crate::metrics::merge::merged;
use crate::processes::is_within;
use rustix::process::Pid;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

/// The header by which nodes are asked for the newer format.
pub const OPEN: &str = "application/openmetrics-text";
/// How long a node may take. Its metrics thread answers even while its workers hang.
const NODE_PATIENCE: Duration = Duration::from_secs(2);
/// The longest text of a node, in bytes.
const MOST_TOLD: u64 = 16 << 20;

/// A node that serves what it counts.
#[derive(Clone, Debug)]
pub struct ServedNode {
    /// The socket at which it serves them.
    pub socket: PathBuf,
    /// Its origin, where there are nodes of several applications.
    pub labels: Option<NodeLabels>,
}

/// Which node something was counted by.
#[derive(Clone, Debug)]
pub struct NodeLabels {
    /// The id of its application.
    pub application: String,
    /// Its index.
    pub node: u32,
    /// The process that was started as this node. Only processes that descend from it are asked, whichever process
    /// listens at the socket.
    pub process: u32,
}

/// All nodes, and the texts that were gathered last.
pub struct Gatherer {
    nodes: Box<dyn Fn() -> Vec<ServedNode> + Send + Sync>,
    last: Mutex<Option<(Instant, bool, Arc<str>)>>,
}

impl fmt::Debug for Gatherer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Gatherer").finish_non_exhaustive()
    }
}

impl Gatherer {
    /// From the nodes that exist whenever somebody asks.
    pub fn new(nodes: impl Fn() -> Vec<ServedNode> + Send + Sync + 'static) -> Self {
        Self { nodes: Box::new(nodes), last: Mutex::default() }
    }

    /// The metrics of all nodes that answer, in the newer format or in the older one.
    pub async fn text(&self, is_open: bool) -> Arc<str> {
        let begin = Instant::now();
        let mut last = self.last.lock().await;
        // Clients that came while the text was being gathered share it.
        if let Some((_, _, text)) = last.as_ref().filter(|(when, open, _)| *open == is_open && *when > begin)
        {
            return Arc::clone(text);
        }
        let text: Arc<str> = gather((self.nodes)(), is_open).await.into();
        *last = Some((Instant::now(), is_open, Arc::clone(&text)));
        text
    }
}

async fn gather(nodes: Vec<ServedNode>, is_open: bool) -> String {
    let is_told = nodes.iter().any(|node| node.labels.is_some());
    let mut asked = JoinSet::new();
    for (place, node) in nodes.into_iter().enumerate() {
        asked.spawn(async move {
            let text = timeout(NODE_PATIENCE, ask(&node, is_open)).await.ok().and_then(Result::ok);
            (place, node, text)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(place, ..)| *place);
    let text = spawn_blocking(move || {
        let (mut texts, mut up) = (Vec::new(), String::from(UP));
        for (_, node, text) in answers {
            let text = match (&node.labels, text) {
                (Some(of), Some(text)) => labelled(&text, &of.application),
                (_, text) => text,
            };
            if let Some(NodeLabels { application, node, .. }) = &node.labels {
                let (application, is_up) = (quoted(application), u8::from(text.is_some()));
                up += &format!("gossamer_node_up{{application=\"{application}\",node=\"{node}\"}} {is_up}\n");
            }
            texts.extend(text);
        }
        if is_told {
            texts.insert(0, up);
        }
        merged(&texts, is_open)
    });
    text.await.unwrap_or_default()
}

const UP: &str =
    "# HELP gossamer_node_up Whether the node has told what it counts.\n# TYPE gossamer_node_up gauge\n";

/// The metrics of one node.
async fn ask(node: &ServedNode, is_open: bool) -> io::Result<String> {
    let mut stream = connect(&node.socket, node.labels.as_ref()).await?;
    let accept = if is_open { format!("Accept: {OPEN}\r\n") } else { String::new() };
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: node\r\n{accept}\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MOST_TOLD).read_to_string(&mut answer).await?;
    let (header, text) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    if header.starts_with("HTTP/1.1 200") {
        Ok(text.to_owned())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

async fn connect(socket: &Path, of: Option<&NodeLabels>) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket).await?;
    let Some(of) = of else { return Ok(stream) };
    let listens = stream.peer_cred()?.pid().and_then(Pid::from_raw);
    let started = i32::try_from(of.process).ok().and_then(Pid::from_raw);
    match listens.zip(started).is_some_and(|(listens, started)| is_within(listens, started)) {
        true => Ok(stream),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}
