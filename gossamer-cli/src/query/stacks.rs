//! `gossamer stacks`: what the fibers of programs do, on this machine or on a whole rack, and which of them wait for
//! each other.

use crate::exit::{Failure, UNREACHABLE};
use crate::query::look::{LookArguments, SeenNode, by_runtime, look, title};
use crate::query::output::{complain, print, print_json};
use crate::rack::protocol::Inspection;
use crate::terminal::printable::printable;
use gossamer::inspect::{
    Deadlock, Dependency, FiberGroup, FiberLink, NodeReport, WaitReport, WorkerReport, deadlocks, rendered,
};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// The time between the two looks that it takes to tell a deadlock.
const BETWEEN: Duration = Duration::from_millis(200);

/// Show what the fibers of programs do, on this machine or on the whole rack, and which of them wait for each other
///
/// Every program that runs on gossamer can be inspected by its user and by root, however it was started; it needs no
/// flag, and is not held up. For each group of fibers that do the same, this shows their number, the line that
/// started them, the call in which they wait and its line, the closure, type of property and worker that they wait
/// for, and for how long. For a worker that does not answer within a second, it shows what the worker is running.
///
/// With --rack the daemons of all machines ask the nodes that they have started; this needs the rack's key.
///
/// Fibers that wait for each other for ever, by latches and joins, even across nodes, are reported as a deadlock.
/// Fibers that wait for a socket, a time, a message or a thread are not.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct StacksArguments {
    #[command(flatten)]
    pub(crate) look: LookArguments,
    /// Add the backtrace of one waiting fiber of each group. The program needs a second or more of processor time to
    /// read its symbols
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
  gossamer stacks --rack           of all nodes that run on the rack
  gossamer stacks --application 0123abcd
                                   of all nodes of this application
  watch -n 1 gossamer stacks       again and again
  gossamer stacks --json | jq      for programs

Exit status:
  0    all have answered
  1    there is no such program
  2    mistake on the command line or in a configuration file
  3    one of them, or a machine, did not answer; the others are shown";

/// `gossamer stacks`
///
/// # Errors
/// If there is no such program.
pub(crate) fn stacks(arguments: &StacksArguments) -> Result<u8, Failure> {
    let look = |inspection| look::<NodeReport>(&arguments.look, inspection);
    let mut seen = look(Inspection::Fibers)?;
    let mut before = Vec::new();
    if seen.nodes.iter().any(|node| !node.said.links.is_empty()) {
        before = seen.nodes;
        thread::sleep(BETWEEN);
        seen = look(Inspection::Fibers)?;
    }
    // The second look can only be compared with a first one.
    let links = if before.is_empty() { Vec::new() } else { seen.nodes.clone() };
    if arguments.backtraces {
        // After two looks between which none of the fibers may have run.
        seen = look(Inspection::Backtraces)?;
    }
    let (mut values, mut text) = (Vec::new(), String::new());
    for nodes in by_runtime(&seen.nodes) {
        let found = found(&before, &links, nodes[0]);
        if arguments.json {
            values.push(json!({
                "rack": nodes[0].said.identity.rack,
                "nodes": nodes.iter().map(|seen| node(seen)).collect::<Vec<_>>(),
                "deadlocks": found.iter().map(deadlock).collect::<Vec<_>>(),
            }));
        } else {
            if !text.is_empty() {
                text.push('\n');
            }
            if nodes[0].place.is_some() {
                text += &format!("{}\n", title(&nodes));
            }
            text += &rendered(&nodes.iter().map(|seen| &seen.said).collect::<Vec<_>>());
            found.iter().for_each(|deadlock| text += &format!("\n{deadlock}\n"));
        }
    }
    seen.silent.iter().for_each(|silent| complain(silent));
    match arguments.json {
        true => print_json(&Value::Array(values))?,
        false => {
            let lines: Vec<String> = text.lines().map(|line| printable(line).to_string()).collect();
            print(format!("{}\n", lines.join("\n")).as_bytes())?;
        }
    }
    Ok(if seen.silent.is_empty() { 0 } else { UNREACHABLE })
}

/// Fibers of this node's runtime that wait for each other in both looks.
fn found(
    before: &[SeenNode<NodeReport>],
    now: &[SeenNode<NodeReport>],
    of: &SeenNode<NodeReport>,
) -> Vec<Deadlock> {
    let application =
        |seen: &SeenNode<NodeReport>| seen.place.as_ref().map(|place| place.application.clone());
    let is_same = |seen: &&SeenNode<NodeReport>| {
        application(seen) == application(of) && seen.said.identity.runtime() == of.said.identity.runtime()
    };
    let reports = |look: &[SeenNode<NodeReport>]| -> Vec<NodeReport> {
        look.iter().filter(is_same).map(|seen| seen.said.clone()).collect()
    };
    deadlocks(&reports(before), &reports(now)).into_iter().map(|(_, deadlock)| deadlock).collect()
}

fn node(seen: &SeenNode<NodeReport>) -> Value {
    let (report, of) = (&seen.said, &seen.said.identity);
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
        "application": seen.place.as_ref().map(|place| &place.application),
        "machine": seen.place.as_ref().map(|place| &place.machine),
        "workers": report.workers.iter().map(worker).collect::<Vec<_>>(),
        "other_threads": report.other_threads,
        "fibers": report.fibers.iter().map(group).collect::<Vec<_>>(),
    })
}

fn wait(wait: &WaitReport) -> Value {
    json!({
        "call": wait.call, "at": wait.at, "what": wait.what, "closure": wait.closure, "property": wait.property, "worker": wait.worker,
        "is_internal": wait.is_internal,
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
