//! SIGQUIT (Ctrl-\ on the terminal) makes a process report what its fibers do, and write its trace if it keeps one,
//! unless the program, or the process that started it, uses that signal otherwise.

use crate::inspect::collect::{reports, two_looks};
use crate::inspect::deadlock::deadlocks;
use crate::inspect::render::rendered;
use crate::lane::error;
use crate::sys::signals::own_stack::{has_default, move_handler_to_own_stack};
use crate::sys::signals::told::{call_on, is_heard};
use crate::worker::end::last_trace;
use crate::worker::watch::doze;
use signal_hook::consts::SIGQUIT;
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Handles the signal, until it is dropped.
pub(super) struct Quit {
    has_come: Arc<AtomicBool>,
    handlers: [SigId; 2],
}

impl Quit {
    /// Takes the signal over, if nothing else has.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn take_over() -> io::Result<Option<Self>> {
        // A handler that was removed stays installed in the kernel, and does nothing.
        static IS_TAKEN: AtomicBool = AtomicBool::new(false);
        if !has_default(SIGQUIT)? && !IS_TAKEN.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        let has_come = Arc::new(AtomicBool::new(false));
        // In this order: a watcher that is woken finds the flag.
        let handlers = [flag::register(SIGQUIT, Arc::clone(&has_come))?, call_on(SIGQUIT, doze::ring)?];
        move_handler_to_own_stack(SIGQUIT)?;
        IS_TAKEN.store(true, Ordering::Relaxed);
        Ok(Some(Self { has_come, handlers }))
    }

    /// Prints a report, on a thread of its own, if the signal has arrived since the last look.
    pub(super) fn look(&self) {
        // Relaxed: it publishes nothing else.
        if self.has_come.swap(false, Ordering::Relaxed) && !is_heard(SIGQUIT) {
            // Without a thread there is no report.
            let _none = thread::Builder::new().name("gossamer-report".to_owned()).spawn(print);
        }
    }
}

impl Drop for Quit {
    fn drop(&mut self) {
        self.handlers.iter().for_each(|handler| {
            unregister(*handler);
        });
    }
}

fn print() {
    let (before, now) = two_looks(reports);
    // Each by itself: the runtimes of one process are independent of each other.
    let mut text: String = now.iter().map(|report| rendered(&[report])).collect();
    deadlocks(&before, &now).iter().for_each(|(_, deadlock)| text += &format!("\n{deadlock}\n"));
    error::print(&format!("gossamer: SIGQUIT: what the fibers of this process do\n{text}"));
    last_trace::write();
}
