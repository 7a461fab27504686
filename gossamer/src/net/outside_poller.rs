//! The poller for tasks of other executors that wait for sockets: a thread of the process, which the first such task
//! starts.

use crate::sys::threads::bystander::Bystander;
use crate::sys::threads::policy;
use crate::worker::fibers::sources::Sources;
use mio::{Events, Poll};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What `ps -L` and `top` show.
const NAME: &str = "gossamer-poller";
/// Events that are taken at once.
const EVENTS: usize = 256;

/// The sources of that poller.
///
/// # Errors
/// If the system gives no poller or no thread.
pub(crate) fn sources() -> io::Result<&'static Sources> {
    static SOURCES: Mutex<Option<&'static Sources>> = Mutex::new(None);
    let mut known = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sources) = *known {
        return Ok(sources);
    }
    let poll = Poll::new()?;
    let sources: &'static Sources = Box::leak(Box::new(Sources::new(poll.registry().try_clone()?)));
    thread::Builder::new().name(NAME.to_owned()).spawn(move || {
        let _bystander = Bystander::here();
        dispatch_for_ever(poll, sources)
    })?;
    *known = Some(sources);
    Ok(sources)
}

fn dispatch_for_ever(mut poll: Poll, sources: &Sources) {
    // A pinned worker may have started it. Refused only where pinning is refused too, so there is nothing to undo.
    let _unpinned = policy::run_as_first_thread();
    let mut events = Events::with_capacity(EVENTS);
    loop {
        match poll.poll(&mut events, None) {
            Ok(()) => {
                let _any = sources.dispatch(&events);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Tasks would wait for ever: end the process instead of hanging.
                eprintln!("gossamer: cannot wait for sockets: {error}");
                std::process::abort();
            }
        }
    }
}
