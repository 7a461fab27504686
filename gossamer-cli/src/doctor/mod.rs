//! What of this machine keeps programs from running, or from running fast, and the line that mends it.
//!
//! [`kernel`], [`limits`], [`processors`] and [`programs`] each look at a part; all but the clock, which is tried, and what programs and
//! devices say of themselves is in files of the kernel ([`kernel_files`]).

pub mod kernel;
pub mod kernel_files;
pub mod limits;
pub mod processors;
pub mod programs;
#[cfg(test)]
mod tests;

use crate::rack::finding::Finding;
use kernel_files::KernelFiles;

/// What there is to say of a machine but for its RDMA devices, which may take long to answer ([`programs::devices`]), and for programs,
/// which are their user's ([`programs::running`]).
#[must_use]
pub fn examine(machine: &KernelFiles) -> Vec<Finding> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut findings = kernel::examine(machine);
    findings.extend(limits::examine(machine, processors));
    findings.extend(processors::examine(machine, processors));
    findings
}
