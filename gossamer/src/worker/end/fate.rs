//! Nodes end together: when one is lost, all end, with one report.
//!
//! | status | of a node |
//! |---|---|
//! | the program's | all went well, or `main` returned an error (node 0) |
//! | 2 | it could not start |
//! | 70 | it received a message that no node of its program sends, or that was changed on the way |
//! | 75 | another node was lost |
//! | 101 | `main` panicked (node 0), or a fiber would not end |

use crate::sys::process::exit;
use crate::worker::end::last_trace;
use std::io::Write;

/// Exit status of a node whose peer was lost.
pub(crate) const PEER_LOST: i32 = 75;
/// What a node tells its launcher when all went well and node 0, which itself may run much longer, no longer needs
/// it.
const RELEASED: &str = "released by node 0";
/// Bytes of a report that a launcher reads.
const LONGEST: usize = 4096;

/// The number of the pipe to the launcher, if there is one.
pub(crate) fn launcher() -> Option<i32> {
    std::env::var("GOSSAMER_REPORT_FD").ok()?.parse().ok().filter(|number| *number >= 0)
}

/// Whether a launcher watches this node and reports what happens to any node.
pub(crate) fn is_watched() -> bool {
    std::env::var_os("GOSSAMER_REPORT_FD").is_some()
}

/// Tells the launcher, if there is one, why this node is about to end, if it is the cause.
pub(crate) fn tell_launcher(report: &str) {
    let Some(number) = launcher() else { return };
    // The launcher passed the descriptor; opening it by its name in /proc does not rely on the number being valid.
    let Ok(mut pipe) = std::fs::OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}")) else {
        return;
    };
    let line: String = report.chars().map(|char| if char == '\n' { ' ' } else { char }).collect();
    let end = line.floor_char_boundary(LONGEST - 1);
    // A launcher that is gone has ended this node anyway.
    let _unheard = pipe.write_all(format!("{}\n", &line[..end]).as_bytes());
}

/// Tells the launcher, if there is one, that this node is about to end because everything is done.
pub(crate) fn tell_release() {
    tell_launcher(RELEASED);
}

/// Tells the launcher, if there is one, that this node is about to end because of others; the launcher knows how
/// these have ended, which explains more.
pub(crate) fn tell_because_of(nodes: &[usize], text: &str) {
    let list = nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    tell_launcher(&format!("because of node {list}: {text}"));
}

/// Reports, to the launcher if there is one, that the application ends because a node is lost. Returns whether the
/// report was made.
pub(crate) fn report_loss(node: usize, text: &str) -> bool {
    if !is_watched() {
        return say(text);
    }
    tell_because_of(&[node], text);
    true
}

fn say(text: &str) -> bool {
    exit::say(&format!("gossamer: {text}; the application is ended on all nodes"))
}

/// Another node is lost: says so, and ends this one.
pub(crate) fn end_for(node: usize, text: &str) -> ! {
    report_loss(node, text);
    end_quietly()
}

/// Reports, to the launcher if there is one, why the application ends, if this node knows best.
pub(crate) fn report(text: &str) {
    if is_watched() {
        tell_launcher(text);
    } else {
        say(text);
    }
}

/// This node cannot go on with the others: says why, and ends.
pub(crate) fn end(text: &str) -> ! {
    report(text);
    end_quietly()
}

/// Ends this node; another one reports why.
pub(crate) fn end_quietly() -> ! {
    last_trace::write_last();
    exit::silently(PEER_LOST)
}
