//! Why a node could not be started, for the user.

use crate::exit::{self, Failure};
use crate::node::invocation::Invocation;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The machine lacks what a node needs.
pub fn lacking(node: u32, what: impl Display) -> Failure {
    Failure::new(exit::UNREACHABLE, format!("cannot start node {node}: {what}"))
}

/// The machine cannot hold a node to what it may use.
pub fn unlimited(node: u32, why: &str) -> Failure {
    lacking(
        node,
        format_args!(
            "--mem and --cpus need a cgroup of version 2, and there is none: {why}.\nStart `gossamer run --local`, or the daemon, \
             in a cgroup of its own: as a service with Delegate=yes, or by `systemd-run --scope -p Delegate=yes` (and --user, if \
             not as root)"
        ),
    )
}

/// Why a program could not be executed.
pub fn not_started(program: &Invocation, error: &io::Error) -> Failure {
    let name = program.arguments.first().map_or(Path::new(""), Path::new).display().to_string();
    let has_path = program.file.as_encoded_bytes().contains(&b'/');
    match error.kind() {
        ErrorKind::NotFound if has_path && Path::new(&program.file).exists() => Failure::new(
            exit::NOT_EXECUTABLE,
            format!("cannot start {name}: it is there, but its interpreter or its loader is not"),
        ),
        ErrorKind::NotFound if has_path => Failure::new(
            exit::NOT_FOUND,
            format!("cannot start {name}: there is no such file; build it, or correct the path"),
        ),
        ErrorKind::NotFound => Failure::new(
            exit::NOT_FOUND,
            format!("cannot start {name}: it is not in PATH; for a program in this directory write ./{name}"),
        ),
        ErrorKind::PermissionDenied => Failure::new(
            exit::NOT_EXECUTABLE,
            format!("cannot start {name}: permission denied; is it an executable file (chmod +x)?"),
        ),
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => Failure::new(
            exit::UNREACHABLE,
            format!("cannot start {name}: {error}; this machine has no room for more processes"),
        ),
        _ => Failure::new(exit::NOT_EXECUTABLE, format!("cannot start {name}: {error}")),
    }
}
