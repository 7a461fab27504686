//! A function that is called when a signal arrives, and the signals that the program handles itself.

use crate::atomic::Ordering;
use crate::atomic::fixed::AtomicU64;
use signal_hook::SigId;
use signal_hook::low_level::register;
use std::io;

/// A bit for each signal that the program has taken over.
static HEARD: AtomicU64 = AtomicU64::new(0);

/// The program handles this signal from now on.
pub(crate) fn note_heard(signal: i32) {
    // Relaxed: it publishes nothing else.
    HEARD.fetch_or(bit(signal), Ordering::Relaxed);
}

/// Whether the program handles this signal.
pub(crate) fn is_heard(signal: i32) -> bool {
    HEARD.load(Ordering::Relaxed) & bit(signal) != 0
}

fn bit(signal: i32) -> u64 {
    u32::try_from(signal).map_or(0, |signal| 1_u64.checked_shl(signal).unwrap_or(0))
}

/// An action that a signal handler may perform: it reads and writes atomics and descriptors, and does not allocate,
/// lock or panic.
pub(crate) type HandlerAction = fn();

/// Arranges that `action` is called whenever a signal arrives, on whatever thread, besides what else handles it.
///
/// # Errors
/// If the kernel refuses, or the signal cannot be handled.
pub(crate) fn call_on(signal: i32, action: HandlerAction) -> io::Result<SigId> {
    // SAFETY: `HandlerAction` is what a handler may do.
    unsafe { register(signal, action) }
}
