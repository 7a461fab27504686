//! A function that is called when a signal comes.

use signal_hook::SigId;
use signal_hook::low_level::register;
use std::io;

/// Does what may be done in a handler of signals: it reads and writes atomics and descriptors, and does not allocate, lock or panic.
pub(crate) type HandlerAction = fn();

/// Has `action` called whenever a signal comes, on whatever thread, beside what else handles it.
///
/// # Errors
/// If the kernel refuses, or the signal cannot be handled.
pub(crate) fn call_on(signal: i32, action: HandlerAction) -> io::Result<SigId> {
    // SAFETY: `HandlerAction` is what a handler may do.
    unsafe { register(signal, action) }
}
