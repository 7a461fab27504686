//! Programs of the workspace that scenarios run in the machine, built by Cargo.

use crate::failure::{Context, Failure, Result};
use crate::rdma_vm::scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// The unit tests of the library of a package.
    LibraryTests(&'static str),
    /// Integration tests of a package.
    Tests(&'static str, &'static str),
    /// A binary of a package.
    Binary(&'static str, &'static str),
    /// A binary of a package, built with optimisation.
    FastBinary(&'static str, &'static str),
}

/// Where programs are once they are built.
pub(crate) type Programs = BTreeMap<Program, PathBuf>;

impl Program {
    /// The name of the program in the machine.
    pub(crate) fn name(self) -> String {
        match self {
            Self::LibraryTests(package) => format!("{package}-tests"),
            Self::Tests(_, name) => format!("{name}-tests"),
            Self::Binary(_, name) | Self::FastBinary(_, name) => name.to_owned(),
        }
    }

    /// Builds it, as tests are. `workspace`: with the features that it has if all of the workspace is built.
    ///
    /// # Errors
    /// It cannot be built.
    pub(crate) fn build(self, workspace: bool) -> Result<PathBuf> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let (package, name) = match self {
            Self::LibraryTests(package) => {
                cargo.args(["test", "--no-run", "--lib"]);
                (package, package)
            }
            Self::Tests(package, name) => {
                cargo.args(["test", "--no-run", "--test", name]);
                (package, name)
            }
            // `cargo build` chooses other features for what it depends on, and would build all of it anew.
            Self::Binary(package, name) if workspace => {
                cargo.args(["test", "--no-run"]);
                (package, name)
            }
            Self::Binary(package, name) => {
                cargo.args(["build", "--bin", name]);
                (package, name)
            }
            Self::FastBinary(package, name) => {
                cargo.args(["build", "--release", "--bin", name]);
                (package, name)
            }
        };
        if workspace {
            cargo.arg("--workspace")
        } else {
            cargo.args(["--package", package])
        };
        cargo.args(["--message-format", "json-render-diagnostics"]);
        let built = cargo.stderr(Stdio::inherit()).output().context("cargo")?;
        if !built.status.success() {
            return Err(Failure::new(format!("cargo cannot build {} (see above)", self.name())));
        }
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        let is_test = matches!(self, Self::LibraryTests(_) | Self::Tests(..));
        let executable = executables(&messages, is_test).find(|(target, _)| target == name);
        executable
            .map(|(_, path)| path)
            .ok_or_else(|| Failure::new(format!("cargo has built no {}", self.name())))
    }
}

/// Builds what scenarios need.
///
/// # Errors
/// It cannot be built.
pub(crate) fn build(scenarios: &[&Scenario], workspace: bool) -> Result<Programs> {
    let mut programs = Programs::new();
    for program in scenarios.iter().flat_map(|scenario| scenario.programs) {
        if !programs.contains_key(program) {
            programs.insert(*program, program.build(workspace)?);
        }
    }
    Ok(programs)
}

/// Targets with their executables, from the messages of Cargo: tests, or other programs.
pub(crate) fn executables(messages: &str, are_tests: bool) -> impl Iterator<Item = (String, PathBuf)> {
    messages.lines().filter_map(move |message| {
        let message: Value = serde_json::from_str(message).ok()?;
        let is_it = message.get("profile")?.get("test")?.as_bool()? == are_tests;
        let name = message.get("target")?.get("name")?.as_str()?.to_owned();
        let path = is_it.then(|| message.get("executable"))??.as_str()?;
        Some((name, path.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_found_among_the_messages_of_cargo_by_its_target() {
        let message = |test: bool, executable: &str| {
            format!(r#"{{"target":{{"name":"a"}},"profile":{{"test":{test}}},"executable":{executable}}}"#)
        };
        let messages = [
            message(true, "\"/t/a-1\""),
            message(false, "null"),
            "no message".to_owned(),
            message(false, "\"/t/a\""),
        ];
        let found = |are_tests| executables(&messages.join("\n"), are_tests).collect::<Vec<_>>();
        assert_eq!(found(true), [("a".to_owned(), "/t/a-1".into())]);
        assert_eq!(found(false), [("a".to_owned(), "/t/a".into())]);
    }
}
