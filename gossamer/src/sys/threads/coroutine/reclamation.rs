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
//! - Y7: may's threads are its workers and its timer's thread (Y1). A coroutine that a worker takes from its queue, or the
//!   timer's thread from its list, is not resumed inside of a `subscribe`; and a thread in a `subscribe` takes up nothing
//!   else. (A coroutine that is resumed by another one could be in one and suspended; Y1 rules that out.)
//! - Y8: so once coroutines were taken up by each of them after something was retired, nobody uses that. The collector
//!   joins those, which orders its last step after theirs.
//! - Y9: the collector itself never ends, and what it starts is not suspended, except that it may yield (where it drops
//!   the last of a blocker), after which its thread uses nothing of it.
//!
//! What is retired while a thread of may is held up, by a coroutine that computes or blocks, is kept that long. If it is
//! the timer's thread, which resumes what has slept, all timers of may stand still, too.

use crate::sys::threads::coroutine::CoroutineWaker;
use may::coroutine::{Coroutine, JoinHandle};
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// From round to round: what is retired meanwhile is kept, and a round costs some 3 us of processor time for each worker
/// of may.
const PAUSE: Duration = Duration::from_millis(10);

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

/// `None` if may could not make a coroutine: what is retired is kept for good.
fn collector() -> Option<&'static Coroutine> {
    static COLLECTOR: OnceLock<Option<Coroutine>> = OnceLock::new();
    let start = || {
        let builder = may::coroutine::Builder::new().name("gossamer-reclamation".into());
        // SAFETY: what uses thread-locals is not inlined into it (Y3); only its timer, `unpark` and those that it joins
        // wake it (Y1).
        let started = made(|| unsafe { builder.spawn(collect) });
        started.map(|collector| collector.coroutine().clone())
    };
    COLLECTOR.get_or_init(start).as_ref()
}

/// What may makes, unless it has no memory for a stack, where it panics. The collector must not unwind: it would drop
/// what is in use.
#[inline(never)]
fn made<T>(make: impl FnOnce() -> io::Result<T>) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(make)).ok()?.ok()
}

/// The collector. Nobody has a handle to cancel it by.
fn collect() {
    let workers = may::config().get_workers();
    loop {
        let retired = take_retired();
        if retired.is_empty() {
            may::coroutine::park();
            continue;
        }
        let mut seen = Vec::with_capacity(workers + 1);
        // Where coroutines are stolen, a worker may be missed.
        while seen.len() <= workers {
            may::coroutine::sleep(PAUSE);
            // The timer's.
            note(&mut seen, this_thread());
            let visits: Vec<_> = (0..workers).filter_map(visit).collect();
            visits
                .into_iter()
                .filter_map(|visit| visit.join().ok())
                .for_each(|thread| note(&mut seen, thread));
        }
        drop(retired);
    }
}

#[inline(never)]
fn take_retired() -> Retired {
    mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn note(seen: &mut Vec<ThreadId>, thread: ThreadId) {
    if !seen.contains(&thread) {
        seen.push(thread);
    }
}

/// Learns the thread of a worker, when that takes up a coroutine. `None` if may cannot make one.
fn visit(worker: usize) -> Option<JoinHandle<ThreadId>> {
    // SAFETY: Y9; what uses a thread-local is not inlined into it (Y3).
    made(|| unsafe { may::coroutine::Builder::new().id(worker).spawn(this_thread) })
}

#[inline(never)]
fn this_thread() -> ThreadId {
    thread::current().id()
}
