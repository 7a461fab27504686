//! The end of a process that cannot go on, without waiting for anything.

use std::io::Write;

/// Prints why on stderr, and ends the process at once: no destructor and no exit handler runs, since it might wait.
#[cold]
pub(crate) fn at_once(report: &str, status: i32) -> ! {
    // Nothing can be done about a closed stderr.
    let _unheard = writeln!(std::io::stderr(), "{report}");
    silently(status)
}

/// Ends the process at once.
#[cold]
pub(crate) fn silently(status: i32) -> ! {
    // SAFETY: a system call that does not return.
    unsafe { libc::_exit(status) }
}
