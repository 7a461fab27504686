//! The daemon's side of `gossamer doctor --rack`: as the client asks, it examines its machine, tells the time, listens
//! as its nodes would, and tries to reach the other machines, for a limited time.

use crate::daemon::exchange::send;
use crate::daemon::state::Daemon;
use crate::doctor::kernel_files::KernelFiles;
use crate::doctor::{self, programs};
use crate::rack::examination::{AT_A_TIME, CONNECT, ExaminationReply, ExaminationStep, LOOK};
use crate::rack::finding::Finding;
use crate::rack::protocol::{Reply, Request};
use crate::rack::rdma::Variables;
use crate::secure::channel::{Reader, Writer};
use crate::secure::codec::decode;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

/// How long an examination may take.
const LONGEST: Duration = Duration::from_secs(120);

/// Permits to examine the machine: one at a time, since it takes a thread.
#[derive(Debug)]
pub struct Examinations(Arc<Semaphore>);

impl Default for Examinations {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Serves an examination to its end.
pub async fn serve(daemon: &Daemon, mut reader: Reader, mut writer: Writer, first: ExaminationStep) {
    let mut stopping = daemon.stopping.clone();
    let examination = timeout(LONGEST, examine(daemon, &mut reader, &mut writer, first));
    // A failure was reported to the client, or the client itself is gone.
    tokio::select! {
        _ = examination => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

async fn examine(
    daemon: &Daemon,
    reader: &mut Reader,
    writer: &mut Writer,
    first: ExaminationStep,
) -> io::Result<()> {
    // Kept for as long as others may try to reach it. The kernel accepts their connections, and nothing reads from
    // them.
    let (mut step, mut _listening) = (first, None);
    loop {
        let reply = match step {
            ExaminationStep::Look(variables) => match look(daemon, variables).await {
                Ok(findings) => ExaminationReply::Findings(findings),
                Err(why) => return send(writer, &Reply::Refused(why)).await,
            },
            ExaminationStep::Clock => ExaminationReply::Clock(now()),
            ExaminationStep::Listen(at) => {
                let (listener, port) =
                    listen(at).map_or_else(|why| (None, Err(why)), |(one, at)| (Some(one), Ok(at)));
                _listening = listener;
                ExaminationReply::Listens(port)
            }
            ExaminationStep::Connect(addresses) => {
                ExaminationReply::Connected(connect_all(&addresses).await?)
            }
        };
        send(writer, &Reply::Examined(reply)).await?;
        // The client may have to wait for other machines, so silence is bounded by the whole only.
        let message = reader.receive().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        step = match decode(&message)? {
            Request::Examine(step) => step,
            _ => {
                return send(writer, &Reply::Refused("this request is not part of an examination".into()))
                    .await;
            }
        };
    }
}

async fn look(daemon: &Daemon, variables: Variables) -> Result<Vec<Finding>, String> {
    let examined = async {
        let permit =
            Arc::clone(&daemon.examinations.0).acquire_owned().await.map_err(|error| error.to_string())?;
        // The thread keeps the permit, so that no more follow one that is held up.
        let look = spawn_blocking(move || (doctor::examine(&KernelFiles::this()), permit));
        look.await.map(|(findings, _permit)| findings).map_err(|error| error.to_string())
    };
    let (findings, report) = tokio::join!(timeout(LOOK, examined), daemon.rdma.report(variables));
    let late = |_| {
        format!("it has not looked at itself within {} s, or others have it do so; try again", LOOK.as_secs())
    };
    let mut findings = findings.map_err(late)??;
    findings.push(programs::devices(report));
    Ok(findings)
}

fn now() -> Duration {
    // A clock before 1970 differs from all others by so much that zero says it, too.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn listen(at: IpAddr) -> Result<(TcpListener, u16), String> {
    let listener = TcpListener::bind((at, 0)).map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    Ok((listener, port))
}

/// Tries to reach each of these.
async fn connect_all(addresses: &[SocketAddr]) -> io::Result<Vec<Result<(), String>>> {
    let mut reached: Vec<_> = addresses.iter().map(|_| Err(String::new())).collect();
    let places: Vec<(usize, SocketAddr)> = addresses.iter().copied().enumerate().collect();
    for some in places.chunks(AT_A_TIME) {
        let mut tried = JoinSet::new();
        for (place, address) in some.iter().copied() {
            tried.spawn(async move { (place, connect(address).await) });
        }
        while let Some(outcome) = tried.join_next().await {
            let (place, outcome) = outcome.map_err(io::Error::other)?;
            reached[place] = outcome;
        }
    }
    Ok(reached)
}

async fn connect(address: SocketAddr) -> Result<(), String> {
    match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(connected) => connected.map(drop).map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer in {} s", CONNECT.as_secs())),
    }
}
