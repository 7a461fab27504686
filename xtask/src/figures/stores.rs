//! Figures 10 and 11: key-value stores. Each is started anew for each measurement.

use super::benchmarks::{Benchmark, Load, Took};
use super::catalogue::{MEMTIER_BENCHMARK, OWN_CLIENT, PROCESSOR_TIME, REDIS_BENCHMARK};
use super::child::{Program, Running, is_installed};
use super::client::{Client, Protocol};
use super::interruption::Interruption;
use super::programs::Programs;
use super::rounds::{Job, Reading, Rounds};
use crate::failure::{Context, Failure, Result};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::net::{Ipv4Addr, TcpListener};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

const BOTH: [u8; 2] = [10, 11];
const PIPELINES: [usize; 3] = [1, 16, 64];
const CLIENTS: usize = 50;
/// In figure 11: as many for each server, whether there are 1, 2, 4 or 8.
const CLIENTS_OF_ALL: usize = 48;
const AT_ONCE: usize = 16;
const SECONDS: u64 = 300;
/// A benchmark is asked this often for a rate that is possible.
const ATTEMPTS: usize = 3;

/// The processor of a single server, and that of its client.
const SERVER: usize = 0;
const CLIENT: usize = 1;

/// A program that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Store {
    Hydra,
    Redis,
    Valkey,
    Memcached,
}

impl Store {
    const ALL: [Self; 4] = [Self::Hydra, Self::Redis, Self::Valkey, Self::Memcached];

    fn name(self) -> &'static str {
        match self {
            Self::Hydra => "hydra",
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Memcached => "memcached",
        }
    }

    /// The program it needs on the PATH.
    fn needs(self) -> Option<&'static str> {
        match self {
            Self::Hydra => None,
            Self::Redis => Some("redis-server"),
            Self::Valkey => Some("valkey-server"),
            Self::Memcached => Some("memcached"),
        }
    }

    fn protocol(self) -> Protocol {
        if self == Self::Memcached { Protocol::Memcached } else { Protocol::Resp }
    }
}

/// Makes those of the measurements that are wanted.
///
/// # Errors
/// A recording cannot be written.
pub(super) fn measure(rounds: &mut Rounds<'_>, programs: &Programs) -> Result<()> {
    if !rounds.want(&BOTH) {
        return Ok(());
    }
    let stores: Vec<Store> = Store::ALL.into_iter().filter(|store| is_here(rounds, *store)).collect();
    let benchmarks: &Vec<Benchmark> =
        &Benchmark::ALL.into_iter().filter(|benchmark| has(rounds, *benchmark)).collect();
    let (effort, interruption) = (rounds.effort, rounds.interruption);
    let time = effort.time * 5;
    let mut jobs = Vec::new();
    for pipeline in PIPELINES {
        for store in &stores {
            let workers: &[usize] = if *store == Store::Hydra { &[1, 2] } else { &[1] };
            for workers in workers {
                let name = format!("{}, workers: {workers}, pipeline {pipeline}", store.name());
                jobs.push(Job::new(name, &[10], move || {
                    let server = Served::start(*store, programs, *workers)?;
                    let of = |panel, y| reading(10, panel, &server.name(), pipeline, y);
                    // About as many as a server answers in that time, so that starting and ending count little.
                    let requests = (60e3 * pipeline.min(40) as f64 * time.as_secs_f64()) as usize;
                    let mut readings = Vec::new();
                    let speaks = |benchmark: &&Benchmark| benchmark.speaks(store.protocol());
                    for benchmark in benchmarks.iter().filter(speaks) {
                        let (rate, used) = server.asked_by(*benchmark, pipeline, requests, interruption)?;
                        match benchmark {
                            Benchmark::Redis => {
                                let each = used.as_secs_f64() * 1e6 / requests as f64;
                                readings.extend([of(REDIS_BENCHMARK, rate), of(PROCESSOR_TIME, each)]);
                            }
                            Benchmark::Memtier => readings.push(of(MEMTIER_BENCHMARK, rate)),
                        }
                    }
                    readings.push(of(OWN_CLIENT, server.get(CLIENTS, pipeline, time)?));
                    Ok(readings)
                }));
            }
        }
    }
    for servers in effort.workers {
        for store in &stores {
            jobs.push(Job::new(format!("{}, servers: {servers}", store.name()), &[11], move || {
                let rate = several(*store, programs, *servers, time)?;
                let name = if *store == Store::Hydra {
                    "hydra, nodes of one worker that serve any key".to_owned()
                } else {
                    format!("{}, servers that know nothing of each other", store.name())
                };
                Ok(vec![reading(11, 0, &name, *servers, rate)])
            }));
        }
    }
    rounds.run(jobs)
}

fn has(rounds: &mut Rounds<'_>, benchmark: Benchmark) -> bool {
    let is_here = benchmark.is_here();
    if !is_here {
        rounds.miss(&[10], benchmark.name(), "it is not installed");
    }
    is_here
}

fn is_here(rounds: &mut Rounds<'_>, store: Store) -> bool {
    let missing = store.needs().filter(|program| !is_installed(program));
    if let Some(program) = missing {
        rounds.miss(&BOTH, store.name(), &format!("{program} is not installed"));
    }
    missing.is_none()
}

fn reading(figure: u8, panel: usize, series: &str, x: usize, y: f64) -> Reading {
    Reading { figure, panel, series: series.to_owned(), label: x.to_string(), x: x as f64, y }
}

