//! Calls that block their thread. A fiber hands them to a thread of a small pool, and waits without blocking its worker.

use crate::lane::context::{self, Context};
use crate::stream::Error;
use crate::structures::oneshot;
use crate::sys::threads::policy;
use crate::worker;
use crate::worker::fibers::wake::block_on;
use std::io;
use std::sync::mpsc::{self, RecvError, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long an idle thread is kept.
const STAYS: Duration = Duration::from_secs(2);

type BlockingJob = Box<dyn FnOnce() + Send>;

/// The idle threads, each with the channel that brings it a job. The latest one is used first.
static IDLE: Mutex<Vec<(ThreadId, SyncSender<BlockingJob>)>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<(ThreadId, SyncSender<BlockingJob>)>> {
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

/// Runs `body`: on this thread if it may block, otherwise on a thread of the pool while the fiber waits.
///
/// # Errors
/// If no thread can be started; and if the fiber unwinds, since no other fiber of its worker would run meanwhile,
/// possibly including the one at the other end.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; `call` is named in the message.
#[track_caller]
pub(crate) fn run_blocking<R: Send + 'static>(
    call: &'static str,
    body: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Error> {
    if context::current() == Context::Outside {
        return Ok(body());
    }
    // Before anything is done: otherwise nobody would get the outcome.
    require_wait(call);
    if thread::panicking() {
        return Err(Error::Unwinding);
    }
    let (sender, receiver) = oneshot::channel();
    dispatch(Box::new(move || sender.send(body()))).map_err(Error::io("a thread for a fiber that waits"))?;
    block_on(receiver, call).map_err(|_| Error::Refused("the thread that waited has panicked".into()))
}

/// Gives a job to an idle thread, or to a new one.
fn dispatch(job: BlockingJob) -> io::Result<()> {
    let waiting = idle().pop();
    match waiting {
        Some((_, thread)) => thread.send(job).map_err(|_| io::ErrorKind::BrokenPipe.into()),
        None => thread::Builder::new().name("gossamer-stream".into()).spawn(move || run_jobs(job)).map(drop),
    }
}

fn run_jobs(mut job: BlockingJob) {
    // It inherits what is meant for the worker that started it. If that fails, it is only slower.
    let _as_it_is = policy::run_as_first_thread();
    let (this, (hands, more)) = (thread::current().id(), mpsc::sync_channel(1));
    loop {
        job();
        idle().push((this, hands.clone()));
        let next = more.recv_timeout(STAYS).or_else(|_| {
            let mut idle = idle();
            let count = idle.len();
            idle.retain(|(thread, _)| *thread != this);
            // If it was taken from the list, a job is on its way.
            if idle.len() < count {
                Err(RecvError)
            } else {
                drop(idle);
                more.recv()
            }
        });
        let Ok(next) = next else { return };
        job = next;
    }
}
