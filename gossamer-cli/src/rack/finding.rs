//! What an examination has found.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// It costs speed, or a limit will be reached.
    Warning,
    /// Programs do not run.
    Problem,
}

/// One thing that was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was examined.
    pub subject: Cow<'static, str>,
    /// The state that it is in.
    pub found: String,
    /// What that costs, if anything.
    pub cost: String,
    /// The line that fixes it, if one does.
    pub mend: String,
}

impl Finding {
    /// It is as it should be.
    pub fn fine(subject: &'static str, found: impl Into<String>) -> Self {
        Self {
            severity: Severity::Fine,
            subject: subject.into(),
            found: found.into(),
            cost: String::new(),
            mend: String::new(),
        }
    }

    /// It is worth knowing.
    pub fn note(subject: &'static str, found: impl Into<String>, cost: impl Into<String>) -> Self {
        Self { severity: Severity::Note, cost: cost.into(), ..Self::fine(subject, found) }
    }

    /// It costs something, and something can be done.
    pub fn warning(
        subject: &'static str,
        found: impl Into<String>,
        cost: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, mend: mend.into(), ..Self::note(subject, found, cost) }
    }

    /// Programs do not run because of it.
    pub fn problem(
        subject: &'static str,
        found: impl Into<String>,
        cost: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Problem, ..Self::warning(subject, found, cost, mend) }
    }

    /// As lines of text; `place` says where it was found, unless that goes without saying.
    #[must_use]
    pub fn text(&self, place: &str) -> String {
        let mark = match self.severity {
            Severity::Fine => "ok     ",
            Severity::Note => "note   ",
            Severity::Warning => "WARNING",
            Severity::Problem => "PROBLEM",
        };
        let mut text = format!("{mark}  {}: {}{place}\n", self.subject, self.found);
        for (before, line) in [("", &self.cost), ("mend: ", &self.mend)] {
            if !line.is_empty() {
                text += &format!("         {before}{line}\n");
            }
        }
        text
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let severity = match self.severity {
            Severity::Fine => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Problem => "problem",
        };
        json!({
            "severity": severity, "subject": self.subject, "found": self.found, "cost": self.cost, "mend": self.mend,
        })
    }
}
