//! All that descends from this process: found, killed, reaped.
//!
//! A process that was killed makes no new ones. When it ends, the processes that it has made become children of this
//! process, which is a child subreaper. So passes are repeated until one finds nothing.

use crate::processes::{children, parent};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid};
use std::collections::HashSet;

/// Kills what descends from this process, except for the children in `spared` and their descendants, and reaps children
/// that have ended. Returns whether there was anything to do.
pub fn end(spared: &HashSet<Pid>, mut reaped: impl FnMut(Pid, WaitStatus)) -> bool {
    let mut orphans = children(getpid());
    orphans.retain(|child| !spared.contains(child));
    for &child in &orphans {
        // The number belongs to this process until it is reaped below. The process may have ended already.
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
    kill_below(orphans.clone());
    for &child in &orphans {
        if let Ok(Some((child, status))) = rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
            reaped(child, status);
        }
    }
    !orphans.is_empty()
}

/// Kills all that descends from these processes.
fn kill_below(mut parents: Vec<Pid>) {
    while let Some(next) = parents.pop() {
        for child in children(next) {
            // Even a process that cannot be killed may have children that can.
            let _ = kill_child(child, next);
            parents.push(child);
        }
    }
}

/// Kills a process only if it is still a child of `of`, or has become a child of this process: another process that has
/// got its number meanwhile is spared.
fn kill_child(child: Pid, of: Pid) -> rustix::io::Result<()> {
    let process = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    match parent(child) {
        Some(now) if now == of || now == getpid() => {
            rustix::process::pidfd_send_signal(process, Signal::KILL)
        }
        _ => Ok(()),
    }
}
