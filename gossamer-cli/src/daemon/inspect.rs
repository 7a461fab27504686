//! Asks the nodes that run here what they are doing, on behalf of a client. Each node is asked at its own socket, which
//! only its user and root can open.
//!
//! A daemon asks only nodes that it has started itself, and only their own processes, or what these have started: the
//! kernel says which process listens at a socket. The daemon passes on their answers unchanged, and trusts nothing in
//! them.

use crate::daemon::exchange::send;
use crate::daemon::record::InspectableNode;
use crate::daemon::state::Daemon;
use crate::processes::descendants;
use crate::rack::protocol::{InspectedNode, Inspection, Reply};
use crate::rack::silence::within;
use crate::secure::channel::{PATIENCE, Writer};
use gossamer::inspect::{InspectionSocket, ask_encoded};
use rustix::process::Pid;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

/// How many nodes are asked at a time, for all clients together: each takes a thread, and its answer takes memory until
/// it is sent.
const MOST: usize = 128;
/// Bytes of an answer: it fits into a message.
const LONGEST: u64 = 3 << 20;

/// Permits to ask nodes.
#[derive(Debug)]
pub struct Inspections(Arc<Semaphore>);

impl Default for Inspections {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

/// An answer, and the permit that it keeps until it is sent.
type Answered = (InspectedNode, Option<OwnedSemaphorePermit>);

/// Asks all nodes of an application, or all nodes that run here, and passes on each answer as soon as it comes.
pub async fn serve(daemon: &Daemon, mut writer: Writer, application: Option<&str>, inspection: Inspection) {
    let user = daemon.user.as_ref().map_or_else(rustix::process::geteuid, |user| user.user).as_raw();
    let mut asked = JoinSet::new();
    for node in daemon.registry.nodes(application) {
        asked.spawn(ask(Arc::clone(&daemon.inspections.0), node, user, inspection));
    }
    let mut stopping = daemon.stopping.clone();
    let tell = async {
        while let Some(answered) = asked.join_next().await {
            let (node, _permit) = answered.map_err(io::Error::other)?;
            tell(&mut writer, Reply::Inspected(node)).await?;
        }
        tell(&mut writer, Reply::InspectionOver).await
    };
    // A client that does not read gets no answer.
    tokio::select! {
        _ = tell => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

async fn tell(writer: &mut Writer, reply: Reply) -> io::Result<()> {
    within(PATIENCE, send(writer, &reply)).await.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
}

async fn ask(
    inspections: Arc<Semaphore>,
    node: InspectableNode,
    user: u32,
    inspection: Inspection,
) -> Answered {
    let InspectableNode { application, node, pid, runtime_directory, .. } = node;
    let told = |answer| InspectedNode { application, node, pid, answer };
    // The holder of this permit may take as long as a whole look does.
    let Ok(Ok(permit)) = timeout(inspection.time() + PATIENCE, inspections.acquire_owned()).await else {
        return (told(Err("others are asking the nodes of this machine; try again".into())), None);
    };
    let asked = spawn_blocking(move || {
        let answer = ask_any(pid, user, runtime_directory.as_deref(), inspection);
        (answer.map_err(|(error, pid)| why(&error, pid)), permit)
    });
    match asked.await {
        Ok((answer, permit)) => (told(answer), Some(permit)),
        Err(error) => (told(Err(error.to_string())), None),
    }
}

/// Asks a process. If it is, say, a script that has started the program, asks the first of its descendants that is one.
fn ask_any(
    pid: u32,
    user: u32,
    runtime_directory: Option<&Path>,
    inspection: Inspection,
) -> Result<Vec<u8>, (io::Error, u32)> {
    let ask = |process| {
        let socket = InspectionSocket::of_process(process, user, runtime_directory);
        ask_encoded(&socket, inspection.question(), LONGEST).map_err(|error| (error, process))
    };
    let answer = ask(pid);
    if !has_no_socket(&answer) {
        return answer;
    }
    let below = i32::try_from(pid).ok().and_then(Pid::from_raw).map(descendants).unwrap_or_default();
    let processes =
        below.into_iter().filter_map(|process| u32::try_from(process.as_raw_nonzero().get()).ok());
    processes.map(ask).find(|answer| !has_no_socket(answer)).unwrap_or(answer)
}

fn has_no_socket(answer: &Result<Vec<u8>, (io::Error, u32)>) -> bool {
    answer.as_ref().is_err_and(|(error, _)| error.kind() == io::ErrorKind::NotFound)
}

/// Why a node says nothing, as far as this machine knows.
fn why(error: &io::Error, pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        None | Some('Z') => "it has ended meanwhile".into(),
        Some('T' | 't') => "it is stopped, by a signal or a debugger (kill -CONT resumes it)".into(),
        Some(_) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            "it does not run on gossamer, or has not started yet".into()
        }
        Some(_) => error.to_string(),
    }
}
