//! The commands that ask all daemons: `status`, `ps`, `kill`, `logs`.

use crate::config::{Machine, Rack};
use crate::connect::Connection;
use crate::ending::printable;
use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::key::Key;
use crate::lines::{Lines, Style};
use crate::message::Stream;
use crate::program;
use crate::protocol::{Listed, Logged, Reply, Request, Status, decode};
use crate::table::{self, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one machine says, and how long that took.
struct Answer {
    machine: Machine,
    version: String,
    seconds: f64,
    reply: Result<Reply, Failure>,
}

async fn ask(machine: Machine, rack: Rack, key: Key, request: Request) -> Answer {
    let begin = Instant::now();
    let failure =
        |what: String| Failure::new(UNREACHABLE, format!("{} gives no answer: {what}", machine.name));
    let (version, reply) = match Connection::open(&machine, &rack, &key).await {
        Ok(mut connection) => {
            let version = connection.hello.version.clone();
            let reply = async {
                connection.send(&request).await?;
                connection.reader.receive().await?.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
            };
            let reply = match timeout(PATIENCE, reply).await {
                Ok(reply) => {
                    reply.and_then(|reply| decode(&reply)).map_err(|error| failure(error.to_string()))
                }
                Err(_) => Err(failure(format!("it is silent for {} s", PATIENCE.as_secs()))),
            };
            (version, reply)
        }
        Err(failure) => (String::new(), Err(failure)),
    };
    Answer { seconds: begin.elapsed().as_secs_f64(), machine, version, reply }
}

/// Asks all machines at once; the answers are in the order of the configuration.
async fn ask_all(config: &Path, request: Request) -> Result<Vec<Answer>, Failure> {
    let rack = Rack::read(config)?;
    let key = Key::read(&rack.key)?;
    let machines = rack.choose(&[])?;
    let asked: Vec<_> = machines
        .into_iter()
        .map(|machine| tokio::spawn(ask(machine, rack.clone(), key.clone(), request.clone())))
        .collect();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.map_err(|error| Failure::new(FAILED, error.to_string()))?);
    }
    Ok(answers)
}

/// The answers of the machines that gave one; the others are named on standard error.
fn those_reached(answers: Vec<Answer>) -> Result<Vec<(Machine, Reply)>, Failure> {
    let mut reached = Vec::new();
    let mut last = None;
    for Answer { machine, reply, .. } in answers {
        match reply {
            Ok(reply) => reached.push((machine, reply)),
            Err(failure) => {
                if let Some(Failure { message, .. }) = last.replace(failure) {
                    complain(&message);
                }
            }
        }
    }
    match last {
        Some(failure) if reached.is_empty() => Err(failure),
        Some(failure) => {
            complain(&failure.message);
            Ok(reached)
        }
        None => Ok(reached),
    }
}

fn complain(text: &str) {
    // There is nobody else to tell if that fails.
    let _ = writeln!(std::io::stderr(), "gossamer: warning: {}", printable(text));
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(|error| {
        Failure::new(crate::exit::OUTPUT, format!("standard output cannot be written: {error}"))
    })
}

fn print_json(value: &Value) -> Result<(), Failure> {
    print(format!("{value:#}\n").as_bytes())
}

/// `gossamer status`
///
/// # Errors
/// If the configuration is wrong or nothing can be printed.
pub async fn status(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let rack = Rack::read(config)?;
    let own: Vec<_> = rack.machines().into_iter().map(|machine| (machine.name, machine.address)).collect();
    let answers = ask_all(config, Request::Status).await?;
    let mut table = Table::new(&[
        "MACHINE", "ADDRESS", "VERSION", "HEALTH", "UP", "CPUS", "LOAD", "FREE", "APPS", "NODES", "CACHE",
    ]);
    let mut values = Vec::new();
    let mut result = 0;
    for Answer { machine: Machine { name, address }, version, seconds, reply } in answers {
        match reply {
            Ok(Reply::Status(status)) => {
                let agrees = status.machines == own;
                table.add(status_row(&name, &address, &version, &status, agrees, seconds));
                values.push(json!({
                    "machine": name, "address": address, "version": version, "reachable": true,
                    "same_configuration": agrees, "milliseconds": seconds * 1000.0, "up_seconds": status.up_seconds,
                    "processors": status.processors, "load": status.load_hundredths as f64 / 100.0,
                    "memory_bytes": status.memory.0, "available_bytes": status.memory.1,
                    "applications": status.applications, "nodes": status.nodes,
                    "cache_bytes": status.cache.0, "cache_limit_bytes": status.cache.1,
                }));
            }
            other => {
                result = UNREACHABLE;
                let why = match other {
                    Err(failure) => failure.message,
                    Ok(_) => "its daemon does not keep to the protocol".into(),
                };
                table.add(vec![name.clone(), address.clone(), version, "unreachable".into()]);
                values.push(json!({ "machine": name, "address": address, "reachable": false, "error": why }));
                complain(&why);
            }
        }
    }
    match as_json {
        true => print_json(&Value::Array(values))?,
        false => print(table.text().as_bytes())?,
    }
    Ok(result)
}

fn status_row(
    name: &str,
    address: &str,
    version: &str,
    status: &Status,
    agrees: bool,
    seconds: f64,
) -> Vec<String> {
    let health = match agrees {
        true => format!("ok, {:.1} ms", seconds * 1000.0),
        false => "its rack.toml names other machines".into(),
    };
    vec![
        name.into(),
        address.into(),
        version.into(),
        health,
        table::duration(status.up_seconds),
        status.processors.to_string(),
        format!("{:.2}", status.load_hundredths as f64 / 100.0),
        format!("{} of {}", table::bytes(status.memory.1), table::bytes(status.memory.0)),
        status.applications.to_string(),
        status.nodes.to_string(),
        format!("{} of {}", table::bytes(status.cache.0), table::bytes(status.cache.1)),
    ]
}

