//! Starting fibers.

use crate::lane::constant::{STAYS, travels};
use crate::lane::context::{self, Context};
use crate::lane::error::Origin;
use crate::lane::operation::{Delegated, refuse_captures};
use crate::lane::property::Root;
use crate::structures::inline_closure::SendInlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::{Job, JobId, NotStarted};
use crate::trust::cancel::Canceller;
use crate::trust::job::{or_printed, run_job};
use crate::trust::spanned::start;
use crate::trust::{JoinHandle, NoRef, Returned, Trustee, remote};
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker, no_runtime};
use std::panic::Location;

/// Starts a fiber on one of the workers, in turn, and returns at once.
///
/// On another worker it begins while the caller goes on, even if that computes without ever waiting. Of fibers that are
/// spawned in a row the later ones may be gathered until the caller waits or yields: see
/// [`spawn_many_with`](crate::spawn_many_with) for many. On the caller's own worker it begins when the caller waits.
///
/// Like [delegated closures](crate::Trust#delegated-closures), `f` captures nothing by itself: inside a marked
/// function the macros send its captures along; elsewhere pass them with [`spawn_with`].
///
/// # On a rack
/// Fibers are spread over the workers of all nodes. A fiber that cannot leave this node starts on one of its workers:
/// if it captures or may return something that stays, such as a socket, or if the closure is not a constant (in a
/// marked function, in a `const` block, or a `fn`).
///
/// A closure that loops for ever or always panics can be spawned too: its handle is a `JoinHandle<!>`.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let fibers: Vec<_> = (0..4).map(|_| gossamer::spawn(|| 7)).collect();
/// assert_eq!(fibers.into_iter().map(|fiber| fiber.join()).sum::<i32>(), 28);
/// # });
/// ```
///
/// # Errors that nobody takes
/// If the handle is dropped, the fiber goes on. If it panics or cannot start, the error is printed on standard error,
/// with the line that called `spawn`. This affects neither the other fibers nor the exit status: like a thread of
/// `std` or a task of tokio, a fiber reports its end to whoever joins it.
///
/// # Thread-locals
/// Fibers of one worker share its thread and take turns in every blocking call of this crate. `std`, and crates that
/// do not know fibers, assume that nothing else happens on a thread between the steps of a function. Gossamer cannot
/// enforce this, so avoid the following:
/// - A `thread_local!` whose initialiser suspends its fiber can be initialised a second time by another fiber of that
///   worker. `std` then drops the first value while there may be references to it: **undefined behaviour, in safe
///   code**. So are overlapping `set`s of one `scoped_tls` key.
/// - A `OnceLock`, `LazyLock` or `Once` whose initialiser suspends blocks its worker for ever when another fiber of
///   that worker uses it. So does a lock of `std` whose guard is held in a call that suspends.
///
/// The cells of `std` detect it: in a `thread_local!` with a `const` initialiser that contains an `OnceCell` or
/// `LazyCell`, a second initialisation panics.
///
/// [`fiber_local!`](crate::fiber_local) gives each fiber a value of its own, whose initialiser may wait. Inside
/// [`without_suspending`](crate::without_suspending) such a call panics instead of suspending: wrap initialisers in it
/// if they call code that you do not know.
///
/// # Cost
/// One request to the worker, with the captures, and one back with the result; on the caller's own worker one
/// allocation. A fiber takes [`Config::stack_size`](crate::Config::stack_size) of addresses, and memory for the pages
/// that it touches. Its worker keeps up to 1024 stacks for later fibers.
///
/// # The end
/// A fiber that is not joined is cancelled when `main` returns: its next blocking call unwinds it. Fibers that its
/// destructors spawn then are not started; joining them gives [`Reason::Ended`](crate::Reason::Ended).
///
/// # Panics
/// On a thread that is not a worker: use [`Trustee::spawn`] there.
#[track_caller]
pub fn spawn<U: Returned, F>(f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + Send + 'static,
{
    const { refuse_captures::<F>() };
    start_anywhere::<F, _, _, _>(|()| f(), (), Location::caller())
}

/// Like [`spawn`], with arguments that are passed to the closure.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let fiber = gossamer::spawn_with(|list: Vec<u64>| list.len(), vec![1, 2]);
/// assert_eq!(fiber.join(), 2);
/// # });
/// ```
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn spawn_with<C: NoRef, U: Returned, F>(f: F, arguments: C) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    const { refuse_captures::<F>() };
    start_anywhere::<F, _, _, _>(f, arguments, Location::caller())
}

