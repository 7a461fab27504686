//! Other code's handlers, moved to the stack that each thread has for handlers: a fiber's stack may have no room for
//! one.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Whether a signal has the kernel's default action.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn has_default(signal: i32) -> io::Result<bool> {
    action(signal).map(|action| action.sa_sigaction == libc::SIG_DFL)
}

/// What a signal does.
fn action(signal: i32) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only; `action` is writable.
    match unsafe { libc::sigaction(signal, null(), action.as_mut_ptr()) } {
        // SAFETY: zeroes are a valid `sigaction`, so it is initialised whatever the call did.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the handler of a signal, whoever installed it, run on the thread's stack for handlers from now on.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn move_handler_to_own_stack(signal: i32) -> io::Result<()> {
    let mut action = action(signal)?;
    action.sa_flags |= libc::SA_ONSTACK;
    // SAFETY: what the kernel has just returned, except the stack, which every thread of Rust has.
    if unsafe { libc::sigaction(signal, &action, null_mut()) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
