//! What the kernel reports about a thread of this process.

use rustix::thread::{Pid, gettid};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Fields of `stat` between the state of a thread and its processor.
const BEFORE_PROCESSOR: usize = 35;

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
        let length = File::open(file).and_then(|mut file| file.read(&mut text)).ok()?;
        let mut numbers = str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace();
        let mut next = || numbers.next()?.parse().ok().map(Duration::from_nanos);
        Some(Self { ran: next()?, waited: next()? })
    }
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
        self.state().is_some_and(|(letter, _)| matches!(letter, 'S' | 'D'))
    }

    /// The processor that it runs on, or waits for while another thread runs there; none if it waits for something else.
    pub(crate) fn waits_for(&self) -> Option<usize> {
        self.state().and_then(|(letter, processor)| (letter == 'R').then_some(processor))
    }

    /// What the kernel says that it does, and the processor that it has run on last, runs on or waits for.
    fn state(&self) -> Option<(char, usize)> {
        let text = fs::read_to_string(self.directory.join("stat")).ok()?;
        // After the name, which is in brackets and may contain some.
        let mut fields = text.rsplit_once(") ")?.1.split_ascii_whitespace();
        let letter = fields.next()?.chars().next()?;
        Some((letter, fields.nth(BEFORE_PROCESSOR)?.parse().ok()?))
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
        let here = ThreadFiles::here().unwrap();
        assert!(!here.is_waiting() && here.waits_for().is_some());
        assert_eq!(files.waits_for(), None);
        drop(end);
        thread.join().unwrap();
    }
}
