//! The pool: threads of the process that may block.
//!
//! Each piece of work in the queue has an idle thread that will take it, or the pool is as large as it may be. So no work waits
//! behind other work that may be waiting for it, below the bound.

use crate::sys::threads::affinity;
use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How many threads there may be unless a runtime says otherwise: as many as other runtimes have.
pub(crate) const MOST_THREADS: usize = 512;
/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(5);
/// What `ps -L` and `top` show.
const NAME: &str = "gossamer-pool";

/// Contains its panics.
type Work = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Work>,
    threads: usize,
    /// Those that wait for work, also if they have been woken for some and have not taken it yet.
    idle: usize,
    bound: usize,
}

static STATE: Mutex<State> =
    Mutex::new(State { queue: VecDeque::new(), threads: 0, idle: 0, bound: MOST_THREADS });
static ARRIVED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    // No work runs under the lock, so it cannot be poisoned by one.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the pool have so many threads from now on; those beyond that end when they are idle.
pub(crate) fn bound_to(threads: usize) {
    state().bound = threads;
}

/// Has a thread run this.
///
/// # Errors
/// If there is none, and the system refuses the first; then the work is dropped.
pub(crate) fn submit(work: Work) -> io::Result<()> {
    let mut state = state();
    state.queue.push_back(work);
    if state.queue.len() <= state.idle {
        ARRIVED.notify_one();
    } else if state.threads < state.bound {
        match thread::Builder::new().name(NAME.to_owned()).spawn(serve) {
            Ok(_detached) => state.threads += 1,
            Err(error) if state.threads == 0 => {
                let refused = state.queue.pop_back();
                drop(state);
                drop(refused);
                return Err(no_thread(&error));
            }
            // Those that there are will come to it.
            Err(_refused) => {}
        }
    }
    Ok(())
}

#[cold]
fn no_thread(error: &io::Error) -> io::Error {
    let text = format!(
        "the system refuses a thread for blocking work: {error}; see `ulimit -u` and the limits of the cgroup"
    );
    io::Error::new(error.kind(), text)
}

/// The life of a thread of the pool.
fn serve() {
    // The worker that started it may be pinned. Refused only where pinning is, so that there is nothing to undo.
    let _unpinned = affinity::unpin();
    let mut state = state();
    loop {
        if let Some(work) = state.queue.pop_front() {
            drop(state);
            work();
            state = self::state();
            continue;
        }
        state.idle += 1;
        let waited = ARRIVED.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = waited.0;
        state.idle -= 1;
        if state.queue.is_empty() && (waited.1.timed_out() || state.threads > state.bound) {
            state.threads -= 1;
            return;
        }
    }
}
