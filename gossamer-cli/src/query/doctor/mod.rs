//! `gossamer doctor`: what keeps programs from running, or from running fast, on this machine or on all machines of a
//! rack, and the line that fixes it.
//!
//! [`rack`] makes the daemons examine their machines, and the connections between them; [`between`] finds what only
//! several machines can have. [`mod@merged`] joins equal findings.

pub mod between;
pub mod merged;
pub mod rack;

use crate::doctor::kernel_files::KernelFiles;
use crate::doctor::programs;
use crate::exit::{FAILED, Failure, UNABLE};
use crate::query::output::{print, print_json};
use crate::rack::config;
use crate::rack::finding::Severity;
use crate::rack::rdma::{own_variables, settings};
use crate::terminal::printable::printable;
use gossamer::rack::rdma::MachineReport;
use merged::{MachineFindings, MergedFinding, merged};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Find what keeps programs from running, or from running fast, on this machine or on a rack
///
/// Checks the kernel, the limits of this user and of the cgroup that the command is in, processors and clock, the
/// devices for RDMA, and whether programs can be inspected. Each finding gives the present state, what it costs, and
/// the line that fixes it.
///
/// Limits are those of the caller: run it as the user, and in the service or the job, in which the nodes will run.
///
/// On a rack each daemon examines its own machine, with the limits that the daemon has; then versions and clocks are
/// compared, and each daemon tries to reach each other machine, at a port such as nodes use.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArguments {
    /// All machines of the rack
    #[arg(long)]
    pub(crate) rack: bool,
    /// The configuration of the rack whose machines are examined [default: /etc/gossamer/rack.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Also show what is as it should be
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl DoctorArguments {
    /// The configuration of the rack, if one is to be examined.
    pub(crate) fn rack(&self) -> Option<&Path> {
        match &self.config {
            Some(config) => Some(config),
            None => self.rack.then_some(Path::new(config::PATH)),
        }
    }
}

const HELP: &str = "\
Examples:
  gossamer doctor                                what should be fixed on this machine
  gossamer doctor --all                          also what is fine
  gossamer doctor --rack                         on all machines of the rack, and between them
  systemd-run --pipe --wait -p User=me gossamer doctor
                                                 with the limits of a service

Exit status:
  0    nothing has to be fixed
  1    something costs speed, or a limit will be reached
  2    mistake on the command line or in a configuration file
  4    programs do not run, or a daemon does not answer";

/// `gossamer doctor` of this machine.
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn examine(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let mut findings = crate::doctor::examine(&KernelFiles::this());
    let report = settings(&own_variables()).map(|settings| MachineReport::of_this_machine(&settings));
    findings.push(programs::devices(report.map_err(|wrong| wrong.message)));
    findings.extend(programs::running());
    let findings = merged(vec![MachineFindings { machine: String::new(), findings }]);
    show(arguments, &findings, json!({ "version": env!("CARGO_PKG_VERSION") }))
}

/// Shows the findings, as text or as JSON; returns the exit status.
fn show(arguments: &DoctorArguments, findings: &[MergedFinding], mut head: Value) -> Result<u8, Failure> {
    let severities = findings.iter().map(|merged| merged.finding.severity);
    let worst = severities.clone().max().unwrap_or(Severity::Fine);
    if arguments.json {
        head["findings"] = findings.iter().map(MergedFinding::json).collect();
        print_json(&head)?;
    } else {
        let shown =
            findings.iter().filter(|merged| arguments.all || merged.finding.severity > Severity::Fine);
        let mut text: String = shown.map(MergedFinding::text).collect();
        let fine = severities.filter(|severity| *severity == Severity::Fine).count();
        if !arguments.all {
            text +=
                &format!("{fine} of {} things are as they should be (--all shows them)\n", findings.len());
        }
        let lines: Vec<String> = text.lines().map(|line| printable(line).to_string()).collect();
        print(format!("{}\n", lines.join("\n")).as_bytes())?;
    }
    Ok(match worst {
        Severity::Fine | Severity::Note => 0,
        Severity::Warning => FAILED,
        Severity::Problem => UNABLE,
    })
}
