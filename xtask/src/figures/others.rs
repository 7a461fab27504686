//! How much of the machine other programs take during a measurement.

use std::fs;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

/// A measurement is disturbed if other programs take a larger share of the machine. The kernel counts in hundredths of
/// a second, and does some work that it counts for no process.
const TOLERATED: f64 = 0.08;

/// Processor times that the kernel reports, in hundredths of a second since the start of the machine, or of the
/// process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    /// Of all programs and the kernel, including the time that the host took from a virtual machine.
    machine: u64,
    /// Of this process, and of those children that were waited for.
    own: u64,
}

impl Times {
    /// Nothing where the kernel does not say so.
    fn now() -> Option<Self> {
        let machine = busy(&fs::read_to_string("/proc/stat").ok()?)?;
        Some(Self { machine, own: own(&fs::read_to_string("/proc/self/stat").ok()?)? })
    }
}

/// Watches other programs from now on.
#[derive(Debug)]
pub(crate) struct Others {
    times: Option<Times>,
    begun: Instant,
}

impl Others {
    pub(crate) fn watch() -> Self {
        Self { times: Times::now(), begun: Instant::now() }
    }

    /// The share of all processors that other programs took. Children count as our own once they were waited for.
    pub(crate) fn share(&self) -> f64 {
        let processors = available_parallelism().map_or(1, usize::from);
        match (self.times, Times::now()) {
            (Some(before), Some(after)) => share(before, after, self.begun.elapsed(), processors),
            _ => 0.0,
        }
    }
}

fn share(before: Times, after: Times, time: Duration, processors: usize) -> f64 {
    let machine = after.machine.saturating_sub(before.machine);
    let others = machine.saturating_sub(after.own.saturating_sub(before.own));
    others as f64 / 100.0 / (time.as_secs_f64() * processors as f64)
}

pub(crate) fn disturbs(share: f64) -> bool {
    share > TOLERATED
}

/// Waits until other programs are quiet, but at most this long.
pub(crate) fn wait_for_quiet(patience: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        let others = Others::watch();
        sleep(Duration::from_millis(200).min(patience));
        if !disturbs(others.share()) {
            return;
        }
    }
}

/// From `/proc/stat`: user, nice, system, idle, waiting for input and output, interrupts, soft interrupts, stolen by the host.
fn busy(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().map_while(|time| time.parse().ok()).collect();
    let [user, nice, system, _, _, interrupts, soft, stolen, ..] = times[..] else { return None };
    Some(user + nice + system + interrupts + soft + stolen)
}

/// From `/proc/self/stat`: user and system time of the process, and of its children.
fn own(stat: &str) -> Option<u64> {
    Some(fields(stat)?.get(11..15)?.iter().sum())
}

/// The fields of a process's `stat` after its name, which may contain any characters. The first is the state, a letter
/// that counts as 0.
pub(super) fn fields(stat: &str) -> Option<Vec<u64>> {
    let (_, rest) = stat.rsplit_once(") ")?;
    // Numbers below 0 do not matter here.
    Some(rest.split(' ').map(|field| field.trim().parse().unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_times_are_read() {
        let stat = "cpu  100 1 10 5000 30 2 3 4 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(busy(stat), Some(120));
        assert_eq!(busy("intr 1 2 3"), None);
        let stat = "42 (a name) of) S 1 42 42 0 -1 4194560 1 2 3 4 50 6 700 8 20 0 1 0 9\n";
        assert_eq!(own(stat), Some(764));
        assert_eq!(own("42"), None);
    }

    #[test]
    fn what_others_take_is_a_share_of_all_processors() {
        let before = Times { machine: 1000, own: 100 };
        let after = Times { machine: 1300, own: 300 };
        // One second of two processors' ten.
        assert_eq!(share(before, after, Duration::from_secs(5), 2), 0.1);
        assert_eq!(share(before, Times { machine: 1100, own: 300 }, Duration::from_secs(5), 2), 0.0);
        assert!(disturbs(0.1) && !disturbs(0.05));
    }

    #[test]
    fn this_machine_tells_its_times() {
        let others = Others::watch();
        sleep(Duration::from_millis(20));
        assert!(Times::now().is_some());
        assert!(others.share() >= 0.0);
    }
}
