//! All that descends from this process: found, killed, reaped.
//!
//! A process that was killed makes no new ones, and those that it has made become children of this one at its end, which is a
//! child subreaper. So passes are repeated until one finds nothing.

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid};
use std::collections::HashSet;
use std::fs;

/// Kills what descends from this process, but for the children in `spared` and what descends from them, and reaps children that
/// have ended. Whether there was anything.
pub fn end(spared: &HashSet<Pid>, mut reaped: impl FnMut(Pid, WaitStatus)) -> bool {
    let mut orphans = children(getpid());
    orphans.retain(|child| !spared.contains(child));
    for &child in &orphans {
        // Its number is its own until it is reaped below. It may have ended already.
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

/// The children of a process; none if it is gone.
#[must_use]
pub fn children(parent: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    let lists = threads.into_iter().flatten().flatten().map(|thread| thread.path().join("children"));
    let numbers = lists.flat_map(|list| {
        let list = fs::read_to_string(list).unwrap_or_default();
        list.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<i32>>()
    });
    numbers.filter_map(Pid::from_raw).collect()
}

/// Kills all that descends from these processes.
fn kill_below(mut parents: Vec<Pid>) {
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            // What cannot be killed may have children that can.
            let _ = kill_child(child, parent);
            parents.push(child);
        }
    }
}

/// Kills a process if it still is a child of `parent`, or has become one of this process, so that another process that has got its
/// number is spared.
fn kill_child(child: Pid, parent: Pid) -> rustix::io::Result<()> {
    let process = rustix::process::pidfd_open(child, PidfdFlags::empty())?;
    match parent_of(child) {
        Some(now) if now == parent || now == getpid() => {
            rustix::process::pidfd_send_signal(process, Signal::KILL)
        }
        _ => Ok(()),
    }
}

fn parent_of(child: Pid) -> Option<Pid> {
    let state = fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero())).ok()?;
    // `number (name) state parent`, where the name may contain anything.
    let (_, rest) = state.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}
