//! `gossamer status`: the state of the machines.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::ask::{MachineAnswer, ask_all};
use crate::query::output::{complain, print, print_json};
use crate::query::pairs::{self, NamedReport};
use crate::query::rdma;
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{Reply, Request, Status};
use crate::rack::rdma::{own_variables, settings, understood};
use crate::terminal::table::{self, Table};
use serde_json::{Value, json};
use std::path::Path;

const TITLES: [&str; 12] = [
    "MACHINE", "ADDRESS", "VERSION", "HEALTH", "UP", "CPUS", "LOAD", "FREE", "APPS", "NODES", "CACHE", "RDMA",
];

/// A machine that answered.
struct Reached<'a> {
    machine: &'a Machine,
    version: &'a str,
    seconds: f64,
    status: &'a Status,
    /// Whether its configuration names the same machines as this one's.
    agrees: bool,
}

/// `gossamer status`
///
/// # Errors
/// If the configuration is wrong or nothing can be printed.
pub async fn status(config: &Path, as_json: bool) -> Result<u8, Failure> {
    let rack = Rack::read(config)?;
    let own: Vec<_> = rack.machines().into_iter().map(|machine| (machine.name, machine.address)).collect();
    let variables = own_variables();
    settings(&variables)?;
    let answers = ask_all(config, Request::Status(variables)).await?;
    let mut table = Table::new(&TITLES);
    let (mut values, mut reports) = (Vec::new(), Vec::new());
    let mut result = 0;
    for MachineAnswer { machine, version, seconds, reply } in answers {
        match reply {
            Ok(Reply::Status(status)) => {
                let agrees = status.machines == own;
                let reached =
                    Reached { machine: &machine, version: &version, seconds, status: &status, agrees };
                let report: NamedReport = (machine.name.clone(), understood(&status.rdma));
                table.add(reached.row(&report));
                values.push(reached.json(&report));
                reports.push(report);
            }
            other => {
                result = UNREACHABLE;
                let why = match other {
                    Err(failure) => failure.message,
                    Ok(_) => "its daemon does not keep to the protocol".into(),
                };
                let Machine { name, address, .. } = machine;
                values.push(json!({ "machine": name, "address": address, "reachable": false, "error": why }));
                table.add(vec![name, address, version, "unreachable".into()]);
                complain(&why);
            }
        }
    }
    match as_json {
        true => {
            for (value, report) in values.iter_mut().filter(|value| value["reachable"] == true).zip(&reports)
            {
                value["joined"] = pairs::json(report, &reports);
            }
            print_json(&Value::Array(values))?;
        }
        false => {
            print(table.text().as_bytes())?;
            if let Some(pairs) = pairs::table(&reports) {
                print(format!("\n{}", pairs.text()).as_bytes())?;
            }
        }
    }
    Ok(result)
}

impl Reached<'_> {
    fn row(&self, (_, report): &NamedReport) -> Vec<String> {
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
            match report {
                Ok(report) if report.rdma.trouble().is_none() => report.rdma.ports().join(", "),
                _ => "none".into(),
            },
        ]
    }

    fn json(&self, (_, report): &NamedReport) -> Value {
        let Self { machine: Machine { name, address, .. }, version, seconds, status, agrees } = self;
        json!({
            "machine": name, "address": address, "version": version, "reachable": true,
            "same_configuration": agrees, "milliseconds": seconds * 1000.0, "up_seconds": status.up_seconds,
            "processors": status.processors, "load": status.load_hundredths as f64 / 100.0,
            "memory_bytes": status.memory.0, "available_bytes": status.memory.1,
            "applications": status.applications, "nodes": status.nodes,
            "cache_bytes": status.cache.0, "cache_limit_bytes": status.cache.1,
            "rdma": match report {
                Ok(report) => rdma::json(&report.rdma),
                Err(why) => json!({ "usable": false, "error": why }),
            },
        })
    }
}
