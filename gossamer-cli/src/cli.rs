//! The command line.

use crate::ending::printable;
use crate::exit::{self, Failure};
use crate::{config, daemon, files, key, local, query, remote};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Launch and watch the nodes of Gossamer applications; send files from machine to machine
#[derive(Debug, Parser)]
#[command(name = "gossamer", version, max_term_width = 100, after_long_help = HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Run),
    /// Start nodes on this machine for launchers that know the rack's key
    ///
    /// Runs in the foreground, until SIGTERM or SIGINT; then it ends the nodes that it has started. Whoever knows the key
    /// can run programs on this machine: as the user that the configuration names, or as the one who runs the daemon.
    Daemon {
        #[command(flatten)]
        config: Config,
    },
    /// List the applications that run on the rack
    Ps(Query),
    /// End an application
    ///
    /// Its nodes get SIGTERM, and after 5 s SIGKILL. Its launcher ends with status 143.
    Kill(Application),
    /// Print what the nodes of an application printed recently
    ///
    /// The daemons keep that of the applications that run, and for a while of those that have ended.
    Logs(Application),
    /// Show the machines of the rack: whether they can be reached, their versions, their load
    Status(Query),
    Send(files::arguments::Send),
    Recv(files::arguments::Recv),
    /// Make the key that all machines of a rack share
    Keygen {
        /// The file to write; it must not exist
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a script that completes the command line in a shell
    ///
    /// For bash: gossamer completions bash >/usr/share/bash-completion/completions/gossamer
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages
    Man {
        /// The directory for them; without one, the first page is printed
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
struct Config {
    /// The configuration of the rack
    #[arg(long, value_name = "FILE", default_value = config::PATH)]
    config: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Query {
    #[command(flatten)]
    config: Config,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Application {
    /// The application, as `gossamer ps` lists it
    id: String,
    #[command(flatten)]
    query: Query,
}

/// Run a program as an application of several nodes
///
/// Each node is a process of its own that runs the same program; node 0 runs its main function. Standard input goes to
/// node 0. What the nodes print is passed on line by line. As soon as one node fails, all others are ended, and one
/// report says which node it was and how it ended.
///
/// With --local, all nodes run on this machine, without any configuration. Without it, they are dealt out in turn to the
/// machines of the rack, whose daemons get the program from here if they do not have it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RUN_HELP)]
struct Run {
    /// Start so many nodes on this machine, without any daemon
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..=4096),
        conflicts_with_all = ["nodes", "hosts", "config"])]
    local: Option<u32>,
    /// Start so many nodes on the machines of the rack [default: one on each]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    nodes: Option<u32>,
    /// Use only these machines, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    hosts: Vec<String>,
    #[command(flatten)]
    config: Config,
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

const HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run -n 8 -- ./app input.txt           eight nodes on the machines of the rack
  gossamer status                                the machines
  gossamer ps                                    what runs on them
  gossamer recv                                  waits for files, and says how to send them

A rack needs the same key (`gossamer keygen /etc/gossamer/key`) and the same configuration
(/etc/gossamer/rack.toml) on every machine, and on each of them `gossamer daemon`.";

const RUN_HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run --local 1 --no-prefix -- ./app    one node, at the terminal
  gossamer run -- ./app                          one node on each machine of the rack
  gossamer run -n 8 --hosts a,b -- ./app         eight nodes, four on each of two machines
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
    let result = act(Arguments::parse().command);
    let status = result.unwrap_or_else(|failure| {
        // There is nobody else to tell if that fails.
        let _ = writeln!(std::io::stderr(), "gossamer: {}", printable(&failure.message));
        failure.status
    });
    // Threads that wait for input or output are left where they are.
    std::process::exit(status.into())
}

fn act(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(run) => block_on(launch(run)),
        Command::Daemon { config } => block_on(daemon::run(&config.config)),
        Command::Ps(Query { config, json }) => block_on(query::list(&config.config, json)),
        Command::Status(Query { config, json }) => block_on(query::status(&config.config, json)),
        Command::Kill(Application { id, query: Query { config, json } }) => {
            block_on(query::kill(&config.config, &id, json))
        }
        Command::Logs(Application { id, query: Query { config, json } }) => {
            block_on(query::logs(&config.config, &id, json))
        }
        Command::Send(send) => files::send::run(&send),
        Command::Recv(recv) => files::recv::run(&recv),
        Command::Keygen { file, json } => keygen(&file, json),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "gossamer", &mut script);
            print(&script)
        }
        Command::Man { directory } => manual(directory.as_deref()),
    }
}

async fn launch(run: Run) -> Result<u8, Failure> {
    let Run { local, nodes, hosts, config, threads, no_prefix, command } = run;
    let prefix = !no_prefix;
    match local {
        Some(nodes) => local::run(local::Run { nodes, threads, prefix, command }).await,
        None => {
            remote::run(remote::Run { config: config.config, nodes, hosts, threads, prefix, command }).await
        }
    }
}

fn print(text: &[u8]) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map(|()| 0).map_err(|error| Failure::new(exit::OUTPUT, format!("cannot write: {error}")))
}

fn manual(directory: Option<&Path>) -> Result<u8, Failure> {
    let written = match directory {
        Some(directory) => clap_mangen::generate_to(Arguments::command(), directory),
        None => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(Arguments::command()).render(&mut page);
            rendered.and_then(|()| print(&page).map(drop).map_err(std::io::Error::other))
        }
    };
    written.map(|()| 0).map_err(|error| Failure::new(exit::OUTPUT, format!("cannot write: {error}")))
}

fn keygen(file: &Path, json: bool) -> Result<u8, Failure> {
    key::generate(file)?;
    let text = match json {
        true => serde_json::json!({ "file": file }).to_string(),
        false => {
            format!("wrote {}; copy it to every machine of the rack, and to nobody else", file.display())
        }
    };
    print(format!("{text}\n").as_bytes())
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