/// Starts a fiber on the next worker.
#[track_caller]
fn start_anywhere<N, C: NoRef, U: Returned, F>(
    f: F,
    arguments: C,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    let next = worker::with(|worker| {
        let here = worker?;
        let index = if stays::<N, C, U>() { here.next_spawn_here() } else { here.next_spawn() };
        Some(here.shared.base + index as u32)
    });
    match next {
        Some(number) => start::<N, _, _, _>(Trustee::numbered(number), Else::Here, f, arguments, spawned_at),
        None => no_runtime("spawn", "; another thread uses `Trustee::spawn`"),
    }
}

/// Whether a fiber has to stay on its node, as far as types tell.
#[inline(always)]
fn stays<N, C: NoRef, U: Returned>() -> bool {
    C::SHAPE.stays() || <U::Sent as NoRef>::SHAPE.stays() || !travels::<N>()
}

/// What happens to a fiber whose arguments turn out to be unable to leave this node.
#[derive(Clone, Copy)]
pub(super) enum Else {
    /// It starts on a worker of this node.
    Here,
    /// It does not start, and its joiner is told.
    Nowhere,
}

/// Starts a fiber on the worker of a trustee.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let there = gossamer::Trustee::all()[1];
/// let fiber = gossamer::spawn_on(there, || gossamer::Trustee::here()); // beside what it works with
/// assert_eq!(fiber.join(), there);
/// # });
/// ```
///
/// # Panics
/// If the runtime of the trustee has ended.
#[track_caller]
pub fn spawn_on<U: Returned, F>(trustee: Trustee, f: F) -> JoinHandle<U>
where
    F: FnOnce() -> U + Send + 'static,
{
    const { refuse_captures::<F>() };
    start::<F, _, _, _>(trustee, Else::Nowhere, |()| f(), (), Location::caller())
}

/// Like [`spawn_on`], with arguments that are passed to the closure.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let count = gossamer::Trustee::all()[1].entrust(0_u64);
/// let add_up = |count: gossamer::Trust<u64>| {
///     (1..=100).for_each(|number| count.apply_with(|count, by| *count += by, number)); // nothing is sent
/// };
/// gossamer::spawn_on_with(count.trustee(), add_up, count.clone()).join();
/// assert_eq!(count.apply(|count| *count), 5050);
/// # });
/// ```
///
/// # Panics
/// If the runtime of the trustee has ended.
#[track_caller]
pub fn spawn_on_with<C: NoRef, U: Returned, F>(trustee: Trustee, f: F, arguments: C) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    const { refuse_captures::<F>() };
    start::<F, _, _, _>(trustee, Else::Nowhere, f, arguments, Location::caller())
}

/// Like `spawn_on_with`, for a closure of this crate that wraps one of the user's, of type `N`, which decides whether
/// it travels.
pub(crate) fn spawn_around<N, C: NoRef, U: Returned, F>(
    trustee: Trustee,
    f: F,
    arguments: C,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    const { refuse_captures::<N>() };
    start::<N, _, _, _>(trustee, Else::Nowhere, f, arguments, spawned_at)
}

/// Where the running fiber was spawned: for a fiber that a call has started, the line of the call.
#[track_caller]
pub(crate) fn spawned_at() -> &'static Location<'static> {
    Fiber::running().map_or(Location::caller(), |fiber| fiber.spawned_at())
}

