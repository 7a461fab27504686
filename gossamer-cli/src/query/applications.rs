//! `gossamer ps` and `gossamer kill`: the applications that run.

use crate::exit::Failure;
use crate::node::ending::End;
use crate::query::ask::{ask_all, no_such, those_reached};
use crate::query::output::{print, print_json};
use crate::rack::owner::owner;
use crate::rack::protocol::{ApplicationSummary, Reply, Request};
use crate::terminal::table::{self, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Applications by their id: what each machine says of them, behind its name.
type Applications = BTreeMap<String, Vec<(String, ApplicationSummary)>>;

/// `gossamer ps`
///
/// # Errors
/// If no machine can be reached.
pub async fn list(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let mut applications = Applications::new();
    for (machine, reply) in those_reached(ask_all(config, Request::List).await?)? {
        let Reply::List(list) = reply else { continue };
        for summary in list {
            let known = applications.entry(summary.application.clone()).or_default();
            known.push((machine.name.clone(), summary));
        }
    }
    match as_json {
        true => print_json(&applications.iter().map(|(id, parts)| application_json(id, parts)).collect())?,
        false => print(application_table(&applications).text().as_bytes())?,
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

fn application_json(id: &str, parts: &[(String, ApplicationSummary)]) -> Value {
    let node = |machine: &String, (node, pid, end): &(u32, u32, Option<End>)| {
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
