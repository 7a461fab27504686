//! Work that blocks its thread: a fiber has it done by another one.

use crate::lane::context::{self, Context};
use crate::stream::Error;
use crate::sys::oneshot;
use crate::worker;
use crate::worker::wake::block_on;
use std::thread;

/// Checks that the caller can wait.
///
/// # Panics
/// In a delegated closure or a callback; `call` is named in the message.
pub(crate) fn require_wait(call: &str) {
    if context::current() != Context::Outside {
        worker::with_worker(|here| here.require_fiber(call));
    }
}

/// Does `body` here, on a thread that may block, or has another thread do it, while the fiber waits.
///
/// # Errors
/// If there is no such thread.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; `call` is named in the message.
pub(crate) fn apart<R: Send + 'static>(
    call: &str,
    body: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Error> {
    if context::current() == Context::Outside {
        return Ok(body());
    }
    // Before anything is done: nobody would hear what came of it.
    require_wait(call);
    let (sender, receiver) = oneshot::channel();
    let started = thread::Builder::new().name("gossamer-stream".into()).spawn(move || sender.send(body()));
    started.map_err(Error::io("a thread for a fiber that waits"))?;
    block_on(receiver, call).map_err(|_| Error::Refused("the thread that waited has panicked".into()))
}
