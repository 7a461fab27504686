//! Who writes the trace of this process before its end: when somebody asks for it, and when another node is lost.

use std::sync::{Mutex, PoisonError};

/// Writes it.
type Writer = Box<dyn Fn() + Send>;

/// That of the runtime that was traced last.
static WRITER: Mutex<Option<Writer>> = Mutex::new(None);

fn with_writer<R>(f: impl FnOnce(&mut Option<Writer>) -> R) -> R {
    f(&mut WRITER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// From now on it is `writer`, or nobody.
pub(crate) fn set(writer: Option<Writer>) {
    with_writer(|current| *current = writer);
}

/// Has it written, and goes on.
pub(crate) fn write() {
    with_writer(|writer| writer.iter().for_each(|write| write()));
}

/// Has it written, once, before the process ends: who comes while another does waits for it.
pub(crate) fn write_last() {
    with_writer(|writer| writer.take().iter().for_each(|write| write()));
}
