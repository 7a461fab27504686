//! How one contender is measured: in a steady state by a clock of its own, or as a timed loop.

use crate::clock;
use crate::latency::Latency;
use crate::machine::Padded;
use crate::statistics;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Which objects a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Those of the other worker (of any other worker, where there are more than two).
    Others,
    /// Any of all, spread over the workers.
    Any,
    /// The one object of the first worker, which all workers share.
    Shared,
}

/// How a client reaches the object it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Inside one process.
    Process,
    /// Between two processes, by memory they share.
    Memory,
    /// Between two processes, by TCP over loopback.
    Tcp,
    /// Between two processes, by TCP over a link of 1 Gbit/s.
    Gigabit,
}

/// What a contender is asked to do. Contenders ignore settings that do not concern them.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How long to measure.
    pub budget: Duration,
    /// Requests a worker keeps in flight: the window of callbacks, or the number of fibers or tasks.
    pub parallel: usize,
    /// How many objects there are: at each worker, or over all of them where they are spread.
    pub objects: usize,
    /// Which objects a client asks.
    pub asked: Asked,
    /// Worker threads.
    pub workers: usize,
    /// Share of writes, in percent.
    pub writes: u64,
    /// Keys by Zipf's law (exponent 0.99), not uniform.
    pub skewed: bool,
    /// How a client reaches the object it asks, where there is one client.
    pub way: Way,
    /// Bytes of a request's arguments, where there is one client.
    pub bytes: usize,
    /// The transferred data ends up on disk, and not in `/dev/null`.
    pub to_disk: bool,
}

impl Setting {
    /// Two workers, one object at each, one request at a time.
    pub const PLAIN: Setting = Setting {
        budget: Duration::from_millis(200),
        parallel: 1,
        objects: 1,
        asked: Asked::Others,
        workers: 2,
        writes: 5,
        skewed: false,
        way: Way::Process,
        bytes: 8,
        to_disk: false,
    };
}

/// What came out of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Operations completed in the time measured.
    pub operations: u64,
    /// The time measured, in seconds.
    pub seconds: f64,
    /// Processor time all processes of the contender used meanwhile, in seconds.
    pub cpu_seconds: f64,
    /// How long single operations took, if that was watched.
    pub latency: Option<Latency>,
}

impl Sample {
    /// For operations whose single times were not measured.
    #[must_use]
    pub fn new(operations: u64, seconds: f64, cpu_seconds: f64) -> Self {
        Sample { operations, seconds, cpu_seconds, latency: None }
    }

    /// As one line of text.
    #[must_use]
    pub fn to_line(&self) -> String {
        let Latency { p50, p99 } = self.latency.unwrap_or(Latency { p50: f64::NAN, p99: f64::NAN });
        format!("{} {} {} {p50} {p99}", self.operations, self.seconds, self.cpu_seconds)
    }

    /// From the line that `to_line` made.
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        let figures: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        let [operations, seconds, cpu_seconds, p50, p99] = figures.ok()?[..] else { return None };
        let latency = (!p50.is_nan()).then_some(Latency { p50, p99 });
        Some(Sample { operations: operations as u64, seconds, cpu_seconds, latency })
    }

    /// Million operations per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds / 1e6
    }

    /// Nanoseconds per operation.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        self.seconds * 1e9 / self.operations.max(1) as f64
    }

    /// Processor nanoseconds per operation.
    #[must_use]
    pub fn cpu_nanoseconds(&self) -> f64 {
        self.cpu_seconds * 1e9 / self.operations.max(1) as f64
    }
}

/// The samples of one row, one per round.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// In the order of the rounds; `None` where the contender failed.
    pub samples: Vec<Option<Sample>>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// The program it needs that is not installed, if so.
    pub missing: Option<&'static str>,
}

impl Measured {
    /// A figure of each round.
    pub fn figures(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().flatten().map(figure).collect()
    }

