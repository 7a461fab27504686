//! `gossamer top`: what the nodes and workers of programs on this machine do, and what takes most of their time.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::output::{complain, print, print_json};
use crate::query::programs::{self, by_runtime, told};
use crate::terminal::printable::printable;
use crate::terminal::table::{Table, bytes};
use crate::values;
use gossamer::inspect::{InspectionSocket, NodeActivity, ask_activity};
use gossamer::metrics::{RequestMetrics, WorkerMetrics};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Things that run of which most is told.
const SHOWN: usize = 10;
/// Puts the next thing at the upper left of an empty terminal.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Show what the nodes and workers of the programs on this machine do, and what takes most of their time
///
/// Of each worker: how much of the time it is busy, requests served and sent in a second, requests that wait for room, fibers, and how long
/// requests of its most used way take. Of each two nodes: bytes in a second and requests that wait. And what workers were found running, by one
/// who looks a thousand times a second: delegated closures with their lines, and fibers by the line that started them. Nothing has to be
/// built or started for it, and workers do nothing for it.
///
/// On a terminal it is shown anew again and again, until Ctrl-C; in a pipe, too, each time behind an empty line.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct TopArguments {
    /// Only these processes; without one, all of this user
    #[arg(value_name = "PID")]
    pub(crate) processes: Vec<u32>,
    /// Show it once
    #[arg(long)]
    pub(crate) once: bool,
    /// For how long to look each time, up to a minute
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    pub(crate) interval: Duration,
    /// In which order workers are shown
    #[arg(long, value_name = "COLUMN", value_enum, default_value_t = Order::Worker)]
    pub(crate) sort: Order,
    /// Print JSON, a line each time
    #[arg(long)]
    pub(crate) json: bool,
}

/// By which column workers are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// By their numbers
    Worker,
    /// The busiest first
    Busy,
    /// The one that serves most first
    Served,
    /// The one that sends most first
    Sent,
    /// The one with most fibers first
    Fibers,
}

const HELP: &str = "\
Examples:
  gossamer top                      all programs of this user
  gossamer top 4242 --sort busy     this process, the busiest worker first
  gossamer top --once --interval 10s
                                    what they do in ten seconds
  gossamer top --json | jq          for programs

Exit status:
  0    they have answered, if only some of them
  1    there is no such program
  3    none of them has answered";

/// `gossamer top`
///
/// # Errors
/// If there is no such program, or none answers.
pub(crate) fn top(arguments: &TopArguments) -> Result<u8, Failure> {
    let redraws = !arguments.once && !arguments.json && io::stdout().is_terminal();
    let mut is_first = true;
    loop {
        let nodes = look(arguments)?;
        let runtimes = by_runtime(&nodes, |node| &node.identity);
        if arguments.json {
            let values: Vec<Value> = runtimes.iter().map(|nodes| json(nodes)).collect();
            match arguments.once {
                true => print_json(&Value::Array(values))?,
                false => print(format!("{}\n", Value::Array(values)).as_bytes())?,
            }
        } else {
            let texts: Vec<String> = runtimes.iter().map(|nodes| text(nodes, arguments.sort)).collect();
            let lines: Vec<String> =
                texts.join("\n").lines().map(|line| printable(line).to_string()).collect();
            let before = if redraws {
                CLEAR
            } else if is_first {
                ""
            } else {
                "\n"
            };
            print(format!("{before}{}\n", lines.join("\n")).as_bytes())?;
        }
        if arguments.once {
            return Ok(0);
        }
        is_first = false;
    }
}

/// Looks at all at once, for as long as was said.
fn look(arguments: &TopArguments) -> Result<Vec<NodeActivity>, Failure> {
    let sockets = programs::chosen(&arguments.processes)?;
    let ask = |socket: &InspectionSocket| ask_activity(socket, arguments.interval);
    let (nodes, silent) = programs::ask_all(&sockets, !arguments.processes.is_empty(), ask);
    match silent.first() {
        Some(first) if nodes.is_empty() => return Err(Failure::new(UNREACHABLE, told(first))),
        _ => silent.iter().for_each(|silent| complain(&told(silent))),
    }
    Ok(nodes)
}

