//! Contenders in C, as far as they are installed.

mod mpi;
mod ucx;

pub use mpi::mpi;
pub use ucx::{ucx_one_way, ucx_round_trips};

use std::process::Command;

/// Runs a program to its end, and returns what it printed, or what it complained of.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
