//! Starting fibers, and what every fiber may call.

use crate::lane::context::{self, Context};
use crate::lane::error::Origin;
use crate::lane::operation::{Delegated, refuse_captures};
use crate::lane::property::Root;
use crate::structures::inline_closure::SendInlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::fiber::{Fiber, Job};
use crate::sys::fibers::stack::StackError;
use crate::sys::threads::outside;
use crate::trust::job::run_job;
use crate::trust::{JoinHandle, NoRef, Trustee, remote};
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::panic::Location;
use std::time::{Duration, Instant};

/// Starts a fiber on one of the workers, each in turn, and returns at once.
///
/// Like [delegated closures](crate::Trust#delegated-closures), `f` captures nothing by itself: the macros send its captures along
/// inside a marked function, [`spawn_with`] takes them elsewhere. On another node it starts only if it is a constant: in a marked
/// function, in a `const` block, or a `fn`.
///
/// # Thread-locals
/// Fibers of one worker share its thread and take turns in every blocking call of this crate. `std`, and crates that know nothing of
/// fibers, take for granted that nothing else happens on a thread between the steps of a function. This cannot be prevented, so keep
/// from it:
/// - A `thread_local!` whose initialiser suspends its fiber can be initialised a second time by another fiber of that worker. `std`
///   then drops the first value while there may be references to it: **undefined behaviour, in safe code**. `set`s of one `scoped_tls`
///   key that overlap are so, too.
/// - A `OnceLock`, `LazyLock` or `Once` whose initialiser suspends blocks its worker for ever when another of its fibers comes to it.
///   So does a lock of `std`, if its guard is held in a call that suspends.
///
/// Cells of `std` notice it: of a `thread_local!` that is made by a constant and has an `OnceCell` or `LazyCell` inside, a second
/// initialisation panics.
///
/// [`fiber_local!`](crate::fiber_local) gives each fiber a value of its own, whose initialiser may wait. Inside of
/// [`without_suspending`] such a call panics instead of suspending: wrap initialisers in it if they call code that you do not know.
///
/// # The end
/// A fiber that is not joined is cancelled when `main` returns: its next blocking call unwinds it. What its destructors start
/// then is not started; joining it gives [`Reason::Ended`](crate::Reason::Ended).
///
/// # Panics
/// On a thread that is no worker: use [`Trustee::spawn`] there.
#[track_caller]
pub fn spawn<U: NoRef, F>(f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + Send + 'static,
{
    refuse_captures!(F);
    start::<F, _, _, _>(next_trustee(), |()| f(), (), Location::caller())
}

/// As [`spawn`], with arguments handed to the closure.
///
/// # Panics
/// On a thread that is no worker.
#[track_caller]
pub fn spawn_with<C: NoRef, U: NoRef, F>(f: F, arguments: C) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    refuse_captures!(F);
    start::<F, _, _, _>(next_trustee(), f, arguments, Location::caller())
}

/// The worker whose turn it is to get a fiber.
fn next_trustee() -> Trustee {
    let next = worker::with(|worker| worker.map(|here| here.shared.base + here.next_spawn() as u32));
    match next {
        Some(number) => Trustee::numbered(number),
        None => panic!("`spawn` on a thread that is no worker of a runtime: use `Trustee::spawn`"),
    }
}

/// Starts a fiber on the worker of a trustee.
///
/// # Panics
/// If the runtime of the trustee has ended.
#[track_caller]
pub fn spawn_on<U: NoRef, F>(trustee: Trustee, f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + Send + 'static,
{
    refuse_captures!(F);
    start::<F, _, _, _>(trustee, |()| f(), (), Location::caller())
}

/// As [`spawn_on`], with arguments handed to the closure.
///
/// # Panics
/// If the runtime of the trustee has ended.
#[track_caller]
pub fn spawn_on_with<C: NoRef, U: NoRef, F>(trustee: Trustee, f: F, arguments: C) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    refuse_captures!(F);
    start::<F, _, _, _>(trustee, f, arguments, Location::caller())
}

/// Starts a fiber. Reports name the type `N`: the user's closure, where `f` only wraps it.
fn start<N, C: NoRef, U: NoRef, F>(
    trustee: Trustee,
    f: F,
    arguments: C,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let index = trustee.index();
    let origin = Origin::of::<N>(index as u32, spawned_at);
    if is_here(trustee) {
        let start = SendInlineClosure::new(move |start| {
            run_job(|| f(arguments), start, origin, |outcome| sender.send(outcome))
        });
        send(trustee, SendJob { start, spawned_at });
    } else if !refuses_fibers() {
        let start =
            move |here: &Worker| remote::start::<N, C, U, F>(here, index, f, arguments, (origin, sender));
        do_on_a_worker(trustee, start);
    }
    JoinHandle::new(receiver, origin)
}