/// What a worker does in a second.
struct Rates<'a> {
    node: u32,
    of: &'a WorkerMetrics,
    seconds: f64,
}

impl Rates<'_> {
    fn busy(&self) -> f64 {
        self.of.busy.as_secs_f64() / self.seconds
    }

    fn served(&self) -> f64 {
        self.of.requests_served() as f64 / self.seconds
    }

    fn sent(&self) -> f64 {
        self.of.requests_sent() as f64 / self.seconds
    }

    fn waiting(&self) -> u64 {
        self.of.requests.iter().map(|some| some.backlog).sum()
    }

    /// How long half of its requests take at most, and 99 of a hundred, by the way that has most that were timed.
    fn latency(&self) -> Option<(Duration, Duration)> {
        let (_, most) = self.of.latencies.iter().max_by_key(|(_, latency)| latency.count())?;
        Some((most.quantile_time(0.5)?, most.quantile_time(0.99)?))
    }

    fn key(&self, order: Order) -> f64 {
        match order {
            Order::Worker => 0.0,
            Order::Busy => self.busy(),
            Order::Served => self.served(),
            Order::Sent => self.sent(),
            Order::Fibers => self.of.fibers_alive as f64,
        }
    }
}

fn rates<'a>(nodes: &[&'a NodeActivity]) -> Vec<Rates<'a>> {
    let of_node = |node: &&'a NodeActivity| {
        let (number, seconds) = (node.identity.node, node.time.as_secs_f64().max(f64::MIN_POSITIVE));
        node.metrics.workers.iter().map(move |of| Rates { node: number, of, seconds })
    };
    nodes.iter().flat_map(of_node).collect()
}

fn text(nodes: &[&NodeActivity], order: Order) -> String {
    let first = &nodes[0].identity;
    let head = match first.nodes {
        1 => format!("process {} ({})", first.process, first.program),
        of => format!("rack {} ({}), {} of {of} nodes here", first.rack, first.program, nodes.len()),
    };
    let mut workers = rates(nodes);
    workers.sort_by(|one, other| other.key(order).total_cmp(&one.key(order)));
    let mut table =
        Table::new(&["NODE", "WORKER", "BUSY", "SERVED/S", "SENT/S", "WAITING", "FIBERS", "P50", "P99"]);
    for worker in workers {
        let (half, most) =
            worker.latency().map_or_else(Default::default, |(half, most)| (brief(half), brief(most)));
        table.add(vec![
            worker.node.to_string(),
            worker.of.worker.to_string(),
            format!("{:.0} %", worker.busy() * 100.0),
            short(worker.served()),
            short(worker.sent()),
            worker.waiting().to_string(),
            worker.of.fibers_alive.to_string(),
            half,
            most,
        ]);
    }
    let mut text = format!("{head}\n\n{}", table.text());
    let peers = peers(nodes);
    if !peers.is_empty() {
        let mut table = Table::new(&["NODE", "PEER", "OVER", "SENT/S", "RECEIVED/S", "WAITING"]);
        for ((node, peer, route), traffic) in peers {
            let rate = |count: u64| format!("{}/s", bytes((count as f64 / traffic.seconds) as u64));
            table.add(vec![
                node.to_string(),
                peer.to_string(),
                route.to_owned(),
                rate(traffic.sent),
                rate(traffic.received),
                traffic.waiting.to_string(),
            ]);
        }
        text += &format!("\n{}", table.text());
    }
    let running = running(nodes);
    if !running.is_empty() {
        text += "\nfound running, of all looks at all workers\n";
    }
    for (what, share) in running.iter().take(SHOWN) {
        text += &format!("{:5.1} %  {what}\n", share * 100.0);
    }
    text
}

