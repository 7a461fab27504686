//! How long key-value stores take to answer at fixed rates: an open loop. Requests are due at random moments, whether
//! or not those before them were answered, and an answer's latency counts from the moment when its request was due: so
//! a server that stops for a while is not asked less meanwhile.
//!
//! ```text
//! cargo run --release -p hydra --example latency -- --rates 20000,60000 \
//!     'hydra=taskset -c 0 target/release/hydra --threads 1 --port PORT' 'redis=taskset -c 0 redis-server --save "" --port PORT'
//! ```
//!
//! Servers take turns, round by round, and each is started anew for each rate. Several commands with a plus between them
//! are several servers, each of which gets its share of the connections. One whose name begins with `memcached` is spoken
//! to in memcached's words.
#![allow(missing_docs, reason = "a program")]

use clap::Parser;
use rustix::event::{Timespec, epoll};
use std::collections::VecDeque;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Keys that there are.
const KEYS: u64 = 10_000;
const VALUE: &str = "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";
/// How long to wait for answers after the last request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first part of the time does not count: one of so many.
const WARM_UP: u32 = 4;

#[derive(Parser)]
#[command(about = "How long key-value stores take to answer at fixed rates")]
struct Options {
    /// Requests per second.
    #[arg(long, value_delimiter = ',', default_values_t = [20_000, 40_000, 60_000])]
    rates: Vec<u32>,
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// The length of each measurement.
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Never sleeps: for a processor that nothing else needs.
    #[arg(long)]
    spin: bool,
    /// NAME=COMMAND, where PORT stands for the port.
    #[arg(required = true)]
    servers: Vec<String>,
}

/// What is killed at the end.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The words of a command; quotation marks make an empty one possible.
fn start(command: &str) -> Result<(Server, u16)> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let words: Vec<_> = command.split_whitespace().map(|word| word.trim_matches('"')).collect();
    let words: Vec<_> = words.iter().map(|word| word.replace("PORT", &port.to_string())).collect();
    let (program, arguments) = words.split_first().ok_or("an empty command")?;
    let child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = Server(child.map_err(|error| format!("{program}: {error}"))?);
    for _ in 0..200 {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok((server, port));
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    Err(format!("nobody listens: {command}").into())
}

#[derive(Clone, Copy)]
enum Protocol {
    Redis,
    Memcached,
}

impl Protocol {
    fn set(self, key: &str) -> String {
        match self {
            Self::Redis => format!("*3\r\n$3\r\nSET\r\n$16\r\n{key}\r\n$32\r\n{VALUE}\r\n"),
            Self::Memcached => format!("set {key} 0 0 32\r\n{VALUE}\r\n"),
        }
    }

    fn get(self, key: &str) -> String {
        match self {
            Self::Redis => format!("*2\r\n$3\r\nGET\r\n$16\r\n{key}\r\n"),
            Self::Memcached => format!("get {key}\r\n"),
        }
    }

    /// Of an answer with a value: all have the same length.
    fn answer(self) -> usize {
        match self {
            Self::Redis => format!("$32\r\n{VALUE}\r\n").len(),
            Self::Memcached => format!("VALUE {} 0 32\r\n{VALUE}\r\nEND\r\n", key(0)).len(),
        }
    }
}

fn key(number: u64) -> String {
    format!("key:{number:012}")
}

fn fill(port: u16, protocol: Protocol) -> Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let mut reply = [0; 8];
    let expected = if matches!(protocol, Protocol::Redis) { &b"+OK\r\n"[..] } else { b"STORED\r\n" };
    for number in 0..KEYS {
        connection.write_all(protocol.set(&key(number)).as_bytes())?;
        connection.read_exact(&mut reply[..expected.len()])?;
        if &reply[..expected.len()] != expected {
            return Err("a server does not take values".into());
        }
    }
    Ok(())
}

struct Connection {
    stream: TcpStream,
    /// When the requests were due that were not answered.
    due: VecDeque<Instant>,
    /// Bytes of an answer that has not arrived completely.
    part: usize,
}