/// Starts a fiber. Reports name the type `N`: the user's closure, where `f` only wraps it.
pub(super) fn start_as_it_is<N, C: NoRef, U: Returned, F>(
    trustee: Trustee,
    or_else: Else,
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
    let canceller = if is_here(trustee) {
        let (canceller, id) = Canceller::of_neighbour(trustee, index as u32);
        let start = SendInlineClosure::new(move |start| {
            run_job(|| f(arguments), start, origin, |outcome| sender.send(or_printed(outcome, origin)))
        });
        send(trustee, SendJob { start, spawned_at, id });
        canceller
    } else {
        let (canceller, job) = Canceller::of_another_node(trustee, index as u32);
        let start = move |here: &Worker| {
            remote::start::<N, C, U, F>(here, (index, or_else), f, arguments, (origin, sender), &job);
        };
        if !refuses_fibers() {
            do_on_a_worker(trustee, start);
        }
        canceller
    };
    JoinHandle::new(receiver, origin, Some(canceller))
}

/// Starts a fiber on a worker of this process, so that nothing travels to another process.
pub(crate) fn start_in_process<U, F>(
    trustee: Trustee,
    f: F,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    U: Send + 'static,
    F: FnOnce() -> U + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let index = trustee.index() as u32;
    let origin = Origin::of::<F>(index, spawned_at);
    let (canceller, id) = Canceller::of_neighbour(trustee, index);
    #[cfg(feature = "tracing")]
    let f = crate::spans::inside(f);
    let start = SendInlineClosure::new(move |start| {
        run_job(f, start, origin, |outcome| sender.send(or_printed(outcome, origin)))
    });
    send(trustee, SendJob { start, spawned_at, id });
    JoinHandle::new(receiver, origin, Some(canceller))
}

/// Panics if a closure may not go to all of these workers (`constant::travels`): for closures that are wrapped in one
/// of this crate, beside the one that it is named after.
#[track_caller]
pub(crate) fn require_constant<N>(mut trustees: impl Iterator<Item = Trustee>, call: &str) {
    assert!(
        travels::<N>() || trustees.all(is_here),
        "`{call}` cannot send its last closure to another node: {STAYS}"
    );
}

/// Whether a trustee is on this node, or on none.
#[inline]
fn is_here(trustee: Trustee) -> bool {
    let here = worker::with(|worker| {
        let here = worker?;
        here.index_of(trustee.number()).map(|index| here.is_neighbour(index))
    });
    here.unwrap_or_else(|| Shared::find(trustee.number()).is_none_or(|(shared, index)| shared.is_here(index)))
}

/// Makes a worker of the trustee's runtime do something: this worker, if it belongs to that runtime.
fn do_on_a_worker(trustee: Trustee, act: impl FnOnce(&Worker) + Send + 'static) {
    worker::with(|current| match current.filter(|here| here.index_of(trustee.number()).is_some()) {
        Some(here) => act(here),
        None => {
            // Refused only once the runtime has ended: dropping what `act` holds tells the joiner.
            if let Some((shared, index)) = Shared::find(trustee.number()) {
                let act = Message::ForNode { trustee: index, act: Box::new(act) };
                let _ended = shared.mailbox_towards(index).send(act);
            }
        }
    });
}

/// Whether the runtime is ending, and the caller is one of its fibers that already unwinds.
pub(super) fn refuses_fibers() -> bool {
    context::is_fiber() && worker::with(|here| here.is_some_and(Worker::refuses_fibers))
}

/// A job on its way to another worker.
pub(crate) struct SendJob {
    pub(crate) start: SendInlineClosure<Result<(), NotStarted>>,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) id: JobId,
}

impl SendJob {
    fn arrive(self, here: &Worker) {
        let Self { start, spawned_at, id } = self;
        here.fibers.scheduler.submit(Job { start: start.into_local(), spawned_at, id });
    }
}

fn send(trustee: Trustee, job: SendJob) {
    if refuses_fibers() {
        // Dropping the job tells its joiner.
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
                here.send_soon(to);
            }
            None => {
                // Refused only once the runtime has ended: dropping the job tells its joiner.
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
