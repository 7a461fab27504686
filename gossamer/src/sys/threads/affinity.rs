//! Which processors a thread may run on.

use crate::sys::threads::procfs::runnable_threads;
use rustix::process::getpid;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::io;
use std::sync::Mutex;

/// Held while a thread moves another one away, which may run on fewer processors meanwhile than it should.
static MOVING: Mutex<()> = Mutex::new(());

/// The processors this process may use, in order of their number.
///
/// # Errors
/// If the kernel refuses to say; callers fall back to not pinning.
pub(crate) fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Lets the calling thread run wherever the first thread of the process may.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn unpin() -> io::Result<()> {
    let _whole = MOVING.lock();
    Ok(sched_setaffinity(None, &sched_getaffinity(Some(getpid()))?)?)
}

/// Pins the calling thread to one processor.
///
/// # Errors
/// If the processor does not exist or is not allowed.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(rustix::io::Errno::INVAL.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Has another thread leave the processor of the calling one, if it may run on others: one that waits there runs at
/// once if another processor is idle. Where it may run is the same afterwards.
///
/// # Errors
/// If the kernel refuses, or there is no such thread.
pub(crate) fn move_away(thread: Pid) -> io::Result<()> {
    // Somebody else may be moving this one.
    let Ok(_only) = MOVING.try_lock() else { return Ok(()) };
    let allowed = sched_getaffinity(Some(thread))?;
    let here = sched_getcpu();
    // Of no more threads than processors, two share one only if another is idle.
    let is_one_idle = || runnable_threads().is_some_and(|threads| threads <= allowed.count() as usize);
    if here >= CpuSet::MAX_CPU || !allowed.is_set(here) || allowed.count() == 1 || !is_one_idle() {
        return Ok(());
    }
    let mut elsewhere = allowed;
    elsewhere.unset(here);
    sched_setaffinity(Some(thread), &elsewhere)?;
    // A thread whose processors nobody has chosen may run on all, of which the kernel takes those of its container,
    // which may change.
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    sched_setaffinity(Some(thread), &all)?;
    if sched_getaffinity(Some(thread))? != allowed {
        sched_setaffinity(Some(thread), &allowed)?;
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use rustix::thread::gettid;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_thread_that_was_moved_away_may_run_where_it_might_before() {
        let first = allowed().unwrap()[0];
        for is_pinned in [false, true] {
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let other = thread::spawn(move || {
                is_pinned.then(|| pin_to(first).unwrap());
                tell.send((gettid(), allowed().unwrap())).unwrap();
                let _disconnected = ended.recv();
                allowed().unwrap()
            });
            let (other_id, before) = told.recv().unwrap();
            thread::spawn(move || {
                pin_to(first).unwrap();
                move_away(other_id).unwrap();
            })
            .join()
            .unwrap();
            drop(end);
            assert_eq!(other.join().unwrap(), before);
        }
    }
}
