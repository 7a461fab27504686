//! Figures of this process, from the kernel.

use std::fs;
use std::time::Duration;

/// Bytes of memory that are resident.
pub fn resident_bytes() -> usize {
    status("VmRSS:") * 1024
}

/// Those of them that no file backs: the pages of the program itself grow as more of it has run.
pub fn anonymous_bytes() -> usize {
    status("RssAnon:") * 1024
}

/// Threads of this process that have not begun to end. The kernel lists a thread for a moment after it could be joined,
/// with this flag.
pub fn threads() -> usize {
    const ENDING: u64 = 4; // PF_EXITING
    let flags = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("stat")).ok()?;
        text.rsplit_once(')')?.1.split_whitespace().nth(6)?.parse::<u64>().ok()
    };
    let tasks = fs::read_dir("/proc/self/task").expect("/proc is there");
    tasks.filter_map(Result::ok).filter_map(flags).filter(|flags| flags & ENDING == 0).count()
}

fn status(name: &str) -> usize {
    let text = fs::read_to_string("/proc/self/status").expect("/proc is there");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel tells it");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Open file descriptors.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc is there").count()
}

/// Processor time this process has used, of all its threads.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the clock can be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
