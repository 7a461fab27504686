//! How a runtime is set up, from the program.

use crate::counters::address::MetricsAddress;
use crate::counters::trace::Sampling;
use crate::fabric::choice::FabricChoice;
use crate::transport::seal::protection::Protection;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a runtime is set up. The environment overrides what the program sets, so that a user can change it without
/// the source:
///
/// | setting | variable | default |
/// |---|---|---|
/// | [`threads`](Config::threads) | `GOSSAMER_THREADS` | one per processor this process may use |
/// | [`stack_size`](Config::stack_size) | `GOSSAMER_STACK_KIB` | 256 KiB |
/// | [`fabric`](Config::fabric) | `GOSSAMER_FABRIC` (`auto`, `shm`, `tcp` or `verbs`) | the best for each pair of nodes |
/// | [`protection`](Config::protection) | `GOSSAMER_PROTECTION` (`checked`, `authenticated` or `encrypted`) | `checked` |
/// | [`backlog`](Config::backlog) | `GOSSAMER_BACKLOG` | 1,048,576 requests |
/// | [`blocking_threads`](Config::blocking_threads) | `GOSSAMER_BLOCKING_THREADS` | 512 |
/// | [`blocked_after`](Config::blocked_after) | `GOSSAMER_BLOCKED_MILLISECONDS` (0: never) | 100 ms |
/// | [`stalled_after`](Config::stalled_after) | `GOSSAMER_STALL_SECONDS` (0: never) | 30 s |
/// | [`pin`](Config::pin) | `GOSSAMER_PIN` (`0` or `1`) | on, if the processors are the program's own |
/// | [`metrics`](Config::metrics) | `GOSSAMER_METRICS` (`address:port`, `port`, or `unix:` and a folder) | nowhere |
/// | [`trace`](Config::trace) | `GOSSAMER_TRACE` (a file) | nowhere |
/// | [`trace_every`](Config::trace_every) | `GOSSAMER_TRACE_EVERY` | 256 |
///
/// ```
/// let sum = gossamer::run(gossamer::Config::default().threads(2), || 1 + 1);
/// assert_eq!(sum, 2);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Config {
    pub(super) threads: Option<usize>,
    pub(super) stack: usize,
    pub(super) pin: Option<bool>,
    pub(crate) fabric: FabricChoice,
    pub(crate) protection: Protection,
    pub(crate) backlog: usize,
    pub(crate) blocking_threads: Option<usize>,
    pub(crate) metrics: Option<MetricsAddress>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) trace_every: u32,
    pub(super) blocked: Duration,
    pub(super) stalled: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: None,
            stack: 256 * 1024,
            pin: None,
            fabric: FabricChoice::Auto,
            protection: Protection::Checked,
            backlog: 1 << 20,
            blocking_threads: None,
            metrics: None,
            trace: None,
            trace_every: 256,
            blocked: Duration::from_millis(100),
            stalled: Duration::from_secs(30),
        }
    }
}

