//! Limits of a node by the controllers of its cgroup.
//!
//! A cgroup whose children are limited must not contain processes itself. So this process, and the guardians that it
//! has started, move into a child of their own, which stays; the cgroups of nodes are beside it.

use crate::node::allowance::Allowance;
use crate::processes::children;
use rustix::io::Errno;
use rustix::process::{Pid, getpid};
use std::fs;
use std::io;
use std::path::Path;

/// The child for this process.
pub const HOST: &str = "gossamer-host";

/// The period in which processor time is counted; the kernel's own default.
const PERIOD_MICROSECONDS: u64 = 100_000;

/// Where a limit is to be written, and what.
fn settings(allowance: &Allowance) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    if let Some(memory) = allowance.memory {
        settings.push(("memory.max", memory.to_string()));
    }
    if let Some(millicpus) = allowance.millicpus {
        let quota = u64::from(millicpus) * PERIOD_MICROSECONDS / 1000;
        settings.push(("cpu.max", format!("{quota} {PERIOD_MICROSECONDS}")));
    }
    settings
}

/// Makes the kernel apply these limits in all cgroups below this one, which contains this process, directly or in a
/// child.
///
/// # Errors
/// Why it does not, as a clause.
pub fn enable(parent: &Path, allowance: &Allowance) -> Result<(), String> {
    let wanted = settings(allowance).into_iter().filter_map(|(file, _)| file.split('.').next());
    let enabled = list(&parent.join("cgroup.subtree_control"));
    let missing: Vec<&str> = wanted.filter(|&name| !enabled.iter().any(|known| known == name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let offered = parent.join("cgroup.controllers");
    let there = list(&offered);
    if let Some(name) = missing.iter().find(|&&name| !there.iter().any(|known| known == name)) {
        return Err(format!(
            "the controller `{name}` is not in {}: it was not passed on to this cgroup, or belongs to cgroups of version 1",
            offered.display()
        ));
    }
    pass_on(parent, &missing)
}

/// Enables controllers for the children of a cgroup, which by then has no processes.
fn pass_on(parent: &Path, controllers: &[&str]) -> Result<(), String> {
    let file = parent.join("cgroup.subtree_control");
    let text: String = controllers.iter().map(|name| format!("+{name} ")).collect();
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(Errno::BUSY.raw_os_error());
    let written = match fs::write(&file, &text) {
        Err(error) if is_busy(&error) => move_out(parent).and_then(|()| fs::write(&file, &text)),
        written => written,
    };
    written.map_err(|error| match is_busy(&error) {
        true => format!("there are other processes in the cgroup {}", parent.display()),
        false => format!("{} cannot be written: {error}", file.display()),
    })
}

/// The words of a file.
fn list(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Moves this process and its children out of a cgroup, into the child for them.
fn move_out(parent: &Path) -> io::Result<()> {
    let child = parent.join(HOST);
    match fs::create_dir(&child) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let own = getpid();
    let mut ours = children(own);
    ours.push(own);
    let here = list(&parent.join("cgroup.procs"));
    let here = here.iter().filter_map(|number| number.parse().ok().and_then(Pid::from_raw));
    for process in here.filter(|process| ours.contains(process)) {
        // A process that has ended meanwhile is not there either.
        let moved = fs::write(child.join("cgroup.procs"), process.as_raw_nonzero().to_string());
        if process == own {
            moved?;
        }
    }
    Ok(())
}

/// Limits a cgroup whose parent has its controllers enabled.
///
/// # Errors
/// If the kernel does not accept a limit, as a clause.
pub fn limit(cgroup: &Path, allowance: &Allowance) -> Result<(), String> {
    for (file, value) in settings(allowance) {
        fs::write(cgroup.join(file), &value)
            .map_err(|error| format!("{file} does not take {value:?}: {error}"))?;
    }
    if allowance.memory.is_some() {
        // Swapped-out memory counts, too; and a node is of no use without one of its processes. Old kernels know
        // neither file.
        let _ = fs::write(cgroup.join("memory.swap.max"), "0");
        let _ = fs::write(cgroup.join("memory.oom.group"), "1");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_the_kernel_wants_them() {
        let allowance = Allowance { memory: Some(64 << 20), millicpus: Some(1500) };
        let expected = [("memory.max", "67108864".to_owned()), ("cpu.max", "150000 100000".to_owned())];
        assert_eq!(settings(&allowance), expected);
        assert!(settings(&Allowance::default()).is_empty());
    }

    #[test]
    fn a_controller_that_is_not_there_is_named() {
        let directory = std::env::temp_dir().join(format!("gossamer-controllers-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("cgroup.controllers"), "cpu pids\n").unwrap();
        let enabled = |memory, millicpus| enable(&directory, &Allowance { memory, millicpus });
        assert!(enabled(Some(1), None).unwrap_err().contains("the controller `memory` is not in "));
        assert_eq!(enabled(None, Some(1)), Ok(()));
        assert_eq!(fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap(), "+cpu ");
        fs::remove_dir_all(&directory).unwrap();
    }
}
