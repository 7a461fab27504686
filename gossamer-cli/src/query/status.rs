//! `gossamer status`: how the machines are.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::ask::{MachineAnswer, ask_all};
use crate::query::output::{complain, print, print_json};
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{Reply, Request, Status};
use crate::terminal::table::{self, Table};
use serde_json::{Value, json};
use std::path::Path;

const TITLES: [&str; 11] =
    ["MACHINE", "ADDRESS", "VERSION", "HEALTH", "UP", "CPUS", "LOAD", "FREE", "APPS", "NODES", "CACHE"];

/// A machine that has answered.
struct Reached<'a> {
    machine: &'a Machine,
    version: &'a str,
    seconds: f64,
    status: &'a Status,
    /// Whether its configuration names the same machines.
    agrees: bool,
}

/// `gossamer status`
///
/// # Errors
/// If the configuration is wrong or nothing can be printed.
pub async fn status(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let rack = Rack::read(config)?;
    let own: Vec<_> = rack.machines().into_iter().map(|machine| (machine.name, machine.address)).collect();
    let answers = ask_all(config, Request::Status).await?;
    let mut table = Table::new(&TITLES);
    let mut values = Vec::new();
    let mut result = 0;
    for MachineAnswer { machine, version, seconds, reply } in answers {
        match reply {
            Ok(Reply::Status(status)) => {
                let agrees = status.machines == own;
                let reached =
                    Reached { machine: &machine, version: &version, seconds, status: &status, agrees };
                table.add(reached.row());
                values.push(reached.json());
            }
            other => {
                result = UNREACHABLE;
                let why = match other {
                    Err(failure) => failure.message,
                    Ok(_) => "its daemon does not keep to the protocol".into(),
                };
                let Machine { name, address } = machine;
                values.push(json!({ "machine": name, "address": address, "reachable": false, "error": why }));
                table.add(vec![name, address, version, "unreachable".into()]);
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

impl Reached<'_> {
    fn row(&self) -> Vec<String> {
        let status = self.status;
        let health = match self.agrees {
            true => format!("ok, {:.1} ms", self.seconds * 1000.0),
            false => "its rack.toml names other machines".into(),
        };
        vec![
            self.machine.name.clone(),
            self.machine.address.clone(),
            self.version.into(),
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

    fn json(&self) -> Value {
        let Self { machine: Machine { name, address }, version, seconds, status, agrees } = self;
        json!({
            "machine": name, "address": address, "version": version, "reachable": true,
            "same_configuration": agrees, "milliseconds": seconds * 1000.0, "up_seconds": status.up_seconds,
            "processors": status.processors, "load": status.load_hundredths as f64 / 100.0,
            "memory_bytes": status.memory.0, "available_bytes": status.memory.1,
            "applications": status.applications, "nodes": status.nodes,
            "cache_bytes": status.cache.0, "cache_limit_bytes": status.cache.1,
        })
    }
}
