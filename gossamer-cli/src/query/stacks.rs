//! `gossamer stacks`: what the fibers of programs on this machine do, and which of them wait for each other.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::output::{complain, print, print_json};
use crate::query::programs::{self, by_runtime, told};
use crate::terminal::printable::printable;
use gossamer::inspect::{
    Deadlock, Dependency, FiberGroup, FiberLink, NodeReport, WaitReport, WorkerReport, ask, ask_backtraces,
    deadlocks, rendered,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// Time between the two looks that a deadlock takes.
const BETWEEN: Duration = Duration::from_millis(200);

/// Show what the fibers of the programs on this machine do, and which of them wait for each other
///
/// Every program that runs on gossamer can be looked at by its user, and by root, however it was started; it needs no flag, and is not
/// held up. For each group of fibers that do the same it says how many they are, which line has started them, in which call they wait and
/// which line made it, for which closure, type of property and worker, and for how long. A worker that does not answer within a second is
/// kept by what it runs, which is named.
///
/// Fibers that wait for each other for ever, by latches and joins, also over several nodes, are named as a deadlock. What waits for a
/// socket, a time, a message or a thread is none.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct StacksArguments {
    /// Only these processes; without one, all of this user
    #[arg(value_name = "PID")]
    pub(crate) processes: Vec<u32>,
    /// With the backtrace of one fiber of each group that waits. It takes the program a second of a processor or more to read its symbols
    #[arg(long)]
    pub(crate) backtraces: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Examples:
  gossamer stacks                  of all programs of this user
  gossamer stacks 4242             of this process
  gossamer stacks --backtraces     and how each came to where it waits
  watch -n 1 gossamer stacks       again and again
  gossamer stacks --json | jq      for programs

Exit status:
  0    they have answered
  1    there is no such program
  3    one of them did not answer; the others are shown";

/// `gossamer stacks`
///
/// # Errors
/// If there is no such program.
pub(crate) fn stacks(arguments: &StacksArguments) -> Result<u8, Failure> {
    let sockets = programs::chosen(&arguments.processes)?;
    let look = || programs::ask_all(&sockets, !arguments.processes.is_empty(), ask);
    let (mut reports, mut silent) = look();
    let mut before = Vec::new();
    if reports.iter().any(|report| !report.links.is_empty()) {
        before = reports;
        thread::sleep(BETWEEN);
        (reports, silent) = look();
    }
    let links = reports.clone();
    let mut found = BTreeMap::<_, Vec<Deadlock>>::new();
    for (name, deadlock) in deadlocks(&before, &links) {
        found.entry(name).or_default().push(deadlock);
    }
    if arguments.backtraces {
        // After the looks between which no fiber may have run.
        (reports, silent) = programs::ask_all(&sockets, !arguments.processes.is_empty(), ask_backtraces);
    }
    let (mut values, mut text) = (Vec::new(), String::new());
    for reports in by_runtime(&reports, |report| &report.identity) {
        let found = found.remove(&reports[0].identity.runtime()).unwrap_or_default();
        if arguments.json {
            values.push(json!({
                "rack": reports[0].identity.rack,
                "nodes": reports.iter().map(|report| node(report)).collect::<Vec<_>>(),
                "deadlocks": found.iter().map(deadlock).collect::<Vec<_>>(),
            }));
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &rendered(&reports);
            found.iter().for_each(|deadlock| text += &format!("\n{deadlock}\n"));
        }
    }
    silent.iter().for_each(|silent| complain(&told(silent)));
    match arguments.json {
        true => print_json(&Value::Array(values))?,
        false => {
            let lines: Vec<String> = text.lines().map(|line| printable(line).to_string()).collect();
            print(format!("{}\n", lines.join("\n")).as_bytes())?;
        }
    }
    Ok(if silent.is_empty() { 0 } else { UNREACHABLE })
}

fn node(report: &NodeReport) -> Value {
    let of = &report.identity;
    let worker = |worker: &WorkerReport| {
        json!({
            "worker": worker.worker, "answered": worker.answered, "asleep": worker.is_asleep,
            "runs": worker.runs, "still_for_ms": worker.still_for, "fibers": worker.fibers,
            "jobs_to_begin": worker.jobs, "unanswered_requests": worker.unanswered,
        })
    };
    let group = |group: &FiberGroup| {
        json!({
            "count": group.count, "workers": group.workers, "spawned_at": group.spawned_at, "state": group.state,
            "wait": group.wait.as_ref().map(wait), "waited_ms": { "least": group.waited.0, "most": group.waited.1 },
            "backtrace": group.backtrace,
        })
    };
    json!({
        "node": of.node, "nodes": of.nodes, "process": of.process, "program": of.program,
        "workers": report.workers.iter().map(worker).collect::<Vec<_>>(),
        "fibers": report.fibers.iter().map(group).collect::<Vec<_>>(),
    })
}

fn wait(wait: &WaitReport) -> Value {
    json!({
        "call": wait.call, "at": wait.at, "what": wait.what, "closure": wait.closure, "property": wait.property, "worker": wait.worker,
    })
}

fn deadlock(deadlock: &Deadlock) -> Value {
    let fiber = |fiber: &FiberLink| {
        let waits_for = match fiber.dependency {
            Dependency::Job(..) => "fiber",
            Dependency::Latch(_) => "latch",
            _ => "unknown",
        };
        json!({
            "worker": fiber.fiber.worker, "spawned_at": fiber.spawned_at, "waits_for": waits_for,
            "wait": fiber.wait.as_ref().map(wait), "latches": fiber.latches.len(), "waited_ms": fiber.waited,
        })
    };
    json!({
        "waited_ms": deadlock.waited, "fibers": deadlock.fibers.iter().map(fiber).collect::<Vec<_>>(),
        "text": deadlock.to_string(),
    })
}
