//! Which processors a thread may run on.

use crate::sys::threads::procfs::ThreadFiles;
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

/// The processor that the calling thread runs on, or has just run on.
pub(crate) fn here() -> usize {
    sched_getcpu()
}

/// Has another thread leave the processor of the calling one, if it waits there and may run elsewhere. Where it may run
/// is the same afterwards. Returns whether it was moved. Takes some 20 us, and 100 if another processor has to be woken.
///
/// # Errors
/// If the kernel refuses, or there is no such thread.
pub(crate) fn move_away(thread: &ThreadFiles) -> io::Result<bool> {
    // Somebody else may be moving this one.
    let Ok(_only) = MOVING.try_lock() else { return Ok(false) };
    let (here, allowed) = (here(), sched_getaffinity(Some(thread.id))?);
    let may = here < CpuSet::MAX_CPU && allowed.is_set(here) && allowed.count() > 1;
    let waits = may && thread.waits_for() == Some(here);
    if waits {
        exclude(here, thread.id, allowed)?;
    }
    Ok(waits)
}

/// Has a thread leave a processor, and then lets it run again wherever it might.
fn exclude(processor: usize, thread: Pid, allowed: CpuSet) -> io::Result<()> {
    let mut elsewhere = allowed;
    elsewhere.unset(processor);
    sched_setaffinity(Some(thread), &elsewhere)?;
    // A thread whose processors nobody has chosen may run on all, of which the kernel takes those of its container,
    // which may change.
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    let whole = sched_setaffinity(Some(thread), &all).and_then(|()| sched_getaffinity(Some(thread)));
    if whole.is_ok_and(|whole| whole == allowed) {
        return Ok(());
    }
    Ok(sched_setaffinity(Some(thread), &allowed)?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use rustix::thread::gettid;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_thread_that_was_moved_may_run_where_it_might_before() {
        let processors = allowed().unwrap();
        // On all of them, and on all but one.
        for narrow in [false, true] {
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let other = thread::spawn(move || {
                let mut set = sched_getaffinity(None).unwrap();
                if narrow && set.count() > 1 {
                    set.unset(allowed().unwrap()[0]);
                    sched_setaffinity(None, &set).unwrap();
                }
                tell.send((gettid(), set)).unwrap();
                let _disconnected = ended.recv();
                assert!(sched_getaffinity(None).unwrap() == set);
            });
            let (id, set) = told.recv().unwrap();
            for &processor in processors.iter().filter(|&&processor| set.is_set(processor) && set.count() > 1)
            {
                exclude(processor, id, set).unwrap();
                assert!(sched_getaffinity(Some(id)).unwrap() == set);
            }
            drop(end);
            other.join().unwrap();
        }
    }
}