/// Whether a trustee is of this node, or of none.
#[inline]
fn is_here(trustee: Trustee) -> bool {
    let here = worker::with(|worker| {
        let here = worker?;
        here.index_of(trustee.number()).map(|index| here.is_neighbour(index))
    });
    here.unwrap_or_else(|| Shared::find(trustee.number()).is_none_or(|(shared, index)| shared.is_here(index)))
}

/// Has a worker of the runtime of a trustee do something: this one, if it is one.
fn do_on_a_worker(trustee: Trustee, act: impl FnOnce(&Worker) + Send + 'static) {
    worker::with(|current| match current.filter(|here| here.index_of(trustee.number()).is_some()) {
        Some(here) => act(here),
        None => {
            // Refused only once the runtime has ended: dropping what `act` holds tells whoever joins.
            if let Some((shared, index)) = Shared::find(trustee.number()) {
                let act = Message::ForNode { trustee: index, act: Box::new(act) };
                let _ended = shared.mailbox_towards(index).send(act);
            }
        }
    });
}

/// Whether the runtime ends, and the caller is a fiber of it that unwinds already.
pub(super) fn refuses_fibers() -> bool {
    context::is_fiber() && worker::with(|here| here.is_some_and(Worker::refuses_fibers))
}

/// A job on its way to another worker.
pub(crate) struct SendJob {
    pub(crate) start: SendInlineClosure<Result<(), StackError>>,
    pub(crate) spawned_at: &'static Location<'static>,
}

impl SendJob {
    fn arrive(self, here: &Worker) {
        here.fibers.scheduler.submit(Job { start: self.start.into_local(), spawned_at: self.spawned_at });
    }
}

fn send(trustee: Trustee, job: SendJob) {
    if refuses_fibers() {
        // Dropping the job tells whoever joins it.
        return;
    }
    worker::with(|current| {
        match current.and_then(|here| here.index_of(trustee.number()).map(|to| (here, to))) {
            Some((here, to)) if to == here.index => {
                job.arrive(here);
                if context::current() == Context::Fiber {
                    here.take_turn();
                }
            }
            Some((here, to)) => {
                let delegated = Delegated::of::<Root, _>(|_: &mut Root, job| arrive_here(job));
                if !here.lane_to(to).client.fits(delegated.operation()) {
                    here.make_room(to, delegated.operation());
                }
                here.tell(to, delegated, job);
            }
            None => {
                // Refused only once the runtime has ended: dropping the job tells whoever joins it.
                if let Some((shared, index)) = Shared::find(trustee.number()) {
                    let _ended =
                        shared.mailbox(index).send(Message::Request(Box::new(|here| job.arrive(here))));
                }
            }
        }
    });
}

fn arrive_here(job: SendJob) {
    worker::with(|worker| {
        if let Some(here) = worker {
            job.arrive(here);
        }
    });
}

/// Lets the other fibers of this worker, and its trustee, run. On a thread that is no worker it offers the
/// processor to other threads.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
pub fn yield_now() {
    worker::with(|worker| match worker {
        Some(here) => {
            here.require_fiber("yield_now");
            here.yield_now();
        }
        None => outside::yield_now(),
    });
}

/// Runs `f`, in which no call may suspend the fiber: one that would panics instead, with advice.
///
/// It is for code between whose steps no other fiber of this worker may come: the initialiser of a `thread_local!`, a `OnceLock` or a
/// `LazyLock`, a `scoped_tls` set, or a part that holds a lock of `std` (see [`spawn`]). All blocking calls of this crate are refused
/// inside, also those that often need not wait, as an [`apply`](crate::Trust::apply) at the fiber's own worker, so that it does not
/// depend on where a property lives whether a program works. [`apply_then`](crate::Trust::apply_then) and [`spawn`] are not.
/// Outside of fibers it just calls `f`: delegated closures and callbacks cannot be suspended anyway.
///
/// ```
/// use std::sync::OnceLock;
/// static TABLE: OnceLock<Vec<u64>> = OnceLock::new();
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let table = TABLE.get_or_init(|| gossamer::without_suspending(|| (0..10).map(|n| n * n).collect()));
/// # assert_eq!(table[3], 9);
/// # });
/// ```
pub fn without_suspending<R>(f: impl FnOnce() -> R) -> R {
    let inside = match context::current() {
        Context::Fiber => Context::Steady,
        other => other,
    };
    let _restore = context::enter(inside);
    f()
}

/// Waits for at least `duration`; a fiber lets others run meanwhile.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
pub fn sleep(duration: Duration) {
    worker::with(|worker| match worker {
        Some(here) => {
            here.require_fiber("sleep");
            let _noted = Fiber::note_wait("sleep");
            match Instant::now().checked_add(duration) {
                Some(due) => here.sleep_until(due),
                None => loop {
                    here.park();
                },
            }
        }
        None => outside::sleep(duration),
    });
}
