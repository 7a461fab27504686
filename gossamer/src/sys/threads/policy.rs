//! The scheduling policy of a thread: whether it interrupts the one that runs on its processor when it is woken. And how
//! threads that a worker starts lose what they inherit.

use crate::sys::threads::affinity;
use std::io;

/// Has the calling thread wait, when it is woken, until the thread that runs on its processor sleeps or has used its time
/// (`SCHED_BATCH`), or has the kernel decide whether it interrupts that one (`SCHED_OTHER`). Neither needs a privilege.
/// Threads and processes that it starts inherit it.
///
/// # Errors
/// If the thread has another policy than the other of these two, which somebody else must have chosen; and if the kernel
/// refuses.
pub(crate) fn set_waits_when_woken(waits: bool) -> io::Result<()> {
    let [before, after] = match waits {
        true => [libc::SCHED_OTHER, libc::SCHED_BATCH],
        false => [libc::SCHED_BATCH, libc::SCHED_OTHER],
    };
    if of_thread(0)? != before {
        return Err(io::ErrorKind::Unsupported.into());
    }
    set(after)
}

/// Has the calling thread run as the first thread of the process does: on its processors, and by its policy unless that
/// has priorities. For threads that a worker starts, which inherit what is meant for the worker only.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn run_as_first_thread() -> io::Result<()> {
    affinity::unpin()?;
    let policy = without_a_workers(of_thread(0)?, of_thread(std::process::id() as libc::pid_t)?);
    policy.map_or(Ok(()), set)
}

/// The policy for a thread that a worker has started with its `own`, by that of the first thread; `None` if it keeps it.
fn without_a_workers(own: libc::c_int, first: libc::c_int) -> Option<libc::c_int> {
    // Whether threads inherit a policy is told beside it.
    match first & !libc::SCHED_RESET_ON_FORK {
        policy @ (libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE) => Some(policy),
        _ => (own == libc::SCHED_BATCH).then_some(libc::SCHED_OTHER),
    }
}

/// The policy of a thread; 0 is the calling one.
fn of_thread(thread: libc::pid_t) -> io::Result<libc::c_int> {
    // SAFETY: reads and writes no memory of this process.
    match unsafe { libc::sched_getscheduler(thread) } {
        -1 => Err(io::Error::last_os_error()),
        policy => Ok(policy),
    }
}

fn set(policy: libc::c_int) -> io::Result<()> {
    // SAFETY: plain numbers; these policies have the priority 0.
    let parameters: libc::sched_param = unsafe { core::mem::zeroed() };
    // SAFETY: `parameters` lives during the call; 0 names the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_waits_when_it_is_woken_until_it_is_told_otherwise() {
        thread::spawn(|| {
            let first = of_thread(std::process::id() as libc::pid_t).unwrap();
            set(libc::SCHED_OTHER).unwrap();
            set_waits_when_woken(true).unwrap();
            assert_eq!(of_thread(0).unwrap(), libc::SCHED_BATCH);
            let inherits = || of_thread(0).unwrap();
            assert_eq!(thread::spawn(inherits).join().unwrap(), libc::SCHED_BATCH);
            let does_not = || run_as_first_thread().and_then(|()| of_thread(0)).unwrap();
            assert_eq!(thread::spawn(does_not).join().unwrap(), first);
            set_waits_when_woken(false).unwrap();
            assert_eq!(of_thread(0).unwrap(), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_a_worker_starts_loses_the_workers_policy_whatever_that_of_the_first_thread_is() {
        let reset = libc::SCHED_RESET_ON_FORK;
        for (first, expected) in [
            (libc::SCHED_OTHER, libc::SCHED_OTHER),
            (libc::SCHED_OTHER | reset, libc::SCHED_OTHER),
            (libc::SCHED_BATCH | reset, libc::SCHED_BATCH),
            (libc::SCHED_IDLE, libc::SCHED_IDLE),
            (libc::SCHED_FIFO | reset, libc::SCHED_OTHER),
        ] {
            assert_eq!(without_a_workers(libc::SCHED_BATCH, first), Some(expected), "{first:#x}");
        }
        assert_eq!(without_a_workers(libc::SCHED_FIFO, libc::SCHED_FIFO), None);
    }

    #[test]
    fn a_policy_that_somebody_else_has_chosen_stays() {
        thread::spawn(|| {
            set(libc::SCHED_IDLE).unwrap();
            for waits in [true, false] {
                assert_eq!(set_waits_when_woken(waits).unwrap_err().kind(), io::ErrorKind::Unsupported);
                assert_eq!(of_thread(0).unwrap(), libc::SCHED_IDLE);
            }
        })
        .join()
        .unwrap();
    }
}
