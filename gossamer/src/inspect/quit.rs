//! SIGQUIT (Ctrl-\ on the terminal) has a process say what its fibers do, unless the program, or who has started it, has other plans
//! for that signal.

use crate::inspect::collect::{reports, two_looks};
use crate::inspect::deadlock::deadlocks;
use crate::inspect::render::rendered;
use crate::lane::error;
use crate::sys::signals::own_stack::{has_default, move_handler_to_own_stack};
use signal_hook::SigId;
use signal_hook::consts::SIGQUIT;
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread;

/// Hears the signal, until it is dropped.
pub(super) struct Quit {
    arrived: UnixStream,
    handler: SigId,
}

impl Quit {
    /// Takes the signal over, if nobody has.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn take_over() -> io::Result<Option<Self>> {
        if !has_default(SIGQUIT)? {
            return Ok(None);
        }
        let (arrived, arrives) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let handler = pipe::register(SIGQUIT, arrives)?;
        move_handler_to_own_stack(SIGQUIT)?;
        Ok(Some(Self { arrived, handler }))
    }

    /// Prints a report, on a thread of its own, if the signal has come since the last look.
    pub(super) fn look(&self) {
        if (&self.arrived).read(&mut [0; 64]).is_ok_and(|count| count > 0) {
            // Without a thread nothing is said.
            let _none = thread::Builder::new().name("gossamer-report".to_owned()).spawn(print);
        }
    }
}

impl AsFd for Quit {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.as_fd()
    }
}

impl Drop for Quit {
    fn drop(&mut self) {
        unregister(self.handler);
    }
}

fn print() {
    let (before, now) = two_looks(reports);
    // Each by itself: several runtimes of one process have nothing to do with each other.
    let mut text: String = now.iter().map(|report| rendered(&[report])).collect();
    deadlocks(&before, &now).iter().for_each(|(_, deadlock)| text += &format!("\n{deadlock}\n"));
    error::print(&format!("gossamer: SIGQUIT: what the fibers of this process do\n{text}"));
}
