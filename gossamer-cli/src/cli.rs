//! The command line.

use crate::exit::{self, Failure};
use crate::local;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::future::Future;
use std::io::Write;

/// Launch and watch the nodes of Gossamer applications.
#[derive(Debug, Parser)]
#[command(name = "gossamer", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Run),
}

/// Run a program as an application of several nodes
///
/// Each node is a process of its own that runs the same program; node 0 runs its main function. Standard input goes to
/// node 0. What the nodes print is passed on line by line. As soon as one node fails, all others are ended, and one
/// report says which node it was and how it ended.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RUN_HELP)]
struct Run {
    /// Start so many nodes on this machine, without any daemon
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..=4096))]
    local: u32,
    /// How many workers each node has [default: one per processor]
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u32).range(1..=65536))]
    threads: Option<u32>,
    /// Pass on output as it is, without `[node N]` before each line
    #[arg(long)]
    no_prefix: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

const RUN_HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run --local 1 --no-prefix -- ./app    one node, at the terminal
  ./produce | gossamer run --local 2 -- ./app | less

Ctrl-C is passed on to all nodes, which then have 5 s to end; a second Ctrl-C kills them.

Exit status:
  that of node 0 if all goes well, or of the first node that fails; 128 + N if that was killed by signal N.
  1    a node ended with status 0, but before node 0
  2    mistake on the command line or in a configuration file
  3    a machine could not be reached, or could not start its nodes
  74   the output could not be written
  75   a machine was lost, or a node lost its peer and nobody knows why
  126  the program cannot be executed
  127  there is no such program
  130  Ctrl-C;  143  SIGTERM;  141  whoever read standard output has closed it";

/// Does what the command line says, and ends the process.
pub fn main() -> ! {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Run(run) => block_on(local::run(local::Run {
            nodes: run.local,
            threads: run.threads,
            prefix: !run.no_prefix,
            command: run.command,
        })),
    };
    let status = result.unwrap_or_else(|failure| {
        // There is nobody else to tell if that fails.
        let _ = writeln!(std::io::stderr(), "gossamer: {failure}");
        failure.status
    });
    // Threads that wait for input or output are left where they are.
    std::process::exit(status.into())
}

fn block_on(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(exit::UNREACHABLE, format!("cannot start: {error}")))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}
