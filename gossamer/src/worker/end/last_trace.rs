//! Writing the trace of this process before its end: on request, and when another node is lost.

use std::sync::{Mutex, PoisonError};

/// Writes it.
type Writer = Box<dyn Fn() + Send>;

/// The writer of the runtime that was traced last.
static WRITER: Mutex<Option<Writer>> = Mutex::new(None);

fn with_writer<R>(f: impl FnOnce(&mut Option<Writer>) -> R) -> R {
    f(&mut WRITER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Sets or removes the writer.
pub(crate) fn set(writer: Option<Writer>) {
    with_writer(|current| *current = writer);
}

/// Writes it, and goes on.
pub(crate) fn write() {
    with_writer(|writer| writer.iter().for_each(|write| write()));
}

/// Writes it once, before the process ends: a caller that arrives while another writes waits.
pub(crate) fn write_last() {
    with_writer(|writer| writer.take().iter().for_each(|write| write()));
}