/// `1.2 ms`
fn brief(time: Duration) -> String {
    match time.as_nanos() as f64 {
        nanoseconds @ ..1e3 => format!("{nanoseconds:.0} ns"),
        nanoseconds @ ..1e6 => format!("{:.1} us", nanoseconds / 1e3),
        nanoseconds @ ..1e9 => format!("{:.1} ms", nanoseconds / 1e6),
        nanoseconds => format!("{:.1} s", nanoseconds / 1e9),
    }
}

/// `12.3 k`
fn short(number: f64) -> String {
    match number {
        ..1e3 => format!("{number:.0}"),
        ..1e6 => format!("{:.1} k", number / 1e3),
        _ => format!("{:.1} M", number / 1e6),
    }
}

/// What one node has with another.
#[derive(Default)]
struct Traffic {
    sent: u64,
    received: u64,
    waiting: u64,
    seconds: f64,
}

/// By node, the other one, and the way.
fn peers(nodes: &[&NodeActivity]) -> BTreeMap<(u32, u32, &'static str), Traffic> {
    let mut peers = BTreeMap::<_, Traffic>::new();
    for node in nodes {
        let requests = node.metrics.workers.iter().flat_map(|worker| &worker.requests);
        for RequestMetrics { route, peer, sent_bytes, received_bytes, backlog, .. } in requests {
            if *peer == node.identity.node {
                continue;
            }
            let traffic = peers.entry((node.identity.node, *peer, route.name())).or_default();
            traffic.sent += sent_bytes;
            traffic.received += received_bytes;
            traffic.waiting += backlog;
            traffic.seconds = node.time.as_secs_f64().max(f64::MIN_POSITIVE);
        }
    }
    peers
}

/// What workers were found running, with its share of all looks at all workers, the most first.
fn running(nodes: &[&NodeActivity]) -> Vec<(String, f64)> {
    let looks: f64 = nodes.iter().map(|node| node.looks as f64 * node.metrics.workers.len() as f64).sum();
    let mut counts = BTreeMap::<&str, u64>::new();
    for (what, count) in nodes.iter().flat_map(|node| &node.running) {
        *counts.entry(what).or_default() += count;
    }
    let share = |(what, count): (&str, u64)| (what.to_owned(), count as f64 / looks.max(1.0));
    let mut running: Vec<(String, f64)> = counts.into_iter().map(share).collect();
    running.sort_by(|one, other| other.1.total_cmp(&one.1));
    running
}

fn json(nodes: &[&NodeActivity]) -> Value {
    let worker = |worker: &Rates<'_>| {
        let latency = worker.latency();
        json!({
            "node": worker.node, "worker": worker.of.worker, "busy": worker.busy(),
            "served_per_second": worker.served(), "sent_per_second": worker.sent(),
            "requests_waiting": worker.waiting(), "fibers": worker.of.fibers_alive,
            "latency_ns": latency.map(|(half, most)| json!({ "p50": half.as_nanos() as u64, "p99": most.as_nanos() as u64 })),
        })
    };
    let peers = peers(nodes).into_iter().map(|((node, peer, route), traffic)| {
        json!({
            "node": node, "peer": peer, "over": route, "sent_bytes_per_second": traffic.sent as f64 / traffic.seconds,
            "received_bytes_per_second": traffic.received as f64 / traffic.seconds, "requests_waiting": traffic.waiting,
        })
    });
    let running = running(nodes).into_iter().map(|(what, share)| json!({ "what": what, "share": share }));
    json!({
        "rack": nodes[0].identity.rack,
        "nodes": nodes.iter().map(|node| json!({
            "node": node.identity.node, "process": node.identity.process, "program": node.identity.program, "seconds": node.time.as_secs_f64(),
        })).collect::<Vec<_>>(),
        "workers": rates(nodes).iter().map(worker).collect::<Vec<_>>(),
        "peers": peers.collect::<Vec<_>>(),
        "running": running.collect::<Vec<_>>(),
    })
}