impl Config {
    /// The number of workers, from 1 to 4096.
    ///
    /// ```
    /// let config = gossamer::Config::default().threads(2);
    /// assert_eq!(gossamer::run(config, || gossamer::Trustee::all().len()), 2);
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Bytes of stack of each spawned fiber (the first one has 8 MiB), rounded up to whole pages of 4 KiB: from 16 KiB
    /// to 1 GiB. A guard page comes on top. Only the pages that a fiber touches take memory.
    ///
    /// ```
    /// let config = gossamer::Config::default().stack_size(64 * 1024);
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack = bytes;
        self
    }

    /// Whether each worker stays on one processor.
    ///
    /// By default they do if there are no more workers than processors, and if the processors are the program's own:
    /// an exclusive cpuset, isolated processors, those of a Slurm job. Elsewhere the kernel places the workers, since
    /// a pinned worker has to wait for other programs on its processor while another one may be idle.
    ///
    /// ```
    /// let config = gossamer::Config::default().threads(2).pin(false); // other programs need these processors, too
    /// assert_eq!(gossamer::run(config, || gossamer::Trustee::all().len()), 2);
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = Some(pin);
        self
    }

    /// The fabric between nodes: shared memory, RDMA or TCP. The setting of node 0 applies to all.
    ///
    /// ```
    /// let config = gossamer::Config::default().fabric(gossamer::FabricChoice::Tcp);
    /// ```
    pub fn fabric(mut self, fabric: FabricChoice) -> Self {
        self.fabric = fabric;
        self
    }

    /// How everything between nodes of different machines is protected: requests, results and control messages. All
    /// nodes need the same setting. Authenticated or encrypted data goes over TCP, not by RDMA, whose devices would
    /// write it past all checks.
    ///
    /// Nodes of one machine still share memory: only processes of the same user can access it, and those can read and
    /// change a node's own memory anyway.
    ///
    /// ```
    /// let config = gossamer::Config::default().protection(gossamer::Protection::Encrypted);
    /// ```
    pub fn protection(mut self, protection: Protection) -> Self {
        self.protection = protection;
        self
    }

    /// Whether nodes of one machine share memory, or use TCP as nodes of different machines do.
    #[deprecated(
        note = "say `fabric(FabricChoice::Auto)` for `true`, `fabric(FabricChoice::Tcp)` for `false`"
    )]
    pub fn share_memory(self, share: bool) -> Self {
        self.fabric(if share { FabricChoice::Auto } else { FabricChoice::Tcp })
    }

    /// How many requests of one worker for one trustee may be queued in memory without consequences: 1,048,576 by
    /// default, and at least 1. Only delegated closures and callbacks queue them, as they cannot wait when a lane is
    /// full. A worker that has more serves nothing until its requests are served, so that those who send to it wait,
    /// unless it would wait for itself that way, or for another node. With 64 times as many the next request panics,
    /// since a program that makes ever more requests would use up the memory. A queued request takes 40 bytes and its
    /// arguments.
    ///
    /// It is also how many messages of threads that are not workers may wait for one trustee; the next thread waits.
    ///
    /// ```
    /// use gossamer::{Config, Trust, Trustee};
    /// gossamer::run(Config::default().threads(2).backlog(10), || {
    ///     let (here, far) = (Trustee::all()[0].entrust(()), Trustee::all()[1].entrust(0_u64));
    ///     let flood = |_: &mut (), far: Trust<u64>| {
    ///         (0..100_000).for_each(|_| far.apply_then(|count| *count += 1, drop)); // it cannot wait for room
    ///     };
    ///     let error = here.try_apply_with(flood, far).unwrap_err();
    ///     assert!(error.to_string().contains("backlog"));
    /// });
    /// ```
    pub fn backlog(mut self, requests: usize) -> Self {
        self.backlog = requests;
        self
    }

    /// How many threads the whole process may have for blocking work ([`unblock`](crate::unblock)): the setting of
    /// the runtime that started last, or else 512.
    ///
    /// ```
    /// let config = gossamer::Config::default().threads(1).blocking_threads(4); // as many as the database has connections
    /// assert_eq!(gossamer::run(config, || gossamer::unblock(|| 6 * 7)), 42);
    /// ```
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.blocking_threads = Some(threads);
        self
    }

    /// Where a node serves what it [counts](mod@crate::metrics) over HTTP, at `/metrics`: node `n` of a rack at this
    /// port plus `n`. Anybody who can reach the address can read the metrics. In the environment, a port alone means
    /// 127.0.0.1, and `unix:` with a directory makes node `n` serve at the socket `n` in that directory, only for its
    /// user.
    ///
    /// ```
    /// let config = gossamer::Config::default().metrics("127.0.0.1:9400".parse().unwrap());
    /// ```
    pub fn metrics(mut self, address: SocketAddr) -> Self {
        self.metrics = Some(MetricsAddress::Tcp(address));
        self
    }

    /// The file into which a [trace](https://ui.perfetto.dev) is written when the runtime ends: the latest events of
    /// the workers of all nodes, on one clock. Node 0 writes it, and overwrites the file. `docs/profiling.md`
    /// explains its content and its cost: a mebibyte for each worker, and a few percent of its time.
    ///
    /// ```
    /// let config = gossamer::Config::default().trace("trace.json");
    /// ```
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        self.trace = Some(file.into());
        self
    }

    /// A [trace](Self::trace) has one of this many batches of a lane, and turns of a worker: a power of two up to
    /// 65,536. All nodes need the same setting. With 1 it has them all, and the program is slower.
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("every-turn-{}.json", std::process::id()));
    /// let config = gossamer::Config::default().threads(1).trace(&file).trace_every(1); // all of it
    /// gossamer::run(config, || gossamer::spawn(gossamer::yield_now).join());
    /// assert!(std::fs::read_to_string(&file)?.contains("traceEvents"));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn trace_every(mut self, every: u32) -> Self {
        self.trace_every = every;
        self
    }

    /// The sampling of batches and turns, if there is to be a trace.
    pub(crate) fn traced(&self) -> Option<Sampling> {
        self.trace.as_ref().map(|_| Sampling::one_of(self.trace_every))
    }

    /// How long a fiber, a delegated closure or a callback may occupy its worker, while others of that worker wait,
    /// before that is reported on standard error, once for each place in the program. Zero: never.
    ///
    /// ```
    /// let config = gossamer::Config::default().blocked_after(std::time::Duration::from_millis(10));
    /// ```
    pub fn blocked_after(mut self, limit: Duration) -> Self {
        self.blocked = limit;
        self
    }

    /// After how long without any progress to look for fibers that wait for ever: for each other, by latches and
    /// joins, in a collective for a node that has no fiber to call it, or all of them for messages, locks and each other.
    /// These are reported on standard error, with every source line involved. Zero: never.
    ///
    /// ```
    /// use std::time::Duration;
    /// let config = gossamer::Config::default().threads(2).stalled_after(Duration::from_secs(2)); // of a test
    /// assert_eq!(gossamer::run(config, || gossamer::spawn(|| 6 * 7).join()), 42);
    /// ```
    pub fn stalled_after(mut self, limit: Duration) -> Self {
        self.stalled = limit;
        self
    }

    /// After how long a worker counts as occupied, if that is to be reported.
    pub(crate) fn block_limit(&self) -> Option<Duration> {
        Some(self.blocked).filter(|limit| *limit > Duration::ZERO)
    }

    /// After how long without progress to look for deadlocks, if they are to be reported.
    pub(crate) fn stall_limit(&self) -> Option<Duration> {
        Some(self.stalled).filter(|limit| *limit > Duration::ZERO)
    }

    /// The number of workers, if it was set.
    pub(crate) fn chosen_threads(&self) -> Option<usize> {
        self.threads
    }

    /// Whether workers are pinned, if that was set.
    pub(crate) fn chosen_pin(&self) -> Option<bool> {
        self.pin
    }

    /// With this number of workers, unless one was set.
    pub(crate) fn or_threads(mut self, threads: Option<usize>) -> Self {
        self.threads = self.threads.or(threads);
        self
    }

    /// With pinned workers or not, unless that was set.
    pub(crate) fn or_pin(mut self, pin: Option<bool>) -> Self {
        self.pin = self.pin.or(pin);
        self
    }

    pub(crate) fn stack_bytes(&self) -> usize {
        self.stack
    }

    /// The number of workers, given the number of processors.
    pub(crate) fn worker_count(&self, processors: usize) -> usize {
        self.threads.unwrap_or(processors.max(1))
    }

    /// Whether workers are pinned, given the numbers of workers and processors, and whether the processors are the
    /// program's own.
    pub(crate) fn pins(&self, workers: usize, processors: usize, are_own: bool) -> bool {
        self.pin.unwrap_or(are_own && workers <= processors)
    }
}
