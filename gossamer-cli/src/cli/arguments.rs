//! The grammar of the command line, and what each part of it means.

use crate::cli::help::{
    APPLICATION_HELP, CHECK_RDMA_HELP, COMPLETIONS_HELP, DAEMON_HELP, HELP, KEYGEN_HELP, MAN_HELP, PS_HELP,
    RUN_HELP, STATUS_HELP,
};
use crate::daemon::log::LogFormat;
use crate::files;
use crate::launcher::mapping::Mapping;
use crate::launcher::options::RunOptions;
use crate::launcher::output::{FilePattern, OutputOptions};
use crate::launcher::timeout::TimeLimit;
use crate::node::allowance::Allowance;
use crate::program::settings::NodeSettings;
use crate::query::doctor::DoctorArguments;
use crate::query::stacks::StacksArguments;
use crate::query::top::TopArguments;
use crate::rack::config;
use crate::values;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use gossamer::{FabricChoice, Protection};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

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
    Daemon(DaemonArguments),
    Ps(PsArguments),
    /// End an application
    ///
    /// Its nodes get SIGTERM, and after 5 s SIGKILL. Its launcher ends with status 143.
    #[command(after_long_help = APPLICATION_HELP)]
    Kill(ApplicationArguments),
    /// Print what the nodes of an application printed recently
    ///
    /// The daemons keep the output of running applications, and for a while that of ended ones.
    #[command(after_long_help = APPLICATION_HELP)]
    Logs(ApplicationArguments),
    Status(StatusArguments),
    Stacks(StacksArguments),
    Top(TopArguments),
    Doctor(DoctorArguments),
    CheckRdma(CheckRdmaArguments),
    Send(files::arguments::SendArguments),
    Recv(files::arguments::RecvArguments),
    /// Make the key that all machines of a rack share
    #[command(after_long_help = KEYGEN_HELP)]
    Keygen {
        /// The file to write, which must not exist yet
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a script that completes the command line in a shell
    #[command(after_long_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages
    ///
    /// There is a page for `gossamer`, and one for each of its commands, such as gossamer-run(1).
    #[command(after_long_help = MAN_HELP)]
    Man {
        /// The directory for them, which must exist; without one, the page gossamer(1) is printed
        #[arg(value_hint = ValueHint::DirPath)]
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

/// Start nodes on this machine for launchers that know the rack's key
///
/// Runs in the foreground, until SIGTERM or SIGINT; then it ends the nodes that it has started. Anybody who knows the
/// key can run programs on this machine: as the user that the configuration names, or as the user who runs the
/// daemon.
///
/// For `gossamer run --mem` and `--cpus` it makes cgroups (version 2) below its own, which must have the controllers
/// `memory` and `cpu` and contain no other processes: use a systemd service with Delegate=yes, or `systemd-run
/// --scope -p Delegate=yes`.
///
/// If systemd has started it, it reports when it is ready (Type=notify), what it does, and that it is alive
/// (WatchdogSec=). `gossamer status --health` asks whether it is alive.
#[derive(Debug, clap::Args)]
#[command(after_long_help = DAEMON_HELP)]
pub(crate) struct DaemonArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,
    /// How the log is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Auto)]
    pub(crate) log: LogFormat,
    /// Serve the metrics of its nodes, for Prometheus, at http://ADDRESS/metrics
    ///
    /// ADDRESS is a port on 127.0.0.1, such as 9400, or address:port; anybody who can reach it can read the metrics
    /// of all applications here. GOSSAMER_METRICS of launchers is then ignored.
    #[arg(long, value_name = "ADDRESS", value_parser = values::address)]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Show the machines of the rack: whether they can be reached, their versions, their load, their RDMA
///
/// Below the machines it lists the fabric between nodes of each two of them (`auto` of `gossamer run --fabric`), with
/// its ports, or why it is not RDMA. Variables GOSSAMER_VERBS... apply as for `gossamer run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = STATUS_HELP)]
pub(crate) struct StatusArguments {
    /// Only ask whether the daemon of this machine is alive, for probes: status 0 if it is, 3 if not
    ///
    /// It is asked at the address in the configuration. An answer means that it serves its connections, knows the
    /// key, and would accept launches.
    #[arg(long)]
    pub(crate) health: bool,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
}

/// List the applications that run on the rack
///
/// With --all also those that have ended, with a line for each node: how it ended, when, after what time, who ended
/// it, and its last output. A daemon remembers the last 256 applications (with 4096 nodes together) for a day, and
/// forgets them when it ends.
#[derive(Debug, clap::Args)]
#[command(after_long_help = PS_HELP)]
pub(crate) struct PsArguments {
    /// List the nodes of all applications, including ended ones
    #[arg(short, long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplicationArguments {
    /// The application, as `gossamer ps` lists it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
}

/// Check whether RDMA can be used on this machine, and to another one
///
/// Without --with it shows the devices of this machine, their ports and addresses, which of them nodes use, and the
/// first problem. With --with, it lets the daemon of another machine make a queue pair, connects to it, and measures
/// the time of a small write and its answer, and the rate of large writes in both directions. That takes about a
/// second for each pair of ports.
///
/// Variables GOSSAMER_VERBS... apply to both sides, as for `gossamer run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = CHECK_RDMA_HELP)]
pub(crate) struct CheckRdmaArguments {
    /// Also try RDMA to this machine, by its name in the configuration
    #[arg(long, value_name = "HOST")]
    pub(crate) with: Option<String>,
    #[command(flatten)]
    pub(crate) query: QueryArguments,
}

/// Run a program as an application of several nodes
///
/// Each node is a separate process that runs the same program; node 0 runs its main function. Standard input goes to
/// node 0. What the nodes print is passed on line by line. As soon as one node fails, all others are ended, and one
/// report names that node and says how it ended.
///
/// With --local, all nodes run on this machine, without any configuration. Without it, they are mapped to the
/// machines of the rack (in turn by default), whose daemons get the program from here if they do not have it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunArguments {
    /// Start this many nodes on this machine, without any daemon
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..=4096),
        conflicts_with_all = ["nodes", "hosts", "config", "per_machine", "map"])]
    pub(crate) local: Option<u32>,
    /// Start this many nodes on the machines of the rack [default: one on each, or as many as the mapping has room
    /// for]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) nodes: Option<u32>,
    /// Use only these machines, in this order: a,b
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) hosts: Vec<String>,
    /// Start this many nodes on each machine, one machine after the other
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..=4096), conflicts_with = "map")]
    pub(crate) per_machine: Option<u32>,
    /// Which machine each node is on [default: turns]
    ///
    /// `turns` assigns nodes to the machines in turn. `slots` fills the slots of one machine (`slots` in its
    /// [[machine]]) before those of the next. A list has the machine of each node: `a,a,b`, or `a:2,b`.
    #[arg(long, value_name = "turns|slots|LIST")]
    pub(crate) map: Option<Mapping>,
    #[command(flatten)]
    pub(crate) config: ConfigArguments,
    /// How many workers each node has [default: one per processor]
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,
    /// Limit the memory of each node, such as 512M or 4G (powers of 1024)
    ///
    /// The kernel kills all processes of a node that needs more. This needs a cgroup of version 2, see `gossamer
    /// daemon --help`.
    #[arg(long, value_name = "SIZE", value_parser = values::memory)]
    pub(crate) mem: Option<u64>,
    /// Limit the processors of each node, such as 2 or 0.5
    ///
    /// The limit is one of processor time, on any processors. It also sets the number of workers, unless --threads or
    /// GOSSAMER_THREADS does. This needs a cgroup of version 2, see `gossamer daemon --help`.
    #[arg(long, value_name = "N", value_parser = values::millicpus)]
    pub(crate) cpus: Option<u32>,
    /// The fabric between nodes [default: GOSSAMER_FABRIC, or auto]
    ///
    /// `auto` takes the best fabric for each two nodes: shared memory within a machine, otherwise RDMA, otherwise
    /// TCP. `shm` (shared memory), `tcp` and `verbs` (RDMA, also within a machine) allow nothing else, and the nodes
    /// do not start if that is not available. Nodes get it as GOSSAMER_FABRIC.
    #[arg(long, value_parser = fabric_parser())]
    pub(crate) fabric: Option<FabricChoice>,
    /// How to protect what nodes of different machines send each other [default: GOSSAMER_PROTECTION, or checked]
    ///
    /// `checked` detects changes by a broken network; `authenticated` also changes by somebody on the way;
    /// `encrypted` also keeps the data secret. The latter two go over TCP, not by RDMA. Nodes get it as
    /// GOSSAMER_PROTECTION.
    #[arg(long, value_parser = protection_parser())]
    pub(crate) protection: Option<Protection>,
    /// End the nodes after this time, such as 90 (seconds), 5m or "1h 30m", with status 124
    ///
    /// The time begins when all machines are ready. The nodes get SIGTERM, and after 5 s SIGKILL.
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Report what each node is doing when its time is up
    ///
    /// For each of its processes and threads this gives the name (workers are `gossamer-N`), the state, the function
    /// of the kernel in which it waits, and how much of a processor it uses.
    #[arg(long, requires = "timeout")]
    pub(crate) report_on_timeout: bool,
    /// Serve the metrics of the nodes, for Prometheus, at http://ADDRESS/metrics
    ///
    /// ADDRESS is a port on 127.0.0.1, such as 9400, or address:port; anybody who can reach it can read the metrics.
    /// Nodes that have ended are no longer included. Without this option, the variable GOSSAMER_METRICS makes each
    /// node serve its own metrics, node n at the port plus n.
    #[arg(long, value_name = "ADDRESS", value_parser = values::address, requires = "local")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Write the latest events of all workers, on one clock, to this file when the nodes end: for ui.perfetto.dev
    ///
    /// It has one in 256 batches of requests (or one in GOSSAMER_TRACE_EVERY), with arrows from the sender to the
    /// server and back. Node 0 writes it, on its machine; the name is relative to the directory where the launcher
    /// runs. Nodes get it as GOSSAMER_TRACE.
    #[arg(long, value_name = "FILE", value_parser = values::absolute, value_hint = ValueHint::AnyPath)]
    pub(crate) trace: Option<PathBuf>,
    /// Write the nodes' output to files: %n is the node, %h its machine, %a the application, %s `out` or `err`
    ///
    /// Both outputs of a node go to the file of that name, or to two with %s. Names are relative to the directory where the
    /// launcher runs. Existing files are emptied first; missing directories are created. Nodes with the same file
    /// share it line by line, each line marked. %% is a percent sign.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) output: Option<FilePattern>,
    /// Put the time before each line, in UTC, as the launcher got it
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Pass on output as it is, without `[node N]` before each line
    #[arg(long)]
    pub(crate) no_prefix: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