/// Random numbers: xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The time to the next event of a process without memory.
    fn gap(&mut self, rate: u32) -> Duration {
        let uniform = ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        Duration::from_secs_f64(-uniform.ln() / f64::from(rate))
    }
}

/// Nanoseconds of each answer, after those of the beginning.
fn measure(options: &Options, ports: &[u16], protocol: Protocol, rate: u32) -> Result<Vec<u64>> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::new();
    for index in 0..options.connections {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, ports[index % ports.len()]))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll::add(&poll, &stream, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        connections.push(Connection { stream, due: VecDeque::new(), part: 0 });
    }
    let (mut random, mut buffer) = (Random(0x9e37_79b9_7f4a_7c15), vec![0; 1 << 16]);
    let mut latencies = Vec::new();
    let mut ready = Vec::with_capacity(options.connections);
    let begin = Instant::now();
    let end = begin + Duration::from_secs(u64::from(options.seconds));
    let counted = begin + (end - begin) / WARM_UP;
    let mut due = begin + random.gap(rate);
    let mut open = 0_usize;
    loop {
        let now = Instant::now();
        while due <= now && due < end {
            let connection = &mut connections[random.next() as usize % options.connections];
            let request = protocol.get(&key(random.next() % KEYS));
            connection.stream.write_all(request.as_bytes())?;
            connection.due.push_back(due);
            open += 1;
            due += random.gap(rate);
        }
        if due >= end && open == 0 {
            return Ok(latencies);
        }
        if now > end + PATIENCE {
            return Err(format!("{open} requests were not answered").into());
        }
        let wait = if options.spin { Duration::ZERO } else { due.min(end).saturating_duration_since(now) };
        let wait = if due >= end { PATIENCE } else { wait };
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        ready.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut ready), Some(&wait))?;
        for event in &ready {
            let connection = &mut connections[event.data.u64() as usize];
            let count = match connection.stream.read(&mut buffer) {
                Ok(0) => return Err("a server has closed a connection".into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            let now = Instant::now();
            connection.part += count;
            while connection.part >= protocol.answer() {
                connection.part -= protocol.answer();
                open -= 1;
                let due = connection.due.pop_front().ok_or("an answer that nobody has asked for")?;
                if due >= counted {
                    latencies.push((now - due).as_nanos() as u64);
                }
            }
        }
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() -> Result<()> {
    let options = Options::parse();
    println!("| requests/s | | 50 % | 90 % | 99 % | least to most | 99.9 % |\n|---|---|---|---|---|---|---|");
    for rate in &options.rates {
        let mut found = vec![Vec::new(); options.servers.len()];
        for _ in 0..options.rounds {
            for (index, server) in options.servers.iter().enumerate() {
                let (name, commands) = server.split_once('=').ok_or("NAME=COMMAND")?;
                let protocol =
                    if name.starts_with("memcached") { Protocol::Memcached } else { Protocol::Redis };
                let started = commands.split(" + ").map(start).collect::<Result<Vec<_>>>()?;
                let ports: Vec<_> = started.iter().map(|(_, port)| *port).collect();
                ports.iter().try_for_each(|port| fill(*port, protocol))?;
                let mut latencies = measure(&options, &ports, protocol, *rate)?;
                latencies.sort_unstable();
                let at = |share: f64| latencies[(latencies.len() as f64 * share) as usize] as f64 / 1e3;
                found[index].push([at(0.5), at(0.9), at(0.99), at(0.999)]);
            }
        }
        for (server, rounds) in options.servers.iter().zip(&found) {
            let of = |share: usize| rounds.iter().map(|round| round[share]).collect::<Vec<_>>();
            let [half, most, p99, rare] = [0, 1, 2, 3].map(|share| median(of(share)));
            let (least, worst) =
                of(2).into_iter().fold((f64::MAX, 0_f64), |(low, high), at| (low.min(at), high.max(at)));
            let name = server.split('=').next().unwrap_or_default();
            println!(
                "| {rate} | {name} | {half:.0} µs | {most:.0} | {p99:.0} | {least:.0} to {worst:.0} | {rare:.0} |"
            );
        }
    }
    Ok(())
}
