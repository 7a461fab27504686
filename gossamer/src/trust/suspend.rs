//! What every fiber may call: letting others run, sleeping, and not being suspended.

use crate::lane::context::{self, Context};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::Wait;
use crate::sys::threads::outside;
use crate::worker;
use std::time::{Duration, Instant};

/// Lets the other fibers of this worker and its trustee run: each that can run by now, or was spawned here before, has its
/// turn before this returns, unless the worker has been busy for long. On a thread that is not a worker it yields the
/// processor to other threads.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// for _ in 0..1000 {
///     gossamer::yield_now(); // in a long computation, every millisecond or so
/// }
/// # });
/// ```
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn yield_now() {
    worker::require_fiber("yield_now");
    worker::with(|worker| match worker {
        Some(here) => here.yield_now(),
        None => outside::yield_now(),
    });
}

/// Runs `f` without letting it suspend the fiber: a call that would suspend panics instead, with advice.
///
/// It is for code that no other fiber of this worker may interrupt: the initialiser of a `thread_local!`, a `OnceLock`
/// or a `LazyLock`, a `scoped_tls` set, or code that holds a lock of `std` (see [`spawn`](crate::spawn)). All blocking
/// calls of this crate are refused inside, even those that often need not wait, such as an
/// [`apply`](crate::Trust::apply) at the fiber's own worker. So whether a program works does not depend on where a
/// property lives. [`apply_then`](crate::Trust::apply_then) and [`spawn`](crate::spawn) are allowed. Outside of fibers
/// this just calls `f`: delegated closures and callbacks cannot be suspended anyway.
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

/// Waits for at least `duration`; a fiber lets other fibers run meanwhile.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// use std::time::{Duration, Instant};
/// let begin = Instant::now();
/// let fibers = [(); 8].map(|()| gossamer::spawn(|| gossamer::sleep(Duration::from_millis(20))));
/// fibers.map(|fiber| fiber.join()); // all sleep at once, on one worker
/// assert!(begin.elapsed() >= Duration::from_millis(20));
/// # });
/// ```
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn sleep(duration: Duration) {
    worker::require_fiber("sleep");
    let wait = Wait::in_call("sleep");
    worker::with(|worker| match worker {
        Some(here) => {
            let _noted = Fiber::note_wait(wait);
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
