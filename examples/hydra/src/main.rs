//! `hydra`, a key-value store that speaks redis's protocol: keys are spread over the workers of all nodes, and each
//! client is served by the worker that has accepted it. `README.md` says what it can do.

mod clients;
mod commands;
mod connection;
mod open_files;
mod options;
mod protocol;
mod report;
mod server;
mod settings;
mod snapshot;
mod snapshot_file;
mod store;

use clap::Parser;
use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    let trustees = options.trustees;
    let (address, settings, config) = options.into_parts();
    match gossamer::run(config, move || server::run(address, settings, trustees)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::warn(error);
            ExitCode::FAILURE
        }
    }
}
