//! Waiting until a runtime is quiet, so that it can end, and reporting what keeps it if that takes long.

use crate::sys::fibers::fiber::FiberState;
use crate::worker::shared::{QUIET_LOOK, Shared, is_quiescent};
use crate::worker::watch::overdue::Overdue;
use crate::worker::watch::record::{FiberRecord, WorkerRecord, records};
use std::fmt::Write;
use std::thread;
use std::time::Duration;

/// Fibers that a report names.
const NAMED: usize = 8;

/// Waits until nothing is under way in the present phase. If that takes long, reports what the workers of `here` have
/// left to do, and what `others` returns.
pub(crate) fn wait_until_quiet<'a>(
    here: impl Iterator<Item = &'a Shared> + Clone,
    look: impl Fn() -> Option<u64>,
    others: impl Fn() -> String,
) {
    let mut overdue = Overdue::new();
    while !is_quiescent(&look) {
        thread::sleep(QUIET_LOOK);
        if let Some(lasted) = overdue.is_due() {
            let mut text = others();
            here.clone().for_each(|runtime| text.push_str(&what_keeps(runtime)));
            report(lasted, &text);
        }
    }
}

/// Reports how long a runtime has been ending, and why: `what` may have ended meanwhile.
pub(crate) fn report(lasted: Duration, what: &str) {
    if !what.is_empty() {
        let seconds = lasted.as_secs();
        eprintln!(
            "gossamer: `main` has returned, but its runtime has not ended for {seconds} s, because of{what}"
        );
    }
}

/// What the workers of this node have left to do, one line each.
pub(crate) fn what_keeps(runtime: &Shared) -> String {
    let mut all = String::new();
    for (place, record) in records(runtime).into_iter().enumerate() {
        let (worker, view) = (runtime.first + place, &runtime.mailboxes[place].view);
        all.push_str(&match record {
            Some(record) => left_to_do(worker, &record),
            None => format!("\n  worker {worker}, which does not answer: it is in {}", view.running()),
        });
    }
    all
}

/// What keeps a worker from being quiet, one line each.
fn left_to_do(worker: usize, record: &WorkerRecord) -> String {
    let mut text = String::new();
    let mut line = |what: String| {
        let _infallible = write!(text, "\n  worker {worker}: {what}");
    };
    let fibers = &record.fibers;
    fibers.iter().take(NAMED).for_each(|fiber| line(described(fiber)));
    if fibers.len() > NAMED {
        line(format!("{} more fibers", fibers.len() - NAMED));
    }
    match record.outstanding {
        0 => {}
        requests => line(format!("requests that are not answered: {requests}")),
    }
    if record.has_grace_round {
        line("properties without a trust, whose requests are being waited for".to_owned());
    }
    text
}

/// A fiber that has not ended, and what it does.
fn described(fiber: &FiberRecord) -> String {
    let place = fiber.spawned_at;
    let wait = match fiber.wait.filter(|_| fiber.answer.is_none()) {
        Some(wait) => format!("waits in `{}`", wait.call),
        None => "waits for a trustee's answer".to_owned(),
    };
    match fiber.state {
        FiberState::Parked => format!("the fiber spawned at {place} {wait}"),
        FiberState::Unwinding => format!("the fiber spawned at {place} unwinds, and {wait}"),
        _ => format!("the fiber spawned at {place} has not ended"),
    }
}
