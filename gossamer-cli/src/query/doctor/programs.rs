//! RDMA, and the programs that run: whether they can be looked at, and are of this command's version.

use crate::query::doctor::finding::Finding;
use crate::query::rdma;
use crate::rack::rdma::{own_variables, settings};
use gossamer::inspect::{ask, inspection_sockets};
use gossamer::rack::rdma::MachineReport;

/// What there is to say of devices and programs of this machine.
#[must_use]
pub fn examine() -> Vec<Finding> {
    let mut findings = vec![devices()];
    findings.extend(running());
    findings
}

fn devices() -> Finding {
    const SUBJECT: &str = "RDMA";
    let settings = match settings(&own_variables()) {
        Ok(settings) => settings,
        Err(wrong) => {
            return Finding::problem(
                SUBJECT,
                wrong.message,
                "nodes do not start with it",
                "unset the variable",
            );
        }
    };
    let tcp = "nodes of other machines are reached over TCP";
    let report = MachineReport::of_this_machine(&settings).rdma;
    match report.trouble() {
        None => Finding::fine(SUBJECT, format!("by {}", report.ports().join(" and "))),
        Some(trouble) => {
            let text = rdma::trouble_text("on this machine", &trouble);
            let (found, mend) = text.split_once('\n').unwrap_or((&text, ""));
            let mend = mend.trim_start_matches("What to do: ").to_owned();
            Finding { mend, ..Finding::note(SUBJECT, found, format!("{tcp}; gossamer check-rdma says more")) }
        }
    }
}

fn running() -> Vec<Finding> {
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
