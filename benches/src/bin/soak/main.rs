//! `soak`: a rack under mixed work for as long as is asked for, and what its memory does meanwhile. See `--help`.

mod memory;
mod operations;
mod options;
mod rack;

use options::Options;
use std::process::ExitCode;

const USAGE: &str = "\
usage: soak [options]

Starts a rack of processes on this machine, makes its fibers send requests of all kinds (values up to 4 MiB, callbacks, spawns, latches,
trusts that come and go, panics, streams, collectives), checks every answer, and prints what memory all nodes have together, as a
Markdown table: a row for each step of time, and a last one after the allocator was asked to return what it holds.

  --minutes N   how long (default 60)
  --rows N      rows of the table (default 20)
  --rate N      operations each second, of all fibers together (default 250)
  --nodes N     processes (default 4)
  --threads N   workers of each (default 2)
  --fibers N    fibers of each worker (default 4)
  --over NAME   shm or tcp (default shm)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let done = Options::parse(&arguments).and_then(|options| match rack::is_node() {
        true => operations::run(options),
        false => rack::run(&options, &arguments),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::from(2)
        }
    }
}
