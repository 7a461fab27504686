//! The grammar of the command line, and its help.

use crate::files;
use crate::rack::config;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use gossamer::FabricChoice;
use std::ffi::OsString;
use std::path::PathBuf;

/// Launch and watch the nodes of Gossamer applications; send files from machine to machine
#[derive(Debug, Parser)]
#[command(name = "gossamer", version, max_term_width = 100, after_long_help = HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Run(RunArguments),
    /// Start nodes on this machine for launchers that know the rack's key
    ///
    /// Runs in the foreground, until SIGTERM or SIGINT; then it ends the nodes that it has started. Whoever knows the key
    /// can run programs on this machine: as the user that the configuration names, or as the one who runs the daemon.
    Daemon {
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// List the applications that run on the rack
    Ps(QueryArguments),
    /// End an application
    ///
    /// Its nodes get SIGTERM, and after 5 s SIGKILL. Its launcher ends with status 143.
    Kill(ApplicationArguments),
    /// Print what the nodes of an application printed recently
    ///
    /// The daemons keep that of the applications that run, and for a while of those that have ended.
    Logs(ApplicationArguments),
    /// Show the machines of the rack: whether they can be reached, their versions, their load, their RDMA
    ///
    /// Below the machines it says what would join nodes of each two of them (`auto` of `gossamer run --fabric`), by which ports, or
    /// why not by RDMA. Variables GOSSAMER_VERBS... count as they do for `gossamer run`.
    Status(QueryArguments),
    CheckRdma(CheckRdmaArguments),
    Send(files::arguments::SendArguments),
    Recv(files::arguments::RecvArguments),
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
pub(crate) struct ConfigArguments {
    /// The configuration of the rack
    #[arg(long, value_name = "FILE", default_value = config::PATH)]
    pub(crate) config: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplicationArguments {
    /// The application, as `gossamer ps` lists it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
}

/// Say whether RDMA can be used on this machine, and to another one
///
/// Without --with it shows the devices of this machine, their ports and addresses, which of them nodes use, and the first thing that is
/// wrong. With it, it has the daemon of another machine make a queue pair, connects to it, and measures: the time that a small
/// write and its answer take, and the rate of large writes in both directions. That takes about a second for each pair of ports.
///
/// Variables GOSSAMER_VERBS... count at both sides, as they do for `gossamer run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = CHECK_RDMA_HELP)]
pub(crate) struct CheckRdmaArguments {
    /// Try RDMA to this machine, too, by its name in the configuration
    #[arg(long, value_name = "HOST")]
    pub(crate) with: Option<String>,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
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
pub(crate) struct RunArguments {
    /// Start so many nodes on this machine, without any daemon
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..=4096),
        conflicts_with_all = ["nodes", "hosts", "config"])]
    pub(crate) local: Option<u32>,
    /// Start so many nodes on the machines of the rack [default: one on each]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) nodes: Option<u32>,
    /// Use only these machines, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    #[command(flatten)]
    pub(crate) config: ConfigArguments,
    /// How many workers each node has [default: one per processor]
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) threads: Option<u32>,
    /// What joins the nodes [default: GOSSAMER_FABRIC, or auto]
    ///
    /// `auto` takes for each two nodes the best there is: shared memory inside a machine, else RDMA, else TCP. `shm` (shared
    /// memory), `tcp` and `verbs` (RDMA, inside a machine, too) use nothing else, and the nodes do not start where that cannot be
    /// had. It is told to the nodes as GOSSAMER_FABRIC.
    #[arg(long, value_parser = fabric_parser())]
    pub(crate) fabric: Option<FabricChoice>,
    /// Pass on output as it is, without `[node N]` before each line
    #[arg(long)]
    pub(crate) no_prefix: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// The fabrics that the library knows.
fn fabric_parser() -> impl TypedValueParser<Value = FabricChoice> {
    PossibleValuesParser::new(FabricChoice::names()).try_map(|name| name.parse::<FabricChoice>())
}

const HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run -n 8 -- ./app input.txt           eight nodes on the machines of the rack
  gossamer status                                the machines, and what joins them
  gossamer ps                                    what runs on them
  gossamer check-rdma --with b                   tries RDMA to the machine b
  gossamer recv                                  waits for files, and says how to send them

A rack needs the same key (`gossamer keygen /etc/gossamer/key`) and the same configuration
(/etc/gossamer/rack.toml) on every machine, and on each of them `gossamer daemon`.";

const CHECK_RDMA_HELP: &str = "\
Examples:
  gossamer check-rdma                            the devices of this machine
  gossamer check-rdma --with b                   a queue pair to the machine b of rack.toml
  GOSSAMER_VERBS=mlx5_1:1 gossamer check-rdma --with b
                                                 by this port only

Exit status:
  0    RDMA can be used
  1    it cannot: the last lines say what is wrong, where, and what to do
  2    mistake on the command line, in a variable or in the configuration
  3    the other machine's daemon could not be reached, or is busy with another check";

const RUN_HELP: &str = "\
Examples:
  gossamer run --local 4 -- ./app input.txt      four nodes on this machine
  gossamer run --local 1 --no-prefix -- ./app    one node, at the terminal
  gossamer run -- ./app                          one node on each machine of the rack
  gossamer run -n 8 --hosts a,b -- ./app         eight nodes, four on each of two machines
  gossamer run --fabric verbs -- ./app           by RDMA, or not at all; see gossamer check-rdma
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
