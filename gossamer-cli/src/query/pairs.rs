//! The fabric between each two machines, as `auto` chooses it.

use crate::query::rdma::{pair_json, pair_text};
use crate::terminal::table::Table;
use gossamer::rack::rdma::{JoinedBy, MachineReport, PairReport};
use serde_json::{Value, json};

/// A machine by its name, and its report about its RDMA, or why there is none.
pub type NamedReport = (String, Result<MachineReport, String>);

/// The fabric between two machines: TCP, if one of them has given no report.
fn joined(one: &NamedReport, other: &NamedReport) -> JoinedBy {
    let unknown = |(name, why): (&str, &str)| JoinedBy::Tcp(format!("{name}: {why}"));
    match (one, other) {
        ((name, Err(why)), _) | (_, (name, Err(why))) => unknown((name, why)),
        ((one, Ok(first)), (other, Ok(second))) => first.joined_with(second, [one, other]),
    }
}

/// Why a machine has no RDMA, if it has none.
fn lacks(report: &NamedReport) -> Option<String> {
    match &report.1 {
        Err(why) => Some(why.clone()),
        Ok(report) => report.rdma.trouble().map(|trouble| trouble.why),
    }
}

/// A row for each two machines; a machine without RDMA has one row for all others.
#[must_use]
pub fn table(machines: &[NamedReport]) -> Option<Table> {
    let mut table = Table::new(&["MACHINES", "FABRIC", "BY, OR WHY NOT BY RDMA"]);
    let is_tcp = |one, other| matches!(joined(one, other), JoinedBy::Tcp(_));
    let is_apart = |at: usize| {
        let mut others = machines.iter().enumerate().filter(|(other, _)| *other != at);
        lacks(&machines[at]).filter(|_| others.all(|(_, other)| is_tcp(&machines[at], other)))
    };
    let apart: Vec<Option<String>> = (0..machines.len()).map(is_apart).collect();
    for (at, one) in machines.iter().enumerate() {
        for (other_at, other) in machines.iter().enumerate().skip(at + 1) {
            if apart[at].is_none() && apart[other_at].is_none() {
                table.add(row(format!("{} and {}", one.0, other.0), joined(one, other)));
            }
        }
    }
    for (machine, why) in machines.iter().zip(apart) {
        if let Some(why) = why {
            table.add(row(format!("{} and any other", machine.0), JoinedBy::Tcp(why)));
        }
    }
    (machines.len() > 1).then_some(table)
}

fn row(machines: String, joined: JoinedBy) -> Vec<String> {
    let pairs = |pairs: &[PairReport]| pairs.iter().map(pair_text).collect::<Vec<_>>().join("; ");
    let (fabric, how) = match &joined {
        JoinedBy::SharedMemory => ("shm", "they are one machine".to_owned()),
        JoinedBy::Verbs(ports) => ("verbs", pairs(ports)),
        JoinedBy::Tcp(why) => ("tcp", why.clone()),
    };
    vec![machines, fabric.to_owned(), how]
}

/// The fabrics between a machine and each of the others.
#[must_use]
pub fn json(machine: &NamedReport, machines: &[NamedReport]) -> Value {
    let others = machines.iter().filter(|(name, _)| *name != machine.0);
    let pair = |other: &NamedReport| match joined(machine, other) {
        JoinedBy::SharedMemory => json!({ "with": other.0, "fabric": "shm" }),
        JoinedBy::Verbs(ports) => {
            json!({ "with": other.0, "fabric": "verbs", "ports": ports.iter().map(pair_json).collect::<Vec<_>>() })
        }
        JoinedBy::Tcp(why) => json!({ "with": other.0, "fabric": "tcp", "why_not_rdma": why }),
    };
    others.map(pair).collect()
}
