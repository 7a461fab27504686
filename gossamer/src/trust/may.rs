//! [`spawn_may`]: code that calls the blocking calls of the crate `may`.

use crate::lane::error::Origin;
use crate::structures::oneshot;
use crate::sys::threads::coroutine;
use crate::trust::JoinHandle;
use crate::trust::job::run_job;
use crate::worker;
use std::panic::Location;

/// Runs a closure as a coroutine of the crate [`may`], for code that calls may's own sleep, sync or net, which would
/// stop a worker. Needs the feature `may`. Usable from any fiber and any thread.
///
/// The coroutine belongs to may, which runs it on its own threads from beginning to end; it never runs on a worker.
/// In it a trust may be used as on any thread, and a call that waits ([`Trust::apply`] and its like,
/// [`JoinHandle::join`], [`Pending::wait`], [`sleep`](crate::sleep)) suspends the coroutine, not its thread. Delegated
/// closures run at their trustee, never on the coroutine. What needs a worker ([`spawn`](crate::spawn),
/// [`entrust`](crate::entrust), [`Trustee::here`](crate::Trustee::here)) panics: use [`Trustee`](crate::Trustee)'s
/// methods. So do the calls of `gossamer::net`: use may's.
///
/// The fiber that joins the coroutine never leaves its worker.
///
/// ```
/// # fn main() {
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use std::time::Duration;
/// let naps = gossamer::entrust(0_u32);
/// let counted = naps.clone();
/// let sleeper = move || {
///     may::coroutine::sleep(Duration::from_millis(1));
///     counted.apply(|naps| { *naps += 1; *naps })
/// };
/// // SAFETY: it holds nothing of a thread while it sleeps or waits.
/// let sleeper = unsafe { gossamer::spawn_may(sleeper) };
/// assert_eq!(sleeper.join(), 1);
/// # });
/// # }
/// ```
///
/// The closure may capture whatever is `Send`, as it stays in this process. A coroutine that is not joined is not
/// cancelled when `main` returns; it goes on until the process ends, and its requests fail from then on. Set the size
/// of stacks, the number of threads and their pinning with `may::config()` before the first coroutine is started.
///
/// # Safety
/// As for [`may::coroutine::spawn`], since the coroutine may be on another thread after each call that suspends it. The
/// closure, and what it calls:
///
/// - uses no thread-local in a way that spans such a call (a lock guard that must be released where it was taken, a
///   reference into a thread-local, an address that the compiler may keep);
/// - does not call may's blocking calls in a destructor that runs while it unwinds from a panic;
/// - keeps within its stack;
/// - does not change the number of may's threads, once there are some;
/// - is resumed by may's scheduler only: it does not wait by `may::sync::FastBlocker` or `may::cqueue`.
///
/// # What may 0.3.51 frees too early
/// A thread of may goes on using a coroutine that it has suspended, when another thread may have resumed it already, and
/// ended it. So a program of may alone may corrupt its memory, the more easily the more threads than processors there
/// are. What is used of a coroutine that this function starts is kept until none of may's threads can, which is found
/// out every 10 ms, and takes 350 bytes of each until then; longer if a coroutine holds up one of may's threads. Not
/// covered are coroutines that may's own `spawn` and `go!` start, and sockets: `may::net` uses a socket likewise after it
/// has told the poller of it. In practice that needs the thread to be held up within a few instructions, and it was only
/// seen when a pause was put there. The sockets of fibers ([`net`](crate::net)) have no such race.
///
/// # Panics
/// If may cannot make a coroutine.
///
/// [`Trust::apply`]: crate::Trust::apply
/// [`Pending::wait`]: crate::Pending::wait
#[cfg_attr(docsrs, doc(cfg(feature = "may")))]
#[track_caller]
pub unsafe fn spawn_may<U, F>(f: F) -> JoinHandle<U>
where
    U: Send + 'static,
    F: FnOnce() -> U + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let index = worker::with(|worker| worker.map_or(0, |here| here.index));
    let origin = Origin::of::<F>(index as u32, Location::caller());
    // SAFETY: guaranteed by the caller.
    match unsafe { coroutine::spawn(move || run_job(f, Ok(()), origin, |outcome| sender.send(outcome))) } {
        Ok(()) => JoinHandle::new(receiver, origin, None),
        Err(error) => panic!("`spawn_may`: {error}"),
    }
}
