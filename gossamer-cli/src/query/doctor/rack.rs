//! `gossamer doctor --rack`: all machines at once. Each daemon examines its machine, tells the time, and listens; when
//! all daemons listen, each tries to reach the others.

use crate::exit::Failure;
use crate::query::ask::{MachineAnswer, next, sent, talk_to_all};
use crate::query::doctor::between::{self, ClockDifference};
use crate::query::doctor::merged::{MachineFindings, MergedFinding, merged};
use crate::query::doctor::{DoctorArguments, show};
use crate::rack::connect::Connection;
use crate::rack::examination::{AT_A_TIME, CONNECT, ExaminationReply, ExaminationStep, LOOK};
use crate::rack::finding::Finding;
use crate::rack::protocol::{Reply, Request};
use crate::rack::rdma::own_variables;
use crate::secure::channel::PATIENCE;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How many times a clock is asked: the fastest answer counts.
const CLOCK_READINGS: usize = 8;

/// A machine that has examined itself.
struct Examined {
    findings: Vec<Finding>,
    clock: ClockDifference,
    /// Where it listens as its nodes would; or why it cannot.
    listens: Result<SocketAddr, String>,
    connection: Connection,
}

/// `gossamer doctor --rack`
///
/// # Errors
/// If the configuration is wrong, or the output cannot be written.
pub(crate) async fn examine(arguments: &DoctorArguments, config: &Path) -> Result<u8, Failure> {
    let answers = talk_to_all(config, look).await?;
    let machines: Vec<Value> = answers
        .iter()
        .map(|answer| {
            let version = Some(&answer.version).filter(|version| !version.is_empty());
            json!({ "machine": answer.machine.name, "address": answer.machine.address, "version": version })
        })
        .collect();
    let findings = between_all(answers).await;
    show(arguments, &findings, json!({ "version": env!("CARGO_PKG_VERSION"), "machines": machines }))
}

/// The first part of an examination, for which no other machine is needed.
async fn look(mut connection: Connection) -> Result<Examined, String> {
    let patience = LOOK + PATIENCE;
    let ExaminationReply::Findings(findings) =
        step(&mut connection, ExaminationStep::Look(own_variables()), patience).await?
    else {
        return Err(NO_PROTOCOL.into());
    };
    let mut clock = read_clock(&mut connection).await?;
    for _ in 1..CLOCK_READINGS {
        let again = read_clock(&mut connection).await?;
        clock = if again.error < clock.error { again } else { clock };
    }
    // The nodes are reached at the same address as the daemon.
    let at = connection.address.ip();
    let ExaminationReply::Listens(port) =
        step(&mut connection, ExaminationStep::Listen(at), PATIENCE).await?
    else {
        return Err(NO_PROTOCOL.into());
    };
    let listens = port.map(|port| SocketAddr::new(at, port)).map_err(|why| format!("not at {at}: {why}"));
    Ok(Examined { findings, clock, listens, connection })
}

const NO_PROTOCOL: &str = "it does not keep to the protocol";

/// One step, and its result.
async fn step(
    connection: &mut Connection,
    step: ExaminationStep,
    patience: Duration,
) -> Result<ExaminationReply, String> {
    sent(connection, &Request::Examine(step)).await?;
    match next(connection, patience).await? {
        Reply::Examined(reply) => Ok(reply),
        Reply::Refused(why) => Err(why),
        _ => Err(NO_PROTOCOL.into()),
    }
}

async fn read_clock(connection: &mut Connection) -> Result<ClockDifference, String> {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let before = now();
    match step(connection, ExaminationStep::Clock, PATIENCE).await? {
        ExaminationReply::Clock(told) => Ok(ClockDifference::of_round_trip(before, told, now())),
        _ => Err(NO_PROTOCOL.into()),
    }
}

/// The second part: examines what is between the machines that have answered, and returns everything that was found.
async fn between_all(answers: Vec<MachineAnswer<Examined>>) -> Vec<MergedFinding> {
    let of = answers.len();
    let (mut all, mut clocks, mut listening, mut trials) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for MachineAnswer { machine, version, reply, .. } in answers {
        let name = machine.name;
        let findings = match reply {
            Err(failure) => vec![unreached(&failure)],
            Ok(Examined { mut findings, clock, listens, connection }) => {
                findings.push(between::version(env!("CARGO_PKG_VERSION"), &version));
                clocks.push((name.clone(), clock));
                match listens {
                    Ok(at) => listening.push((name.clone(), at)),
                    Err(why) => findings.push(deaf(&why)),
                }
                trials.push((name.clone(), connection));
                findings
            }
        };
        all.push(MachineFindings { machine: name, findings });
    }
    let tried: Vec<_> = trials
        .into_iter()
        .map(|(name, connection)| {
            let others: Vec<_> = listening.iter().filter(|(other, _)| *other != name).cloned().collect();
            (name, tokio::spawn(reach(connection, others)))
        })
        .collect();
    // Kept until all machines have tried: a machine stops listening when its connection is closed.
    let mut connections = Vec::new();
    for (name, ways) in tried {
        let ways = match ways.await {
            Ok(Ok((connection, ways))) => {
                connections.push(connection);
                between::ways(&ways)
            }
            Ok(Err(why)) => vec![fell_silent(&why)],
            Err(error) => vec![fell_silent(&error.to_string())],
        };
        all.iter_mut()
            .filter(|of| of.machine == name)
            .for_each(|of| of.findings.extend(ways.iter().cloned()));
    }
    let mut findings = merged(all);
    let names = clocks.iter().map(|(name, _)| name.clone()).collect();
    findings.extend(between::clocks(&clocks).map(|finding| MergedFinding { finding, machines: names, of }));
    findings
}

/// The machines that cannot be reached, by name, with the reasons.
type Ways = Vec<(String, Result<(), String>)>;

/// Makes a daemon try to reach other machines.
async fn reach(
    mut connection: Connection,
    others: Vec<(String, SocketAddr)>,
) -> Result<(Connection, Ways), String> {
    let (names, addresses): (Vec<String>, Vec<SocketAddr>) = others.into_iter().unzip();
    let rounds = u32::try_from(addresses.len().div_ceil(AT_A_TIME)).unwrap_or(u32::MAX);
    let patience = PATIENCE.saturating_add(CONNECT.saturating_mul(rounds));
    match step(&mut connection, ExaminationStep::Connect(addresses), patience).await? {
        ExaminationReply::Connected(ways) if ways.len() == names.len() => {
            Ok((connection, names.into_iter().zip(ways).collect()))
        }
        _ => Err(NO_PROTOCOL.into()),
    }
}

fn unreached(failure: &Failure) -> Finding {
    let cost = "nothing can be started there, and nothing is known about it";
    let mend =
        "gossamer daemon (or systemctl start gossamer) on that machine; gossamer status says who is there";
    Finding::problem("daemon", failure.message.clone(), cost, mend)
}

fn deaf(why: &str) -> Finding {
    Finding::problem(
        "where nodes listen",
        why,
        "nodes of other machines cannot reach nodes there",
        "give an address in the configuration that the machine itself has",
    )
}

fn fell_silent(why: &str) -> Finding {
    Finding::problem(
        "daemon",
        format!("gives no more answers: {why}"),
        "it is not known which machines it reaches",
        "",
    )
}
