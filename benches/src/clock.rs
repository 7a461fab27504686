//! Processor time: what a measurement costs, beside how long it takes.

use std::time::{Duration, Instant};

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(status, 0, "the kernel does not know clock {clock}");
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time all threads of this process have used. Panics if the kernel has no such clock.
#[must_use]
pub fn process() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time all threads of another process have used, for as long as it was not waited for.
/// Panics if there is no such process.
#[must_use]
pub fn of_process(id: u32) -> Duration {
    let mut clock = 0;
    // SAFETY: `clock` is a valid place for one clock's name.
    let status = unsafe { libc::clock_getcpuclockid(id as libc::pid_t, &raw mut clock) };
    assert_eq!(status, 0, "process {id} has no clock");
    read(clock)
}

/// Processor time this process and the children it has waited for have used.
fn process_and_children() -> Duration {
    process() + children()
}

fn children() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for one rusage.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: all zero is a valid rusage, and the call above can only have filled it in.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// Watches how much of the machine programs other than this one and its children use.
#[derive(Debug)]
pub struct Others {
    busy: Option<Duration>,
    own: Duration,
    start: Instant,
}

impl Others {
    /// Watches from now on.
    #[must_use]
    pub fn watch() -> Self {
        Others { busy: machine(), own: process_and_children(), start: Instant::now() }
    }

    /// The share of all processors they used since, as far as the kernel tells; children count once waited for.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let own = process_and_children().saturating_sub(self.own);
        let others = machine()?.saturating_sub(self.busy?).saturating_sub(own);
        let whole = self.start.elapsed().as_secs_f64() * crate::machine::processors().len() as f64;
        Some(others.as_secs_f64() / whole)
    }
}

/// Busy processor time of the whole machine since it started, as far as the kernel tells.
fn machine() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq
    let busy: u64 = fields.iter().take(3).sum::<u64>() + fields.iter().skip(5).take(2).sum::<u64>();
    // SAFETY: sysconf reads a constant.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Some(Duration::from_secs_f64(busy as f64 / per_second.max(1) as f64))
}
