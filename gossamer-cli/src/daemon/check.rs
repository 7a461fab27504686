//! The daemon's side of a check of RDMA: step by step, as the client asks, for a limited time, and one check at a time.

use crate::daemon::exchange::{next, send};
use crate::daemon::state::Daemon;
use crate::rack::protocol::{RdmaReply, RdmaStep, Reply, Request};
use crate::rack::rdma::{Variables, settings};
use crate::rack::silence::Silence;
use crate::secure::channel::{Reader, Writer};
use gossamer::rack::rdma::{CheckParameters, MachineReport, RdmaCheck};
use std::io;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a check may take.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a step may take. No step waits that long by itself, but a device may hold it up.
const STEP: Duration = Duration::from_secs(10);

/// A running check. It is dropped in a thread of its own, because a device may hold that up.
struct RunningCheck(Option<HeldCheck>);

struct HeldCheck {
    /// Or why there is no way between the two machines, which the client knows, too.
    check: Result<RdmaCheck, String>,
    /// Held until the queue pair is gone.
    _permit: OwnedSemaphorePermit,
}

impl Drop for RunningCheck {
    fn drop(&mut self) {
        let held = self.0.take();
        drop(spawn_blocking(move || drop(held)));
    }
}

/// Serves a check to its end.
pub async fn serve(
    daemon: &Daemon,
    mut reader: Reader,
    mut writer: Writer,
    variables: Variables,
    report: Vec<u8>,
) {
    let mut stopping = daemon.stopping.clone();
    let check = timeout(LONGEST, check(daemon, &mut reader, &mut writer, variables, &report));
    // A failure was reported to the client, or the client itself is gone.
    tokio::select! {
        _ = check => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

async fn check(
    daemon: &Daemon,
    reader: &mut Reader,
    writer: &mut Writer,
    variables: Variables,
    report: &[u8],
) -> io::Result<()> {
    let begun = begin(daemon, variables, report).await;
    let (own, mut running) = match begun {
        Ok(begun) => begun,
        Err(why) => return send(writer, &Reply::Refused(why)).await,
    };
    send(writer, &Reply::Rdma(RdmaReply::Machine(own.to_bytes()))).await?;
    loop {
        let Request::RdmaStep(step) = next(reader, &mut Silence::begin()).await? else {
            return send(writer, &Reply::Refused("this request is not part of a check of RDMA".into())).await;
        };
        let done = spawn_blocking(move || {
            let reply = running.step(&step).unwrap_or_else(RdmaReply::Failed);
            (running, reply)
        });
        let reply = match timeout(STEP, done).await {
            Ok(done) => {
                let (still, reply) = done.map_err(io::Error::other)?;
                running = still;
                reply
            }
            Err(_) => {
                let why = format!("its RDMA device did not answer in {} s (dmesg)", STEP.as_secs());
                return send(writer, &Reply::Rdma(RdmaReply::Failed(why))).await;
            }
        };
        send(writer, &Reply::Rdma(reply)).await?;
    }
}

/// Looks at the devices, and for the ports by which both machines reach each other.
async fn begin(
    daemon: &Daemon,
    variables: Variables,
    report: &[u8],
) -> Result<(MachineReport, RunningCheck), String> {
    let Some(permit) = daemon.rdma.check() else {
        return Err("somebody else is checking RDMA there; try again in a few seconds".into());
    };
    let theirs = MachineReport::from_bytes(report)?;
    let settings = settings(&variables).map_err(|failure| failure.message)?;
    let own = daemon.rdma.report(variables).await?;
    let (report, names) = (own.clone(), ["the machine that asks", "this machine"]);
    let begun = spawn_blocking(move || {
        let check = MachineReport::check([&theirs, &report], names, 1, &settings);
        RunningCheck(Some(HeldCheck { check, _permit: permit }))
    });
    match timeout(STEP, begun).await {
        Ok(begun) => Ok((own, begun.map_err(|error| error.to_string())?)),
        Err(_) => Err("its RDMA devices do not answer (dmesg)".into()),
    }
}

impl RunningCheck {
    fn step(&mut self, step: &RdmaStep) -> Result<RdmaReply, String> {
        let held = self.0.as_mut().ok_or("the check is over")?;
        let check = held.check.as_mut().map_err(|why| why.clone())?;
        Ok(match step {
            RdmaStep::Connect { pair, parameters } => {
                let theirs = CheckParameters::from_bytes(parameters)?;
                let own = check.offer(usize::try_from(*pair).unwrap_or(usize::MAX))?;
                check.receive(&theirs)?;
                RdmaReply::Connected(own.to_bytes())
            }
            RdmaStep::Probe => {
                check.probe()?;
                RdmaReply::Done
            }
            RdmaStep::Answer => {
                check.answer()?;
                RdmaReply::Done
            }
            RdmaStep::Write => RdmaReply::Rate(check.rate()?),
        })
    }
}
