//! Work that blocks its thread: a fiber has it done by another one, which stays for a while and does more of it.

use crate::lane::context::{self, Context};
use crate::stream::Error;
use crate::structures::oneshot;
use crate::sys::threads::affinity;
use crate::worker;
use crate::worker::wake::block_on;
use std::io;
use std::sync::mpsc::{self, RecvError, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long a thread waits for more.
const STAYS: Duration = Duration::from_secs(2);

type Work = Box<dyn FnOnce() + Send>;

/// The threads that wait for work, each with where it gets it. Who came last is taken first.
static IDLE: Mutex<Vec<(ThreadId, SyncSender<Work>)>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<(ThreadId, SyncSender<Work>)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

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
/// If there is no such thread; if the fiber unwinds, since it would keep its worker from all others, maybe from the very one
/// at the other end.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; `call` is named in the message.
pub(crate) fn apart<R: Send + 'static>(
    call: &'static str,
    body: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Error> {
    if context::current() == Context::Outside {
        return Ok(body());
    }
    // Before anything is done: nobody would hear what came of it.
    require_wait(call);
    if thread::panicking() {
        return Err(Error::Unwinding);
    }
    let (sender, receiver) = oneshot::channel();
    hand_out(Box::new(move || sender.send(body()))).map_err(Error::io("a thread for a fiber that waits"))?;
    block_on(receiver, call).map_err(|_| Error::Refused("the thread that waited has panicked".into()))
}

/// Has a thread do it that waits for work, or a new one.
fn hand_out(work: Work) -> io::Result<()> {
    let waiting = idle().pop();
    match waiting {
        Some((_, thread)) => thread.send(work).map_err(|_| io::ErrorKind::BrokenPipe.into()),
        None => thread::Builder::new().name("gossamer-stream".into()).spawn(move || work_on(work)).map(drop),
    }
}

fn work_on(mut work: Work) {
    // It was started by a worker, who is pinned. If it stays there, it is only slower.
    let _as_it_is = affinity::unpin();
    let (this, (hands, more)) = (thread::current().id(), mpsc::sync_channel(1));
    loop {
        work();
        idle().push((this, hands.clone()));
        let next = more.recv_timeout(STAYS).or_else(|_| {
            let mut idle = idle();
            let count = idle.len();
            idle.retain(|(thread, _)| *thread != this);
            // If it was taken, work is on its way.
            if idle.len() < count {
                Err(RecvError)
            } else {
                drop(idle);
                more.recv()
            }
        });
        let Ok(next) = next else { return };
        work = next;
    }
}
