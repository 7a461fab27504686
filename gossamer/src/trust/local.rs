//! [`spawn_local`]: a fiber of the caller's own worker.

use crate::lane::context::{self, Context};
use crate::lane::error::Origin;
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::job::Job;
use crate::trust::JoinHandle;
use crate::trust::cancel::Canceller;
use crate::trust::job::{or_printed, run_job};
use crate::trust::spawn::refuses_fibers;
use crate::worker::{self, Worker};
use std::panic::Location;

/// Starts a fiber on the caller's worker, and returns at once.
///
/// It stays on that worker's thread, as all fibers do. So nothing travels: the closure may capture and return
/// anything that is `'static`, even an `Rc`, and needs no macro. In a [`scope`](crate::scope) a fiber may also
/// borrow. The cost is that of [`spawn`](crate::spawn) on the caller's own worker: one allocation.
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
/// It may be called in delegated closures and callbacks too. What `spawn` says about
/// [thread-locals](crate::spawn#thread-locals) and of [the end](crate::spawn#the-end) applies here too.
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn spawn_local<U: 'static, F>(f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + 'static,
{
    spawn_local_around::<F, _, _>(f, Location::caller())
}

/// Like [`spawn_local`], for a closure of this crate that wraps one of the user's: reports name the type `N`, and the
/// line that the user knows.
#[track_caller]
pub(crate) fn spawn_local_around<N, U: 'static, F>(
    f: F,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    F: FnOnce() -> U + 'static,
{
    on_worker("spawn_local", "use `Trustee::spawn`", |here| {
        let (sender, receiver) = oneshot::channel();
        let (origin, id) = (Origin::of::<N>(here.index as u32, spawned_at), here.new_job());
        if !refuses_fibers() {
            #[cfg(feature = "tracing")]
            let f = crate::spans::inside(f);
            let start = InlineClosure::new(move |start| {
                run_job(f, start, origin, |outcome| sender.send(or_printed(outcome, origin)))
            });
            submit(here, Job { start, spawned_at, id });
        }
        JoinHandle::new(receiver, origin, Some(Canceller::here(here, id)))
    })
}

/// Queues the job of a fiber on this worker. A fiber that keeps doing so lets others run now and then.
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
        .unwrap_or_else(|| panic!("`{call}` on a thread that is not a worker of a runtime: {advice}"))
}
