//! `rpc_bench`: throughput against latency of small requests, under rising load. `README.md` says what is measured.

mod client;
mod closed;
mod latency;
mod open;
mod options;
mod report;
mod sweep;

use clap::Parser;
use options::Options;
use std::io::ErrorKind;
use std::process::ExitCode;
use sweep::Failure;

/// Exit status when the command line or the environment is wrong; clap's own.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    match gossamer::try_run(options.config(), move || sweep::run(&options)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // The reader of the output has seen enough.
        Ok(Err(Failure::Output(error))) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Ok(Err(Failure::Output(error))) => {
            eprintln!("rpc_bench: standard output: {error}");
            ExitCode::FAILURE
        }
        Ok(Err(Failure::Options(error))) => {
            eprintln!("rpc_bench: {error}");
            WRONG_USAGE.into()
        }
        Err(error) => {
            eprintln!("rpc_bench: {error}");
            WRONG_USAGE.into()
        }
    }
}