    /// The medians over the rounds that worked, if single operations were watched.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        let all: Vec<_> = self.samples.iter().flatten().filter_map(|sample| sample.latency).collect();
        let median =
            |part: fn(&Latency) -> f64| statistics::median(&all.iter().map(part).collect::<Vec<_>>());
        (!all.is_empty()).then(|| Latency { p50: median(|each| each.p50), p99: median(|each| each.p99) })
    }

    /// The median over the rounds that worked.
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        statistics::median(&self.figures(figure))
    }
}

/// A contender: measures itself in the setting given, and panics if it computes something wrong.
pub type Measure = fn(&Setting) -> Sample;

/// Counts of completed operations, one line per counting thread or task, and the order to stop.
pub struct Meter {
    lines: [Padded<AtomicU64>; Meter::LINES],
    stop: AtomicBool,
}

/// The one meter of this process: a process measures one contender.
pub static METER: Meter =
    Meter { lines: [const { Padded(AtomicU64::new(0)) }; Meter::LINES], stop: AtomicBool::new(false) };

impl Meter {
    /// How many threads or tasks can count at once.
    pub const LINES: usize = 64;

    /// Adds completed operations. Each line has one writer at a time, so this is a load and a store.
    #[inline(always)]
    pub fn add(&self, line: usize, operations: u64) {
        let count = &self.lines[line].0;
        count.store(count.load(Ordering::Relaxed) + operations, Ordering::Relaxed);
    }

    /// Whether the measurement is over.
    #[inline(always)]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Orders everybody to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// All operations counted so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lines.iter().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }

    /// Waits until the first `lines` lines count, lets them warm up, watches them for the time of the setting,
    /// and gives the order to stop. Call it on a thread that does nothing else.
    pub fn watch(&self, setting: &Setting, lines: usize) -> Sample {
        self.watch_all(setting, lines, &clock::process)
    }

    /// As `watch`, for a contender whose processes have used the processor time that `used` says.
    pub fn watch_all(&self, setting: &Setting, lines: usize, used: &dyn Fn() -> Duration) -> Sample {
        while self.lines.iter().take(lines).any(|line| line.0.load(Ordering::Relaxed) == 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep((setting.budget / 4).max(Duration::from_millis(15)));
        let (before, cpu, start) = (self.total(), used(), Instant::now());
        std::thread::sleep(setting.budget);
        let (after, seconds) = (self.total(), start.elapsed().as_secs_f64());
        let cpu_seconds = (used() - cpu).as_secs_f64();
        self.stop();
        Sample::new(after - before, seconds, cpu_seconds)
    }
}

/// Runs `body` on one pinned thread per worker until the meter stops; `body` does a few hundred operations
/// and says how many. Returns what the meter saw.
pub fn on_threads(setting: &Setting, body: impl Fn(usize) -> u64 + Send + Sync + 'static) -> Sample {
    let body = std::sync::Arc::new(body);
    let start = |worker| {
        let body = body.clone();
        crate::machine::pinned(worker, move || {
            while !METER.stopped() {
                METER.add(worker, body(worker));
            }
        })
    };
    let threads: Vec<_> = (0..setting.workers).map(start).collect();
    let sample = METER.watch(setting, setting.workers);
    for thread in threads {
        assert!(thread.join().is_ok(), "a worker panicked");
    }
    sample
}

/// Times `body(count)`, which does `count` operations, again and again for the time of the setting.
pub fn timed(setting: &Setting, mut body: impl FnMut(u64)) -> Sample {
    let mut count = 1;
    loop {
        let start = Instant::now();
        body(count);
        if start.elapsed() > setting.budget / 50 {
            break;
        }
        count *= 2;
    }
    let (mut operations, cpu, start) = (0, clock::process(), Instant::now());
    while start.elapsed() < setting.budget {
        body(count);
        operations += count;
    }
    let seconds = start.elapsed().as_secs_f64();
    Sample::new(operations, seconds, (clock::process() - cpu).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_after_a_line_of_text() {
        let plain = Sample::new(12, 0.5, 1.25);
        let timed = Sample { latency: Some(Latency { p50: 170.0, p99: 250.5 }), ..plain };
        assert_eq!(
            [plain, timed].map(|sample| Sample::from_line(&sample.to_line())),
            [plain, timed].map(Some)
        );
        assert_eq!(Sample::from_line("12 0.5"), None);
    }
}