/// A port at which nobody listened a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a port")?;
    Ok(listener.local_addr().context("a port")?.port())
}

/// The command of one server, which stores nothing on disk.
fn program(store: Store, programs: &Programs, workers: usize, port: u16) -> Program {
    let (port, workers) = (port.to_string(), workers.to_string());
    let redis = ["--port", &port, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"];
    match store {
        Store::Hydra => Program::new(&programs.hydra, SECONDS)
            .arguments(["--port", &port, "--threads", &workers])
            .variable("GOSSAMER_PIN", 0),
        Store::Redis => Program::new("redis-server", SECONDS).arguments(redis),
        Store::Valkey => Program::new("valkey-server", SECONDS).arguments(redis),
        Store::Memcached => Program::new("memcached", SECONDS).arguments([
            "-l",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "0",
            "-t",
            &workers,
            "-u",
            "nobody",
        ]),
    }
}

/// A server of figure 10. With one worker it has a processor, and its client another; with more they share all.
struct Served {
    store: Store,
    workers: usize,
    port: u16,
    running: Running,
}

impl Served {
    fn start(store: Store, programs: &Programs, workers: usize) -> Result<Self> {
        let port = free_port()?;
        let program = program(store, programs, workers, port);
        let program = if workers == 1 { program.pinned(SERVER) } else { program };
        let mut running = program.start()?;
        running.await_port(port)?;
        let filled = Client::connect(store.protocol(), &[port], 1).and_then(|mut client| client.fill());
        filled.context(format!("{} cannot be filled", store.name()))?;
        Ok(Self { store, workers, port, running })
    }

    fn name(&self) -> String {
        match (self.store, self.workers) {
            (Store::Hydra, 1) => "hydra, one worker on a processor of its own".to_owned(),
            (Store::Hydra, workers) => format!("hydra, {workers} workers, processors shared with the client"),
            (store, _) => format!("{}, on a processor of its own", store.name()),
        }
    }

    /// The requests a second by what a benchmark says, and the server's processor time meanwhile.
    fn asked_by(
        &self,
        benchmark: Benchmark,
        at_once: usize,
        requests: usize,
        interruption: &Interruption,
    ) -> Result<(f64, Duration)> {
        let (port, protocol) = (self.port, self.store.protocol());
        let load = Load { port, protocol, clients: CLIENTS, at_once, requests };
        let mut rate = 0.0;
        for _ in 0..ATTEMPTS {
            let program = benchmark.program(load, SECONDS);
            let program = if self.workers == 1 { program.pinned(CLIENT) } else { program };
            let (before, begun) = (self.running.processor_time(), Instant::now());
            rate = benchmark.rate(&program.output(interruption)?)?;
            let took = Took {
                benchmark: begun.elapsed(),
                processor_time_of_server: self.running.processor_time().saturating_sub(before),
                threads_of_server: self.workers,
            };
            if took.allows(rate, requests) {
                return Ok((rate, took.processor_time_of_server));
            }
        }
        let name = benchmark.name();
        Err(Failure::new(format!(
            "{name} says {rate:.0} requests a second, which the time it took contradicts"
        )))
    }

    fn get(&self, clients: usize, at_once: usize, time: Duration) -> Result<f64> {
        let (protocol, port) = (self.store.protocol(), self.port);
        let processor = (self.workers == 1).then_some(CLIENT);
        rate(protocol, &[port], clients, at_once, time, processor)
    }
}

/// The rate that a client reaches, on a thread of its own, so that only that thread is pinned.
fn rate(
    protocol: Protocol,
    ports: &[u16],
    clients: usize,
    at_once: usize,
    time: Duration,
    processor: Option<usize>,
) -> Result<f64> {
    let work = || {
        let several = available_parallelism().is_ok_and(|count| count.get() > 1);
        if let Some(processor) = processor.filter(|_| several) {
            let mut set = CpuSet::new();
            set.set(processor);
            sched_setaffinity(None, &set)?;
        }
        Client::connect(protocol, ports, clients)?.get(at_once, time)
    };
    let ended = std::thread::scope(|scope| scope.spawn(work).join());
    ended.map_err(|_| Failure::new("the client panicked"))?.context("the client")
}

/// This many servers, and one client for all.
fn several(store: Store, programs: &Programs, servers: usize, time: Duration) -> Result<f64> {
    let mut running = Vec::new();
    let mut ports = Vec::new();
    // All nodes of hydra listen at the same port.
    let started = if store == Store::Hydra { 1 } else { servers };
    for _ in 0..started {
        let port = free_port()?;
        let program = if store == Store::Hydra {
            nodes(programs, servers, port)
        } else {
            program(store, programs, 1, port)
        };
        let mut server = program.start()?;
        server.await_port(port)?;
        running.push(server);
        ports.push(port);
    }
    Client::connect(store.protocol(), &ports, started)
        .and_then(|mut client| client.fill())
        .context(format!("{} cannot be filled", store.name()))?;
    rate(store.protocol(), &ports, CLIENTS_OF_ALL, AT_ONCE, time, None)
}

fn nodes(programs: &Programs, count: usize, port: u16) -> Program {
    let words = ["run", "--local", &count.to_string(), "--"].map(str::to_owned);
    Program::new(&programs.gossamer, SECONDS)
        .arguments(words)
        .arguments([&programs.hydra])
        .arguments(["--threads", "1", "--port", &port.to_string()])
        .variable("GOSSAMER_PIN", 0)
}
