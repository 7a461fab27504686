//! What the kernel reports about a thread of this process.

use rustix::thread::{Pid, gettid};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the time went in which a thread was not asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    pub(crate) ran: Duration,
    /// It could have run, but others had the processors.
    pub(crate) waited: Duration,
}

impl ThreadTimes {
    /// Those of the calling thread until now. Allocates nothing, and keeps no descriptor: programs may count theirs.
    pub(crate) fn here() -> Option<Self> {
        Self::read(Path::new("/proc/thread-self/schedstat"))
    }

    fn read(file: &Path) -> Option<Self> {
        let mut text = [0; 64];
        let mut numbers = beginning(file, &mut text)?.split_ascii_whitespace();
        let mut next = || numbers.next()?.parse().ok().map(Duration::from_nanos);
        Some(Self { ran: next()?, waited: next()? })
    }
}

/// How many threads of the machine run or wait for a processor. Allocates nothing, and takes some microseconds.
pub(crate) fn runnable_threads() -> Option<usize> {
    let mut text = [0; 64];
    let threads = beginning(Path::new("/proc/loadavg"), &mut text)?.split_ascii_whitespace().nth(3)?;
    threads.split_once('/')?.0.parse().ok()
}

/// What a file begins with.
fn beginning<'a>(file: &Path, text: &'a mut [u8]) -> Option<&'a str> {
    let length = File::open(file).and_then(|mut file| file.read(text)).ok()?;
    str::from_utf8(&text[..length]).ok()
}

/// A thread: its number, and its directory below `/proc`.
pub(crate) struct ThreadFiles {
    pub(crate) id: Pid,
    directory: PathBuf,
}

impl ThreadFiles {
    /// The calling thread, if the kernel names it.
    pub(crate) fn here() -> Option<Self> {
        let thread = fs::read_link("/proc/thread-self").ok()?;
        Some(Self { id: gettid(), directory: Path::new("/proc").join(thread) })
    }

    /// Nanoseconds for which it has run.
    pub(crate) fn processor_time(&self) -> Option<u64> {
        ThreadTimes::read(&self.directory.join("schedstat")).map(|times| times.ran.as_nanos() as u64)
    }

    /// Whether it waits in the kernel for something: it does not run, and would not if it had a processor.
    pub(crate) fn is_waiting(&self) -> bool {
        let text = fs::read_to_string(self.directory.join("stat")).unwrap_or_default();
        // After the name, which is in brackets and may contain some.
        text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D']))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_waits_is_told_from_one_that_runs() {
        let (here, there) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            here.send(ThreadFiles::here()).unwrap();
            let _disconnected = ended.recv();
        });
        let files = there.recv().unwrap().unwrap();
        while !files.is_waiting() {
            std::thread::yield_now();
        }
        assert_eq!(files.processor_time().unwrap(), files.processor_time().unwrap());
        assert!(!ThreadFiles::here().unwrap().is_waiting());
        drop(end);
        thread.join().unwrap();
    }
}
