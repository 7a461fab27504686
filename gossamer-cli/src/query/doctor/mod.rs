//! `gossamer doctor`: what of this machine keeps programs from running, or from running fast, and the line that mends it.
//!
//! [`kernel`], [`limits`], [`processors`] and [`programs`] each look at a part; all but the clock, which is tried, and what programs say of
//! themselves is in files of the kernel ([`kernel_files`]). [`finding`] is what they give.

pub mod finding;
pub mod kernel;
pub mod kernel_files;
pub mod limits;
pub mod processors;
pub mod programs;
#[cfg(test)]
mod tests;

use crate::exit::{FAILED, Failure, UNABLE};
use crate::query::output::{print, print_json};
use crate::terminal::printable::printable;
use finding::{Finding, Severity};
use kernel_files::KernelFiles;
use serde_json::{Value, json};

/// Say what of this machine keeps programs from running, or from running fast
///
/// Looks at the kernel, at limits of this user and of the cgroup that the command is in, at processors and clock, at the devices for RDMA,
/// and whether programs can be looked at. Each finding says how it is, what that costs, and the line that mends it.
///
/// Limits are those of whoever calls it: run it as the user, and in the service or the job, whose nodes are meant.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArguments {
    /// Also show what is as it should be
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Examples:
  gossamer doctor                                what should be mended on this machine
  gossamer doctor --all                          also what is fine
  systemd-run --pipe --wait -p User=me gossamer doctor
                                                 with the limits of a service

Exit status:
  0    nothing has to be mended
  1    something costs speed, or a limit will be met
  4    programs do not run";

/// `gossamer doctor`
///
/// # Errors
/// If the output cannot be written.
pub(crate) fn examine(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let findings = findings(&KernelFiles::this());
    let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Fine);
    if arguments.json {
        let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
        print_json(&json!({ "version": env!("CARGO_PKG_VERSION"), "findings": findings }))?;
    } else {
        let shown = findings.iter().filter(|finding| arguments.all || finding.severity > Severity::Fine);
        let mut text: String = shown.map(Finding::text).collect();
        let fine = findings.iter().filter(|finding| finding.severity == Severity::Fine).count();
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

fn findings(machine: &KernelFiles) -> Vec<Finding> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut findings = kernel::examine(machine);
    findings.extend(limits::examine(machine, processors));
    findings.extend(processors::examine(machine, processors));
    findings.extend(programs::examine());
    findings
}
