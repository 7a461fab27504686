//! Waiting until a runtime is quiet, so that it can end, and saying what keeps it if that takes long.

use crate::sys::fibers::fiber::{Fiber, FiberState};
use crate::worker::Worker;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::{QUIET_LOOK, Shared, is_quiescent};
use crate::worker::watch::overdue::Overdue;
use std::fmt::Write;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a worker may take to say what it has left to do.
const ANSWERS: Duration = Duration::from_secs(1);
/// Fibers that a report names.
const NAMED: usize = 8;

/// Waits until nothing is under way in the present phase. If that takes long, tells what the workers of `here` have left to do,
/// and what `others` says.
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

/// Tells that a runtime has been ending for so long, and why: `what` may have ended meanwhile.
pub(crate) fn report(lasted: Duration, what: &str) {
    if !what.is_empty() {
        let seconds = lasted.as_secs();
        eprintln!(
            "gossamer: `main` has returned, but its runtime has not ended for {seconds} s, because of{what}"
        );
    }
}

/// What the workers of this node have left to do, a line each.
pub(crate) fn what_keeps(runtime: &Shared) -> String {
    let (sender, receiver) = mpsc::channel();
    for mailbox in &runtime.mailboxes {
        let sender = sender.clone();
        let tell = move |here: &Worker| {
            // Nobody listens if this took too long.
            let _late = sender.send((here.index, here.left_to_do()));
        };
        // Refused only once the runtime has ended.
        let _ended = mailbox.send(Message::Act(Box::new(tell)));
    }
    drop(sender);
    let due = Instant::now() + ANSWERS;
    let mut answers: Vec<Option<String>> = runtime.mailboxes.iter().map(|_| None).collect();
    while let Ok((index, text)) = receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
        answers[index - runtime.first] = Some(text);
    }
    let mut all = String::new();
    for (place, answer) in answers.into_iter().enumerate() {
        let (worker, view) = (runtime.first + place, &runtime.mailboxes[place].view);
        all.push_str(&answer.unwrap_or_else(|| {
            format!("\n  worker {worker}, which does not answer: it is in {}", view.running())
        }));
    }
    all
}

impl Worker {
    /// What keeps this worker from being quiet, a line each.
    fn left_to_do(&self) -> String {
        let mut text = String::new();
        let mut line = |what: String| {
            let _infallible = write!(text, "\n  worker {}: {what}", self.index);
        };
        let fibers = self.fibers.scheduler.in_a_job();
        fibers.iter().take(NAMED).for_each(|fiber| line(described(fiber)));
        if fibers.len() > NAMED {
            line(format!("{} more fibers", fibers.len() - NAMED));
        }
        match self.outstanding() {
            0 => {}
            requests => line(format!("requests that are not answered: {requests}")),
        }
        if self.end.grace.is_pending() {
            line("properties without a trust, whose requests are being waited for".to_owned());
        }
        text
    }
}

/// A fiber that has not ended, and what it does.
fn described(fiber: &Fiber) -> String {
    let place = fiber.spawned_at();
    let wait = match fiber.waits_in() {
        Some(call) => format!("waits in `{call}`"),
        None => "waits for a trustee's answer".to_owned(),
    };
    match fiber.state() {
        FiberState::Parked => format!("the fiber spawned at {place} {wait}"),
        FiberState::Unwinding => format!("the fiber spawned at {place} unwinds, and {wait}"),
        _ => format!("the fiber spawned at {place} has not ended"),
    }
}
