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
    match of_thread(std::process::id() as libc::pid_t)? {
        policy @ (libc::SCHED_OTHER | libc::SCHED_BATCH) => set(policy),
        _ => Ok(()),
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
