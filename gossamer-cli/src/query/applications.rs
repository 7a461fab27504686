//! `gossamer ps` and `gossamer kill`: the applications that run.

use crate::exit::Failure;
use crate::node::ending::{End, How};
use crate::node::signal::{KILL, signal_name};
use crate::query::ask::{ask_all, no_such, those_reached};
use crate::query::output::{print, print_json};
use crate::rack::owner::owner;
use crate::rack::protocol::{ApplicationSummary, NodeEnd, NodeSummary, Reply, Request};
use crate::terminal::table::{self, Table};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// Applications by their id: what each machine says about them, after its name.
type Applications = BTreeMap<String, Vec<(String, ApplicationSummary)>>;

/// `gossamer ps`; with applications that have ended, if `ended`.
///
/// # Errors
/// If no machine can be reached.
pub async fn list(config: &Path, ended: bool, as_json: bool) -> Result<u8, Failure> {
    let mut applications = Applications::new();
    for (machine, reply) in those_reached(ask_all(config, Request::List { ended }).await?)? {
        let Reply::List(list) = reply else { continue };
        for summary in list {
            let known = applications.entry(summary.application.clone()).or_default();
            known.push((machine.name.clone(), summary));
        }
    }
    match (as_json, ended) {
        (true, _) => {
            print_json(&applications.iter().map(|(id, parts)| application_json(id, parts)).collect())?;
        }
        (false, false) => print(application_table(&applications).text().as_bytes())?,
        (false, true) => print(node_table(applications).text().as_bytes())?,
    }
    Ok(0)
}

fn application_table(applications: &Applications) -> Table {
    let mut table = Table::new(&["APPLICATION", "OWNER", "TIME", "NODES", "COMMAND"]);
    for (id, parts) in applications {
        let Some((_, first)) = parts.first() else { continue };
        let nodes = parts.iter().map(|(machine, part)| format!("{} on {machine}", part.nodes.len()));
        let nodes: Vec<String> = nodes.collect();
        let (owner, time) = (first.owner.clone(), table::duration(first.seconds));
        table.add(vec![id.clone(), owner, time, nodes.join(", "), first.command.clone()]);
    }
    table
}

/// A row for each node. Of the applications that have ended, the first to end come first; those that run come last.
fn node_table(applications: Applications) -> Table {
    let mut table =
        Table::new(&["APPLICATION", "OWNER", "NODE", "MACHINE", "PID", "TIME", "ENDED", "HOW", "COMMAND"]);
    let mut applications: Vec<_> = applications.into_iter().collect();
    applications.sort_by_key(|(_, parts)| Reverse(ended_seconds_ago(parts)));
    for (id, parts) in applications {
        let mut nodes: Vec<_> = parts
            .iter()
            .flat_map(|(machine, part)| part.nodes.iter().map(move |node| (node, machine, part)))
            .collect();
        nodes.sort_by_key(|(node, ..)| node.node);
        for (node, machine, part) in nodes {
            let mut row = vec![id.clone(), part.owner.clone(), node.node.to_string(), machine.clone()];
            row.extend([node.pid.to_string(), table::duration(node.milliseconds / 1000)]);
            row.extend([
                ago(node.end.as_ref().map(|end| end.seconds_ago)),
                how(node, part),
                part.command.clone(),
            ]);
            table.add(row);
        }
        for (machine, part) in parts.iter().filter(|(_, part)| part.nodes.is_empty()) {
            let mut row = vec![id.clone(), part.owner.clone(), String::new(), machine.clone(), String::new()];
            row.extend([table::duration(part.seconds), ago(part.ended_seconds_ago)]);
            row.extend([part.cause.clone().unwrap_or_default(), part.command.clone()]);
            table.add(row);
        }
    }
    table
}

/// How long ago an application has ended; nothing if it still runs somewhere.
fn ended_seconds_ago(parts: &[(String, ApplicationSummary)]) -> Option<u64> {
    let ended: Option<Vec<u64>> = parts.iter().map(|(_, part)| part.ended_seconds_ago).collect();
    ended?.into_iter().min()
}

fn ago(seconds: Option<u64>) -> String {
    seconds.map_or_else(|| "-".into(), |seconds| format!("{} ago", table::duration(seconds)))
}

/// How a node has ended, who or what ended it, and its last output.
fn how(node: &NodeSummary, part: &ApplicationSummary) -> String {
    let Some(NodeEnd { end, was_ended, .. }) = &node.end else { return "runs".into() };
    let cause = part.cause.as_ref().filter(|_| *was_ended);
    let parts = [Some(sentence(&end.how)), cause.cloned(), end.words.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// How a node has ended by itself, regardless of the others.
fn sentence(how: &How) -> String {
    match how {
        How::Exited(0) => "ended with status 0".into(),
        how => how.sentence(),
    }
}

fn application_json(id: &str, parts: &[(String, ApplicationSummary)]) -> Value {
    let nodes: Vec<Value> = parts
        .iter()
        .flat_map(|(machine, part)| part.nodes.iter().map(move |node| node_json(machine, node, part)))
        .collect();
    let machines: Vec<Value> = parts
        .iter()
        .map(|(machine, part)| {
            let not_started = part.cause.as_ref().filter(|_| part.was_not_started);
            json!({ "machine": machine, "ended_seconds_ago": part.ended_seconds_ago, "not_started": not_started })
        })
        .collect();
    let first = parts.first().map(|(_, part)| part);
    json!({
        "application": id,
        "owner": first.map(|part| &part.owner),
        "seconds": first.map(|part| part.seconds),
        "ended_seconds_ago": ended_seconds_ago(parts),
        "command": first.map(|part| &part.command),
        "machines": machines,
        "nodes": nodes,
    })
}

fn node_json(machine: &str, node: &NodeSummary, part: &ApplicationSummary) -> Value {
    let mut value = json!({
        "node": node.node, "machine": machine, "pid": node.pid, "seconds": node.milliseconds as f64 / 1000.0,
        "end": null,
    });
    let (Some(NodeEnd { end, was_ended, seconds_ago }), Some(fields)) = (&node.end, value.as_object_mut())
    else {
        return value;
    };
    let End { how, words } = end;
    fields.insert("end".into(), sentence(how).into());
    fields.insert("ended_seconds_ago".into(), (*seconds_ago).into());
    fields.insert("ended_by".into(), json!(part.cause.as_ref().filter(|_| *was_ended)));
    fields.insert("said".into(), json!(words));
    match how {
        How::Exited(status) => fields.insert("status".into(), (*status).into()),
        How::Killed { signal, .. } => fields.insert("signal".into(), signal_name(*signal).into()),
        How::OutOfMemory(_) => {
            fields.insert("out_of_memory".into(), true.into());
            fields.insert("signal".into(), signal_name(KILL).into())
        }
        How::Lost(_) => fields.insert("lost".into(), true.into()),
    };
    value
}

/// `gossamer kill`
///
/// # Errors
/// If there is no such application, or no machine can be reached.
pub async fn kill(config: &Path, application: &str, as_json: bool) -> Result<u8, Failure> {
    let request = Request::Kill { application: application.into(), by: owner() };
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
