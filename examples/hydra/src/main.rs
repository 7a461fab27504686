//! `hydra`, a key-value store that speaks redis's protocol: keys are spread over the workers of all nodes, and each
//! client is served by the worker that has accepted it. `README.md` says what it can do.

mod clients;
mod commands;
mod connection;
mod ending;
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

/// Exit status when the command line or the environment is wrong; clap's own.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let trustees = options.trustees;
    let (address, settings, config) = options.into_parts();
    match gossamer::try_run(config, move || server::run(address, settings, trustees)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            report::warn(error);
            ExitCode::FAILURE
        }
        Err(error) => {
            report::warn(error);
            WRONG_USAGE.into()
        }
    }
}
