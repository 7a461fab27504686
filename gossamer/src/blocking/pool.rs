//! The pool: threads of the process that may block.
//!
//! Each piece of work in the queue has an idle thread that will take it, or the pool is at its limit. So below the
//! limit, no work waits behind other work that may be waiting for it.

use crate::sys::threads::bystander::Bystander;
use crate::sys::threads::policy;
use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How many threads there may be unless a runtime says otherwise: the same default as in other runtimes.
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
    /// Threads that wait for work, including those that were woken for some and have not taken it yet.
    idle: usize,
    bound: usize,
}

static STATE: Mutex<State> =
    Mutex::new(State { queue: VecDeque::new(), threads: 0, idle: 0, bound: MOST_THREADS });
static ARRIVED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    // No work runs under the lock, so none can poison it.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Limits the pool to this many threads from now on; threads beyond that end when they are idle.
pub(crate) fn bound_to(threads: usize) {
    state().bound = threads;
}

/// How many threads work, or are about to.
pub(crate) fn busy_threads() -> usize {
    let state = state();
    state.threads - state.idle + state.queue.len()
}

/// Runs `work` on a thread.
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
            // The existing threads will take it.
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
    let _bystander = Bystander::here();
    // The worker that started it may be pinned, and wait when it is woken. Refused only where that is refused too, so
    // there is nothing to undo.
    let _unpinned = policy::run_as_first_thread();
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
