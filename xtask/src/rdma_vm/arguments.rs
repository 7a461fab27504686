//! The grammar of `rdma-vm`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Make the image, from the newest packages, and print its folder
    Prepare,
    Run(RunArguments),
    Test(TestArguments),
    Bench(BenchArguments),
    /// List the scenarios
    List,
}

/// Run a command in the machine
///
/// The exit status is that of the command; 124 if it did not end in time, 125 if no machine can be made.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A file to put into the machine, with the shared libraries that it needs: as /job/NAME, or elsewhere
    #[arg(long = "file", value_name = "FILE[:PATH]")]
    pub(crate) files: Vec<GuestFile>,
    /// A command for a second machine, which is joined to the first by a link
    #[arg(long, value_name = "COMMAND")]
    pub(crate) peer: Option<String>,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// A command for the machine's shell, run in /job
    #[arg(required = true, last = true)]
    pub(crate) command: Vec<String>,
}

/// Build and run the project's tests in the machine
///
/// The exit status is 0, or that of the first scenario that failed; 125 if no machine can be made.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Only these scenarios
    pub(crate) scenarios: Vec<String>,
    /// Build programs as `cargo test --workspace` does, to reuse what it has built
    #[arg(long)]
    pub(crate) workspace: bool,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
}

/// Measure Gossamer over RDMA and TCP beside perftest in the machine, and print tables
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Rounds over all contenders
    #[arg(long, default_value_t = 7)]
    pub(crate) rounds: u64,
    /// Milliseconds of one measurement
    #[arg(long, default_value_t = 1000)]
    pub(crate) millis: u64,
    /// A page whose generated part the tables replace
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MachineArguments {
    /// Seconds after which a command is ended
    #[arg(long, default_value_t = 150)]
    pub(crate) timeout: u64,
    /// Processors of a machine
    #[arg(long, default_value_t = 2)]
    pub(crate) processors: u32,
    /// MiB of memory of a machine
    #[arg(long, default_value_t = 1024)]
    pub(crate) memory: u32,
    /// What runs the machine's instructions
    #[arg(long, value_enum, default_value = "tcg")]
    pub(crate) accelerator: Accelerator,
    /// Print what the machine's kernel says, even if nothing fails
    #[arg(long)]
    pub(crate) kernel_log: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Accelerator {
    /// QEMU, which works everywhere
    Tcg,
    /// The processor, where /dev/kvm works
    Kvm,
}

/// A file for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestFile {
    pub(crate) source: PathBuf,
    /// Where it is there.
    pub(crate) target: Option<String>,
}

impl std::str::FromStr for GuestFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (source, target) = match text.split_once(':') {
            Some((_, target)) if !target.starts_with('/') => {
                return Err(format!("`{target}` is no absolute path"));
            }
            Some((source, target)) => (source, Some(target.to_owned())),
            None => (text, None),
        };
        Ok(Self { source: source.into(), target })
    }
}
