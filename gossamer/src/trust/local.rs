//! [`spawn_local`]: a fiber of the caller's own worker.

use crate::lane::context::{self, Context};
use crate::lane::error::Origin;
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::job::Job;
use crate::trust::JoinHandle;
use crate::trust::cancel::Canceller;
use crate::trust::job::run_job;
use crate::trust::spawn::refuses_fibers;
use crate::worker::{self, Worker};
use std::panic::Location;

/// Starts a fiber on the worker that runs the caller, and returns at once.
///
/// It stays on that worker's thread, as all fibers do. So nothing of it travels: the closure may capture, and return, whatever is
/// `'static`, also an `Rc`, and needs no macro. In a [`scope`](crate::scope) a fiber may borrow, too. It costs what
/// [`spawn`](crate::spawn) does at one's own worker: an allocation.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use std::{cell::RefCell, rc::Rc};
/// let lines = Rc::new(RefCell::new(Vec::new()));
/// let mine = Rc::clone(&lines);
/// let fiber = gossamer::spawn_local(move || mine.borrow_mut().push("from another fiber"));
/// fiber.join();
/// assert_eq!(lines.borrow().len(), 1);
/// # });
/// ```
///
/// Usable in delegated closures and callbacks, too. What `spawn` says of
/// [thread-locals](crate::spawn#thread-locals) and of [the end](crate::spawn#the-end) is true of it.
///
/// # Panics
/// On a thread that is no worker.
#[track_caller]
pub fn spawn_local<U: 'static, F>(f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + 'static,
{
    let spawned_at = Location::caller();
    on_worker("spawn_local", "use `Trustee::spawn`", |here| {
        let (sender, receiver) = oneshot::channel();
        let (origin, id) = (Origin::of::<F>(here.index as u32, spawned_at), here.new_job());
        if !refuses_fibers() {
            #[cfg(feature = "tracing")]
            let f = crate::spans::inside(f);
            let start =
                InlineClosure::new(move |start| run_job(f, start, origin, |outcome| sender.send(outcome)));
            submit(here, Job { start, spawned_at, id });
        }
        JoinHandle::new(receiver, origin, Some(Canceller::here(here, id)))
    })
}

/// Queues a job of a fiber of this worker. A fiber that does so all the time lets others run now and then.
pub(super) fn submit(here: &Worker, job: Job) {
    here.fibers.scheduler.submit(job);
    if context::current() == Context::Fiber {
        here.take_turn();
    }
}

/// Calls `f` with this thread's worker.
///
/// # Panics
/// If it has none; `call` and `advice` are in the message.
#[track_caller]
pub(super) fn on_worker<R>(call: &str, advice: &str, f: impl FnOnce(&Worker) -> R) -> R {
    worker::with(|worker| worker.map(f))
        .unwrap_or_else(|| panic!("`{call}` on a thread that is no worker of a runtime: {advice}"))
}
