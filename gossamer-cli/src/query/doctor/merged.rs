//! Findings of several machines: equal ones become one.

use crate::rack::finding::Finding;
use serde_json::{Value, json};

/// This many machines are named; if there are more, only their number is given.
const NAMED: usize = 8;

/// What was found on one machine, which has no name if no other machine is examined.
#[derive(Clone, Debug)]
pub struct MachineFindings {
    /// Its name.
    pub machine: String,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// A finding that several machines share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedFinding {
    /// What it is.
    pub finding: Finding,
    /// Where, in the order of the configuration.
    pub machines: Vec<String>,
    /// How many there are in all.
    pub of: usize,
}

/// Merges equal findings, in the order in which they come.
#[must_use]
pub fn merged(all: Vec<MachineFindings>) -> Vec<MergedFinding> {
    let of = all.len();
    let mut merged: Vec<MergedFinding> = Vec::new();
    for MachineFindings { machine, findings } in all {
        for finding in findings {
            match merged.iter_mut().find(|one| one.finding == finding) {
                Some(one) => one.machines.push(machine.clone()),
                None => merged.push(MergedFinding { finding, machines: vec![machine.clone()], of }),
            }
        }
    }
    // Findings about one subject stand together.
    let subjects: Vec<_> = merged.iter().map(|one| one.finding.subject.clone()).collect();
    merged.sort_by_key(|one| subjects.iter().position(|subject| *subject == one.finding.subject));
    merged
}

impl MergedFinding {
    /// As lines of text.
    #[must_use]
    pub fn text(&self) -> String {
        self.finding.text(&self.place())
    }

    fn place(&self) -> String {
        let Self { machines, of, .. } = self;
        match machines.len() {
            1 if *of == 1 => String::new(),
            0 => String::new(),
            count if count == *of => format!("  (on all {of} machines)"),
            count if count > NAMED => {
                format!("  (on {} and {} more)", machines[..NAMED].join(", "), count - NAMED)
            }
            _ => format!("  (on {})", machines.join(", ")),
        }
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = self.finding.json();
        if self.machines != [""] {
            value["machines"] = json!(self.machines);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_told_once_and_says_where() {
        let of = |machine: &str, files: &str| MachineFindings {
            machine: machine.into(),
            findings: vec![
                Finding::warning("open files", files, "cost", "mend"),
                Finding::fine("kernel", "6.1"),
            ],
        };
        let all = merged(vec![of("a", "256"), of("b", "1024"), of("c", "256")]);
        let text: Vec<String> = all.iter().map(MergedFinding::text).collect();
        let more = "         cost\n         mend: mend\n";
        assert_eq!(text[0], format!("WARNING  open files: 256  (on a, c)\n{more}"));
        assert_eq!(text[1], format!("WARNING  open files: 1024  (on b)\n{more}"));
        assert_eq!(text[2], "ok       kernel: 6.1  (on all 3 machines)\n");
        assert_eq!(all[0].json()["machines"], json!(["a", "c"]));
        let many: Vec<_> =
            (0..20).map(|number| of(&format!("m{number}"), if number < 12 { "1" } else { "2" })).collect();
        assert!(merged(many)[0].text().contains("(on m0, m1, m2, m3, m4, m5, m6, m7 and 4 more)"));
        assert_eq!(merged(vec![of("", "1")])[1].text(), "ok       kernel: 6.1\n");
    }
}
