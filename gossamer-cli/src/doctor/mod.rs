//! What keeps programs from running, or from running fast, on this machine, and the line that fixes it.
//!
//! [`kernel`], [`limits`], [`processors`] and [`programs`] each examine a part. Except for the clock, which is timed,
//! and what programs and devices say about themselves, everything is in files of the kernel ([`kernel_files`]).

pub mod kernel;
pub mod kernel_files;
pub mod limits;
pub mod processors;
pub mod programs;
#[cfg(test)]
mod tests;

use crate::rack::finding::Finding;
use kernel_files::KernelFiles;

/// All findings about a machine, except for those about its RDMA devices, which may take long to answer
/// ([`programs::devices`]), and about programs, which belong to their user ([`programs::running`]).
#[must_use]
pub fn examine(machine: &KernelFiles) -> Vec<Finding> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut findings = kernel::examine(machine);
    findings.extend(limits::examine(machine, processors));
    findings.extend(processors::examine(machine, processors));
    findings
}
