//! Counts the system calls of a program, as its tracer.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a program has made each system call, by the call's number.
pub type SystemCalls = BTreeMap<u64, u64>;

/// Starts a program, passes it to `started`, and follows all its threads until it ends. Returns the calls that it made
/// while `is_counting`; or `None`, with a message that says why, where processes may not be traced.
///
/// # Panics
/// If it cannot be started for another reason.
pub fn count_system_calls(
    mut command: Command,
    is_counting: &AtomicBool,
    started: impl FnOnce(Child),
) -> Option<SystemCalls> {
    // SAFETY: one system call, between `fork` and `exec`.
    unsafe { command.pre_exec(|| trace(libc::PTRACE_TRACEME, 0, 0, 0)) };
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            println!("skipped: this process may trace no other: {error}");
            return None;
        }
        Err(error) => panic!("{command:?}: {error}"),
    };
    let program = child.id() as libc::pid_t;
    let (stopped, _) = wait().expect("it stops before it begins");
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
    trace(libc::PTRACE_SETOPTIONS, stopped, 0, options as usize).expect("it is traced");
    go_on(stopped, 0);
    started(child);
    let mut calls = SystemCalls::new();
    while let Some((thread, status)) = wait() {
        if !libc::WIFSTOPPED(status) {
            if thread == program {
                break;
            }
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP | 0x80 {
            let call = entered(thread).filter(|_| is_counting.load(Ordering::Relaxed));
            call.into_iter().for_each(|call| *calls.entry(call).or_default() += 1);
        }
        // A thread begins with a stop, and the others report it by a trap: neither is the program's own.
        let is_its_own = signal & 0x7f != libc::SIGTRAP && signal != libc::SIGSTOP;
        go_on(thread, if is_its_own { signal } else { 0 });
    }
    Some(calls)
}

/// The next of this thread's children that stops or ends, and how it did.
fn wait() -> Option<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: `status` is a live number. Children of other threads are left to them.
    let child = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
    (child > 0).then_some((child, status))
}

/// The call that a stopped thread is about to make; nothing if it returns from one.
fn entered(thread: libc::pid_t) -> Option<u64> {
    // SAFETY: these are plain numbers, for which zero is valid.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    trace(libc::PTRACE_GET_SYSCALL_INFO, thread, size, &raw mut info as usize).ok()?;
    match info.op {
        // SAFETY: the operation says which field of the union was written.
        libc::PTRACE_SYSCALL_INFO_ENTRY => Some(unsafe { info.u.entry.nr }),
        _ => None,
    }
}

fn go_on(thread: libc::pid_t, signal: libc::c_int) {
    // It may have been killed meanwhile.
    let _gone = trace(libc::PTRACE_SYSCALL, thread, 0, signal as usize);
}

fn trace(request: libc::c_uint, thread: libc::pid_t, address: usize, data: usize) -> io::Result<()> {
    let (address, data) = (null_mut::<u8>().wrapping_add(address), null_mut::<u8>().wrapping_add(data));
    // SAFETY: the requests of this file write to `data` only where it is the address of a live value of the size in `address`.
    match unsafe { libc::ptrace(request, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
