//! Keeps what may's threads may still use of coroutines (Y5), until none of them can.
//!
//! A coroutine of may 0.3.51 is suspended so: its thread publishes it (`Sleep::subscribe` to the timer, `Park::subscribe`
//! to whoever unparks it), and then tells the coroutine's data for cancellation where it waits. If the thread is held up
//! in between, another resumes the coroutine, and when that ends, its data is freed: a write to freed memory follows. The
//! blocker that it waits for has a guard against that, whose destructor waits for the thread: on a worker it would wait
//! for as long as that thread, which may run the coroutine within `subscribe`, goes on.
//!
//! So both outlive the coroutine's use of them by a grace period, as in quiescent-state-based reclamation (Hart et al.,
//! "Performance of memory reclamation for lockless synchronization", 2007):
//!
//! - Y6: what is retired is not suspended with any more. Threads that use it are in a `subscribe` that began before.
//! - Y7: may's threads are its workers and its timer's thread (Y1). A coroutine that one of them takes from its queue, or
//!   the timer's from its list, is not resumed inside of a `subscribe`.
//! - Y8: so once a coroutine, the collector, was taken up by each of them after something was retired, nobody uses that.
//!   It goes from one to the next through queues of may, which order its last step after theirs.
//! - Y9: the collector itself never ends.

use crate::sys::threads::coroutine::CoroutineWaker;
use may::coroutine::Coroutine;
use std::mem;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Between two of may's threads: what is retired meanwhile is kept, and each costs some 10 us of processor time.
const PAUSE: Duration = Duration::from_millis(1);

type Retired = Vec<Arc<CoroutineWaker>>;

static RETIRED: Mutex<Retired> = Mutex::new(Vec::new());

/// Drops it when none of may's threads uses it.
#[inline(never)]
pub(super) fn retire(waker: Arc<CoroutineWaker>) {
    let first = {
        let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
        retired.push(waker);
        retired.len() == 1
    };
    if first && let Some(collector) = collector() {
        collector.unpark();
    }
}

/// `None` if may cannot make a coroutine: what is retired is kept until it can.
fn collector() -> Option<&'static Coroutine> {
    static COLLECTOR: OnceLock<Option<Coroutine>> = OnceLock::new();
    let start = || {
        // SAFETY: what uses thread-locals is not inlined into it (Y3); only its timer and `unpark` wake it (Y1).
        let started =
            unsafe { may::coroutine::Builder::new().name("gossamer-reclamation".into()).spawn(collect) };
        started.ok().map(|collector| collector.coroutine().clone())
    };
    COLLECTOR.get_or_init(start).as_ref()
}

/// The collector. Nobody has a handle to cancel it by.
fn collect() {
    let threads = may::config().get_workers() + 1;
    loop {
        let retired = take_retired();
        if retired.is_empty() {
            may::coroutine::park();
            continue;
        }
        let mut seen = Vec::with_capacity(threads);
        while seen.len() < threads {
            // Resumed by the timer's thread, which hands it to the workers by turns.
            may::coroutine::sleep(PAUSE);
            note_thread(&mut seen);
            may::coroutine::yield_now();
            note_thread(&mut seen);
        }
        drop(retired);
    }
}

#[inline(never)]
fn take_retired() -> Retired {
    mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner))
}

#[inline(never)]
fn note_thread(seen: &mut Vec<ThreadId>) {
    let here = thread::current().id();
    if !seen.contains(&here) {
        seen.push(here);
    }
}