impl RunArguments {
    /// Which machine each node is on.
    pub(crate) fn mapping(&self) -> Mapping {
        let per_machine = self.per_machine.and_then(|nodes| usize::try_from(nodes).ok());
        per_machine.map_or_else(|| self.map.clone().unwrap_or_default(), Mapping::PerMachine)
    }

    /// How many workers each node has, if that is given.
    fn workers(&self) -> Option<u32> {
        let is_said = std::env::var_os("GOSSAMER_THREADS").is_some_and(|value| !value.is_empty());
        let cpus = self.cpus.filter(|_| !is_said).map(|millicpus| millicpus.div_ceil(1000));
        self.threads.or(cpus)
    }

    /// What concerns nodes wherever they are.
    pub(crate) fn options(&self) -> RunOptions {
        let reports = self.report_on_timeout;
        RunOptions {
            settings: NodeSettings {
                threads: self.workers(),
                fabric: self.fabric,
                protection: self.protection,
                trace: self.trace.clone(),
            },
            allowance: Allowance { memory: self.mem, millicpus: self.cpus },
            output: OutputOptions {
                prefix: !self.no_prefix,
                timestamps: self.timestamps,
                files: self.output.clone(),
            },
            time_limit: self.timeout.map(|duration| TimeLimit { duration, reports }),
            command: self.command.clone(),
        }
    }
}

/// The fabrics that the library knows.
fn fabric_parser() -> impl TypedValueParser<Value = FabricChoice> {
    PossibleValuesParser::new(FabricChoice::names()).try_map(|name| name.parse::<FabricChoice>())
}

/// How the library can protect connections.
fn protection_parser() -> impl TypedValueParser<Value = Protection> {
    PossibleValuesParser::new(Protection::names()).try_map(|name| name.parse::<Protection>())
}
