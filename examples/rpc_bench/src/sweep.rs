//! One measurement after another.

use crate::client::{Outcome, Task};
use crate::latency::Latencies;
use crate::options::Options;
use crate::report::{Kind, Report, Row};
use crate::{closed, open};
use gossamer::{JoinHandle, Trust, Trustee, rack, spawn_on_with};
use std::io;
use std::time::Duration;

/// Which client asks which server.
struct Roles {
    clients: Vec<Trustee>,
    servers: Vec<Trust<u64>>,
}

impl Roles {
    /// The first workers of each node serve, so that all nodes are alike; a single worker does both.
    fn new(servers: Option<usize>) -> Self {
        let nodes: Vec<_> = rack::nodes().into_iter().map(|node| node.workers()).collect();
        let longest = nodes.iter().map(Vec::len).max().unwrap_or(0);
        // In turn: the first of each node, then the second of each.
        let all: Vec<Trustee> = (0..longest)
            .flat_map(|place| nodes.iter().filter_map(move |workers| workers.get(place).copied()))
            .collect();
        let count = servers.unwrap_or(all.len().div_ceil(2));
        let clients = if count < all.len() { all[count..].to_vec() } else { all.clone() };
        Self { clients, servers: all[..count].iter().map(|trustee| trustee.entrust(0)).collect() }
    }

    fn task(&self, number: usize, options: &Options) -> Task {
        let duration = Duration::from_millis(options.millis);
        Task { servers: self.servers.clone(), number, warm_up: duration / 10, duration }
    }
}

/// Why measurements are missing.
pub enum Failure {
    /// What is wrong with the options.
    Options(String),
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Makes all measurements, and prints them.
///
/// # Errors
/// If the options are wrong, or the output cannot be written.
pub fn run(options: &Options) -> Result<(), Failure> {
    options.check(Trustee::all().len()).map_err(Failure::Options)?;
    let roles = Roles::new(options.servers);
    let (servers, clients) = (roles.servers.len(), roles.clients.len());
    let mut report = Report::begin(io::stdout(), options.json, servers, clients)?;
    for &bytes in &options.bytes {
        let mut highest = 0.0_f64;
        for &batch in &options.batch {
            for &fibers in &options.fibers {
                let row = closed_loop(&roles, options, bytes, fibers, batch);
                highest = highest.max(row.rate);
                report.add(&row)?;
            }
        }
        let loads = options.load.iter().map(|load| highest * f64::from(*load) / 100.0);
        let rates: Vec<f64> = if options.rate.is_empty() {
            loads.collect()
        } else {
            options.rate.iter().map(|rate| *rate as f64).collect()
        };
        if rates.contains(&0.0) {
            return Err(Failure::Options(format!(
                "--millis {}: no closed loop had an answer in that time, so there is no rate for the open loop: try more time, fewer fibers, or a smaller --batch",
                options.millis
            )));
        }
        for rate in rates {
            report.add(&open_loop(&roles, options, bytes, rate))?;
        }
    }
    Ok(())
}

/// Calls a generic function with a number of bytes that is known when the program runs.
macro_rules! with_bytes {
    ($bytes:expr, $call:ident) => {
        match $bytes {
            0 => $call!(0),
            8 => $call!(8),
            16 => $call!(16),
            32 => $call!(32),
            64 => $call!(64),
            128 => $call!(128),
            256 => $call!(256),
            1024 => $call!(1024),
            // `Options::check` has made sure of that.
            other => unreachable!("{other} bytes"),
        }
    };
}

fn closed_loop(roles: &Roles, options: &Options, bytes: usize, fibers: usize, batch: usize) -> Row {
    let start = |(number, client): (usize, &Trustee)| {
        let task = (roles.task(number, options), fibers, batch);
        macro_rules! start {
            ($bytes:literal) => {
                spawn_on_with(*client, closed::run::<$bytes>, task)
            };
        }
        with_bytes!(bytes, start)
    };
    let clients: Vec<_> = roles.clients.iter().enumerate().map(start).collect();
    row(clients, bytes, options.millis, |_| Kind::Closed { fibers, batch })
}

fn open_loop(roles: &Roles, options: &Options, bytes: usize, rate: f64) -> Row {
    let of_each = rate / roles.clients.len() as f64;
    let start = |(number, client): (usize, &Trustee)| {
        let task = (roles.task(number, options), of_each);
        macro_rules! start {
            ($bytes:literal) => {
                spawn_on_with(*client, open::run::<$bytes>, task)
            };
        }
        with_bytes!(bytes, start)
    };
    let clients: Vec<_> = roles.clients.iter().enumerate().map(start).collect();
    row(clients, bytes, options.millis, |unsent| Kind::Open { offered: rate, unsent })
}

/// What all clients have found together; `kind` is given the requests that were not sent.
fn row(clients: Vec<JoinHandle<Outcome>>, bytes: usize, millis: u64, kind: impl FnOnce(u64) -> Kind) -> Row {
    let (mut latencies, mut answered, mut unsent) = (Latencies::new(), 0, 0_u64);
    for outcome in clients.into_iter().map(JoinHandle::join) {
        latencies.add_found(&outcome.found);
        (answered, unsent) = (answered + outcome.answered, unsent.saturating_add(outcome.unsent));
    }
    Row::new(kind(unsent), bytes, answered as f64 / (millis as f64 / 1e3), &latencies)
}
