//! What a worker says if a signal ends the process: which worker it is, and what it ran.

use crate::lane::context::{self, Context};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::signals::fatal::{self, Text};
use crate::worker;
use crate::worker::end::fate;
use crate::worker::shared::Shared;
use std::fmt::Write;

/// Makes the process report signals that end it. The name in the report is that of its first runtime.
pub(crate) fn install(shared: &Shared) {
    let name = match &shared.peers {
        Some(peers) => format!("gossamer: node {} (process {})", peers.node(), std::process::id()),
        None => "gossamer".to_owned(),
    };
    fatal::install(&name, fate::launcher(), words);
}

/// What the calling thread is doing, if it is a worker. Runs in a signal handler (O2).
fn words(text: &mut Text) -> bool {
    worker::with(|worker| worker.is_some_and(|here| describe(here.index, text).is_ok()))
}

fn describe(worker: usize, text: &mut Text) -> std::fmt::Result {
    write!(text, " on worker {worker}")?;
    match context::operation() {
        Some(operation) => {
            write!(text, ", in the delegated closure {operation}")?;
        }
        None if context::current() == Context::Loop => write!(text, ", in a callback or between them")?,
        None => {}
    }
    if let Some(fiber) = Fiber::described() {
        write!(text, ", in the fiber spawned at {}", fiber.spawned_at)?;
    }
    Ok(())
}
