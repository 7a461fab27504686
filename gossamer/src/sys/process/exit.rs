//! The end of a process that cannot go on, which waits for nothing longer than a moment.

use std::io::{Write, stderr};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a process that is about to end waits for somebody to read what it says.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes a line to stderr: in one piece, so that the lines of several processes do not mix. Returns whether it was
/// written; a disk may be full, and a pipe that nobody reads, too.
#[cold]
pub(crate) fn say(line: &str) -> bool {
    let text = format!("{line}\n");
    let (written, outcome) = mpsc::sync_channel(1);
    let in_thread = text.clone();
    // Whether a write waits is not known before.
    let write = move || {
        // The process may have ended its wait.
        let _unheard = written.send(stderr().write_all(in_thread.as_bytes()).is_ok());
    };
    match thread::Builder::new().name("gossamer-report".to_owned()).spawn(write) {
        Ok(_) => outcome.recv_timeout(PATIENCE) == Ok(true),
        Err(_) => stderr().write_all(text.as_bytes()).is_ok(),
    }
}

/// Says why on stderr, and ends the process at once: no destructor and no exit handler runs, since it might wait.
#[cold]
pub(crate) fn at_once(report: &str, status: i32) -> ! {
    let _unheard = say(report);
    silently(status)
}

/// Ends the process at once.
#[cold]
pub(crate) fn silently(status: i32) -> ! {
    // SAFETY: a system call that does not return.
    unsafe { libc::_exit(status) }
}
