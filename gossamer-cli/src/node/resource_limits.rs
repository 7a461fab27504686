//! Resource limits of processes.

use rustix::process::{Resource, Rlimit};
use std::io;

/// The limits that nodes get from the launcher, as a shell passes its own on.
const PASSED_ON: [Resource; 3] = [Resource::Nofile, Resource::Core, Resource::Stack];

/// Soft limits of a process: open files, core file, stack; nothing where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResourceLimits([Option<u64>; 3]);

impl ResourceLimits {
    /// The limits of this process.
    #[must_use]
    pub fn own() -> Self {
        Self(PASSED_ON.map(|resource| rustix::process::getrlimit(resource).current))
    }

    /// Sets them for this process, as far as its hard limits allow. This runs between fork and exec: it makes system calls only
    /// (X1, in `spawn`).
    ///
    /// # Errors
    /// Of the kernel.
    pub fn apply(self) -> io::Result<()> {
        for (resource, wanted) in PASSED_ON.into_iter().zip(self.0) {
            let maximum = rustix::process::getrlimit(resource).maximum;
            let current = match (wanted, maximum) {
                (Some(wanted), Some(maximum)) => Some(wanted.min(maximum)),
                (wanted, maximum) => wanted.or(maximum),
            };
            rustix::process::setrlimit(resource, Rlimit { current, maximum })?;
        }
        Ok(())
    }
}

/// Lets this process open as many files as it may: each node takes four.
pub fn raise_open_files() {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    // If it may not, the nodes for which no files are left report that.
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
