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
}

/// Where programs are, once they are built.
pub(crate) type Programs = BTreeMap<Program, PathBuf>;

impl Program {
    /// What it is called in the machine.
    pub(crate) fn name(self) -> String {
        match self {
            Self::LibraryTests(package) => format!("{package}-tests"),
        }
    }

    /// Builds it, for tests. `workspace`: with the features that it has if all of the workspace is built.
    fn build(self, workspace: bool) -> Result<PathBuf> {
        let Self::LibraryTests(package) = self;
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--no-run", "--lib", "--message-format", "json-render-diagnostics"]);
        if workspace {
            cargo.arg("--workspace")
        } else {
            cargo.args(["--package", package])
        };
        let built = cargo.stderr(Stdio::inherit()).output().context("cargo")?;
        if !built.status.success() {
            return Err(Failure::new(format!("cargo cannot build the tests of {package} (see above)")));
        }
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        let executable = messages.lines().find_map(|line| executable(line, package));
        executable.ok_or_else(|| Failure::new(format!("cargo has built no tests of {package}")))
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

/// The tests of a library, if a message of Cargo is about them.
fn executable(message: &str, library: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let (target, profile) = (message.get("target")?, message.get("profile")?);
    let is_library = target.get("name")?.as_str()? == library && profile.get("test")?.as_bool()?;
    let path = is_library.then(|| message.get("executable"))??.as_str()?;
    Some(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_library_are_found_among_the_messages_of_cargo() {
        let message = |name: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        assert_eq!(executable(&message("a", true, "\"/t/a-1\""), "a"), Some("/t/a-1".into()));
        for other in [message("b", true, "\"/t/b\""), message("a", false, "null"), "no message".to_owned()] {
            assert_eq!(executable(&other, "a"), None);
        }
    }
}