/// `gossamer ps`
///
/// # Errors
/// If no machine can be reached.
pub async fn list(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let answers = those_reached(ask_all(config, Request::List).await?)?;
    let mut applications: BTreeMap<String, Vec<(String, Listed)>> = BTreeMap::new();
    for (machine, reply) in answers {
        if let Reply::List(list) = reply {
            for listed in list {
                let known = applications.entry(listed.application.clone()).or_default();
                known.push((machine.name.clone(), listed));
            }
        }
    }
    match as_json {
        true => print_json(&applications.iter().map(|(id, parts)| application_json(id, parts)).collect())?,
        false => {
            let mut table = Table::new(&["APPLICATION", "OWNER", "TIME", "NODES", "COMMAND"]);
            for (id, parts) in &applications {
                let Some((_, first)) = parts.first() else { continue };
                let nodes = parts.iter().map(|(machine, part)| format!("{} on {machine}", part.nodes.len()));
                let nodes: Vec<String> = nodes.collect();
                let time = table::duration(first.seconds);
                table.add(vec![
                    id.clone(),
                    first.owner.clone(),
                    time,
                    nodes.join(", "),
                    first.command.clone(),
                ]);
            }
            print(table.text().as_bytes())?;
        }
    }
    Ok(0)
}

fn application_json(id: &str, parts: &[(String, Listed)]) -> Value {
    let node = |machine: &String, (node, pid, end): &(u32, u32, Option<crate::ending::End>)| {
        let end = end.as_ref().map(|end| end.how.sentence());
        json!({ "node": node, "machine": machine, "pid": pid, "end": end })
    };
    let nodes: Vec<Value> = parts
        .iter()
        .flat_map(|(machine, part)| part.nodes.iter().map(move |known| node(machine, known)))
        .collect();
    let first = parts.first().map(|(_, part)| part);
    json!({
        "application": id,
        "owner": first.map(|part| &part.owner),
        "seconds": first.map(|part| part.seconds),
        "command": first.map(|part| &part.command),
        "nodes": nodes,
    })
}

fn no_such(application: &str) -> Failure {
    Failure::new(FAILED, format!("there is no application {application}; `gossamer ps` lists those that run"))
}

/// `gossamer kill`
///
/// # Errors
/// If there is no such application, or no machine can be reached.
pub async fn kill(config: &Path, application: &str, as_json: bool) -> Result<u8, Failure> {
    let request = Request::Kill { application: application.into(), by: program::owner() };
    let answers = those_reached(ask_all(config, request).await?)?;
    let machines: Vec<String> = answers
        .into_iter()
        .filter(|(_, reply)| *reply == Reply::Killed(true))
        .map(|(machine, _)| machine.name)
        .collect();
    if machines.is_empty() {
        return Err(no_such(application));
    }
    if as_json {
        print_json(&json!({ "application": application, "machines": machines }))?;
    }
    Ok(0)
}

/// `gossamer logs`
///
/// # Errors
/// If there is no such application, or no machine can be reached.
pub async fn logs(config: &Path, application: &str, as_json: bool) -> Result<u8, Failure> {
    let request = Request::Logs { application: application.into() };
    let answers = those_reached(ask_all(config, request).await?)?;
    let mut found = false;
    let mut values = Vec::new();
    for (machine, reply) in answers {
        let Reply::Logs(Some(log)) = reply else { continue };
        found = true;
        for (node, stream, lines) in joined(log) {
            match as_json {
                true => values.push(json!({
                    "machine": machine.name, "node": node,
                    "stream": if stream == Stream::Out { "stdout" } else { "stderr" },
                    "text": String::from_utf8_lossy(&lines),
                })),
                false => print(&prefixed(node, &lines))?,
            }
        }
    }
    if !found {
        return Err(no_such(application));
    }
    if as_json {
        print_json(&Value::Array(values))?;
    }
    Ok(0)
}

fn prefixed(node: u32, text: &[u8]) -> Vec<u8> {
    let mut lines = Lines::new(usize::try_from(node).unwrap_or(0), Style::Plain);
    let mut printable = lines.push(text);
    printable.extend(lines.finish());
    printable
}

/// Pieces of output as whole lines, in the order in which the lines ended.
fn joined(log: Vec<Logged>) -> Vec<(u32, Stream, Vec<u8>)> {
    let mut partial: BTreeMap<(u32, bool), Vec<u8>> = BTreeMap::new();
    let mut lines = Vec::new();
    for Logged { node, stream, bytes } in log {
        let open = partial.entry((node, stream == Stream::Out)).or_default();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            open.extend_from_slice(piece);
            if open.ends_with(b"\n") {
                lines.push((node, stream, std::mem::take(open)));
            }
        }
    }
    let rest = partial.into_iter().filter(|(_, bytes)| !bytes.is_empty());
    let stream = |is_out| if is_out { Stream::Out } else { Stream::Err };
    lines.extend(rest.map(|((node, is_out), bytes)| (node, stream(is_out), bytes)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_output_is_joined_to_lines() {
        let piece = |node, text: &str| Logged { node, stream: Stream::Out, bytes: text.into() };
        let log = vec![piece(0, "a"), piece(1, "x\ny"), piece(0, "b\n")];
        let lines: Vec<_> = joined(log).into_iter().map(|(node, _, text)| (node, text)).collect();
        assert_eq!(lines, [(1, b"x\n".to_vec()), (0, b"ab\n".to_vec()), (1, b"y".to_vec())]);
    }
}
