//! Which processors a thread may run on.

use std::io;

/// The processors this process may use, in order of their number.
///
/// # Errors
/// If the kernel refuses to say; callers fall back to not pinning.
pub(crate) fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: `cpu_set_t` is plain bits; all zero is its empty value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `set` is a live `cpu_set_t` of the size passed; 0 names the calling thread.
    let status = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: every index is below CPU_SETSIZE, the number of bits in `set`.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Lets the calling thread run wherever the first thread of the process may.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn unpin() -> io::Result<()> {
    // SAFETY: `cpu_set_t` is plain bits; all zero is its empty value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    let first = std::process::id() as libc::pid_t;
    // SAFETY: `set` is a live `cpu_set_t` of the size passed; the first thread has the number of the process.
    if unsafe { libc::sched_getaffinity(first, size_of::<libc::cpu_set_t>(), &mut set) } == 0
        // SAFETY: as above; 0 names the calling thread.
        && unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } == 0
    {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Pins the calling thread to one processor.
///
/// # Errors
/// If the processor does not exist or is not allowed.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: `cpu_set_t` is plain bits; all zero is its empty value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE (checked above).
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is a live `cpu_set_t` of the size passed; 0 names the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
