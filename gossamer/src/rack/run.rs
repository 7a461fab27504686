//! What `#[gossamer::main]` does.

use crate::runtime::{CANNOT_START, try_run};
use crate::worker::config::Config;
use std::process;

/// Runs a program's `main` as the environment says: alone, or as one of several nodes.
#[doc(hidden)]
#[track_caller]
pub fn main<R: Send + 'static>(threads: Option<usize>, f: impl FnOnce() -> R + Send + 'static) -> R {
    let config = threads.into_iter().fold(Config::default(), Config::threads);
    try_run(config, f).unwrap_or_else(|error| {
        eprintln!("gossamer: {error}");
        process::exit(CANNOT_START)
    })
}
