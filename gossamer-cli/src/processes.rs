//! Which processes have started which others, according to the kernel.

use rustix::process::Pid;
use std::fs;

/// How many descendants are looked at: a script that starts a program has few, and a process with very many holds up
/// nobody.
const MOST: usize = 1000;

/// The children of a process; empty if it is gone.
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

/// The parent of a process, unless it is gone.
#[must_use]
pub fn parent(child: Pid) -> Option<Pid> {
    let state = fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero())).ok()?;
    // `number (name) state parent`, where the name may contain anything.
    let (_, rest) = state.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}

/// The descendants of a process, nearest first, up to a thousand.
#[must_use]
pub fn descendants(ancestor: Pid) -> Vec<Pid> {
    let mut found = children(ancestor);
    found.truncate(MOST);
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        // A process that moved meanwhile, because its parent ended, may be met twice.
        let more: Vec<Pid> = children(process).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(more);
        found.truncate(MOST);
        next += 1;
    }
    found
}

/// Whether a process is `ancestor`, or descends from it.
#[must_use]
pub fn is_within(process: Pid, ancestor: Pid) -> bool {
    let mut at = Some(process);
    while let Some(now) = at {
        if now == ancestor {
            return true;
        }
        at = parent(now);
    }
    false
}
