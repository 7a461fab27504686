//! `graph500`: the Graph500 benchmark on vectors and frontiers that are spread over the workers of all nodes. `README.md` says how to run it.

mod agreement;
mod benchmark;
mod construct;
mod cost;
mod edges;
mod end;
mod files;
mod keys;
mod kronecker;
mod memory;
mod options;
#[cfg(test)]
mod oracle;
mod path;
mod progress;
mod random;
mod report;
mod row;
mod search;
mod statistics;
mod validate;

use clap::Parser;
use options::Options;
use std::io::{self, Write};
use std::process::ExitCode;

/// Exit status when the command line or the environment is wrong; clap's own.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = match gossamer::try_run(Options::config(), move || benchmark::run(&options)) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("graph500: {error}");
            return WRONG_USAGE.into();
        }
    };
    match report {
        Ok(report) => match io::stdout().write_all(report.to_string().as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("graph500: standard output: {error}");
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        },
        Err(failure) => {
            eprintln!("graph500: {failure}");
            ExitCode::FAILURE
        }
    }
}
