//! RDMA, and the programs that run: whether they can be looked at.

use crate::rack::finding::Finding;
use gossamer::inspect::{ask, inspection_sockets};
use gossamer::rack::rdma::{MachineReport, RdmaTrouble};

/// Findings about the RDMA devices of a machine, from its own report, or about why there is no report.
#[must_use]
pub fn devices(report: Result<MachineReport, String>) -> Finding {
    const SUBJECT: &str = "RDMA";
    let report = match report {
        Ok(report) => report.rdma,
        Err(why) => {
            let mend = "unset the variable that is wrong, or see what the devices do (gossamer check-rdma)";
            return Finding::problem(SUBJECT, why, "nodes do not start with it", mend);
        }
    };
    match report.trouble() {
        None => Finding::fine(SUBJECT, format!("by {}", report.ports().join(" and "))),
        Some(RdmaTrouble { why, advice }) => {
            let cost = "nodes of other machines are reached over TCP; gossamer check-rdma says more";
            Finding { mend: advice, ..Finding::note(SUBJECT, format!("cannot be used: {why}"), cost) }
        }
    }
}

/// Findings about the programs of this user that run.
#[must_use]
pub fn running() -> Vec<Finding> {
    const SUBJECT: &str = "programs of this user that run";
    let sockets = match inspection_sockets() {
        Ok(sockets) => sockets,
        Err(error) => {
            let cost = "gossamer stacks does not see them";
            return vec![Finding::note(SUBJECT, format!("their folder cannot be read: {error}"), cost)];
        }
    };
    let count = sockets.len();
    let silent = sockets.into_iter().filter_map(|socket| {
        let error = ask(&socket).err()?;
        let found = format!("process {} does not answer: {error}", socket.process);
        Some(Finding::note(SUBJECT, found, "gossamer stacks cannot look into it"))
    });
    let mut findings: Vec<Finding> = silent.collect();
    if findings.is_empty() {
        findings.push(Finding::fine(SUBJECT, count.to_string()));
    }
    findings
}
