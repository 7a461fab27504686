//! The clients of key-value stores that others have written: redis-benchmark and memtier_benchmark.

use super::child::{Program, is_installed};
use super::client::{KEYS, Protocol};
use crate::failure::{Failure, Result};
use std::time::Duration;

/// A program that asks a store for as much as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Benchmark {
    Redis,
    Memtier,
}

/// What it asks for: GET of keys at random.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) port: u16,
    pub(super) protocol: Protocol,
    pub(super) clients: usize,
    pub(super) at_once: usize,
    /// Of all clients together, about.
    pub(super) requests: usize,
}

impl Benchmark {
    pub(super) const ALL: [Self; 2] = [Self::Redis, Self::Memtier];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis-benchmark",
            Self::Memtier => "memtier_benchmark",
        }
    }

    pub(super) fn is_here(self) -> bool {
        is_installed(self.name())
    }

    pub(super) fn speaks(self, protocol: Protocol) -> bool {
        self == Self::Memtier || protocol == Protocol::Resp
    }

    /// Its command, which ends once all was answered.
    pub(super) fn program(self, load: Load, seconds: u64) -> Program {
        let Load { port, protocol, clients, at_once, requests } = load;
        let each = requests.div_ceil(clients);
        let protocol = match protocol {
            Protocol::Resp => "redis",
            Protocol::Memcached => "memcache_text",
        };
        let arguments = match self {
            Self::Redis => {
                format!(
                    "-p {port} -c {clients} -d 32 -r {KEYS} -P {at_once} -n {} -t get --csv",
                    each * clients
                )
            }
            // Keys of the client that fills the store: those whose number has five digits.
            Self::Memtier => format!(
                "-s 127.0.0.1 -p {port} --protocol {protocol} -t 1 -c {clients} --pipeline {at_once} -n {each} \
                 --ratio 0:1 --key-prefix key:0000000 --key-minimum 10000 --key-maximum {} --distinct-client-seed \
                 --hide-histogram",
                KEYS - 1
            ),
        };
        Program::new(self.name(), seconds).arguments(arguments.split(' '))
    }

    /// The requests a second that it has printed.
    ///
    /// # Errors
    /// If it has printed none, or some keys were not found.
    pub(super) fn rate(self, printed: &str) -> Result<f64> {
        let rate = match self {
            // Names, and a line of figures.
            Self::Redis => printed.lines().last().and_then(|line| line.split(',').nth(1)),
            // A line for each command: its name, requests a second, of which this many have found a key, and have not.
            Self::Memtier => {
                printed.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                    ["Gets", rate, _, "0.00", ..] => Some(rate),
                    _ => None,
                })
            }
        };
        let rate = rate.and_then(|rate| rate.trim_matches('"').parse().ok());
        rate.ok_or_else(|| Failure::new(format!("{} has printed {printed:?}", self.name())))
    }
}

/// How long a benchmark and a server took for a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) benchmark: Duration,
    pub(super) processor_time_of_server: Duration,
    pub(super) threads_of_server: usize,
}

impl Took {
    /// Whether so many requests can have been answered at this rate. A program that measures by the time of day is wrong if
    /// that is set meanwhile.
    pub(super) fn allows(self, rate: f64, requests: usize) -> bool {
        let passed = requests as f64 / rate;
        // Starting and ending is counted, too.
        let least = self.processor_time_of_server.as_secs_f64() / self.threads_of_server as f64 / 1.5;
        (least..=self.benchmark.as_secs_f64()).contains(&passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_contradicts_the_time_it_took_is_not_believed() {
        let mut took = Took {
            benchmark: Duration::from_secs(2),
            processor_time_of_server: Duration::from_millis(600),
            threads_of_server: 1,
        };
        assert!(took.allows(1_040_000.0, 960_000));
        for wrong in [10_340_000.0, 2_500_000.0, 470_000.0, 0.0] {
            assert!(!took.allows(wrong, 960_000), "{wrong}");
        }
        took.threads_of_server = 2;
        assert!(took.allows(2_500_000.0, 960_000));
    }

    #[test]
    fn the_rate_is_found_in_what_redis_benchmark_prints() {
        let csv = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"51234.50\",\"0.5\"\n";
        assert_eq!(Benchmark::Redis.rate(csv).unwrap(), 51_234.5);
        assert!(Benchmark::Redis.rate("Could not connect").is_err());
    }

    #[test]
    fn the_rate_is_found_in_what_memtier_benchmark_prints_unless_keys_were_missing() {
        let table = |misses: &str| {
            format!(
                "ALL STATS\nType  Ops/sec  Hits/sec  Misses/sec  KB/sec\n---\nSets  0.00  ---  ---  0.00\n\
                 Gets  51234.50  51234.50  {misses}  2001.34\nTotals  51234.50  51234.50  {misses}  2001.34\n"
            )
        };
        assert_eq!(Benchmark::Memtier.rate(&table("0.00")).unwrap(), 51_234.5);
        assert!(Benchmark::Memtier.rate(&table("17.00")).is_err());
        assert!(Benchmark::Memtier.rate("connection refused").is_err());
    }
}
