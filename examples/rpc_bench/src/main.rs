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

fn main() -> ExitCode {
    let options = Options::parse();
    let as_json = options.json;
    match gossamer::try_run(options.config(), move || sweep::run(&options)) {
        Ok(Ok(report)) => {
            match report.print(&mut std::io::stdout().lock(), as_json) {
                // The reader of the output has seen enough.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    eprintln!("rpc_bench: standard output: {error}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Ok(Err(error)) => {
            eprintln!("rpc_bench: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("rpc_bench: {error}");
            ExitCode::from(2)
        }
    }
}
