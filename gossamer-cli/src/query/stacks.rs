//! `gossamer stacks`: what the fibers of programs on this machine do, and which of them wait for each other.

use crate::exit::{FAILED, Failure, UNREACHABLE};
use crate::query::output::{complain, print, print_json};
use crate::terminal::printable::printable;
use gossamer::inspect::{
    Deadlock, Dependency, FiberGroup, FiberLink, InspectionSocket, NodeReport, WaitReport, WorkerReport, ask,
    deadlocks, inspection_sockets, rendered,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
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
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Examples:
  gossamer stacks                  of all programs of this user
  gossamer stacks 4242             of this process
  watch -n 1 gossamer stacks       again and again
  gossamer stacks --json | jq      for programs

Exit status:
  0    they have answered
  1    there is no such program
  3    one of them did not answer; the others are shown";

/// What was asked for, and what came of it.
struct Look {
    reports: Vec<NodeReport>,
    failed: Vec<(InspectionSocket, io::Error)>,
}

/// `gossamer stacks`
///
/// # Errors
/// If there is no such program.
pub(crate) fn stacks(arguments: &StacksArguments) -> Result<u8, Failure> {
    let all = inspection_sockets()
        .map_err(|error| Failure::new(UNREACHABLE, format!("cannot look for programs: {error}")))?;
    let chosen = |socket: &InspectionSocket| {
        arguments.processes.is_empty() || arguments.processes.contains(&socket.process)
    };
    let sockets: Vec<InspectionSocket> = all.into_iter().filter(chosen).collect();
    let missing =
        arguments.processes.iter().find(|process| sockets.iter().all(|socket| socket.process != **process));
    if let Some(process) = missing {
        return Err(Failure::new(
            FAILED,
            format!(
                "process {process} is no program of this user that runs on gossamer on this machine, or it has ended{}",
                if std::path::Path::new(&format!("/proc/{process}")).exists() {
                    ""
                } else {
                    ": there is no such process"
                }
            ),
        ));
    }
    if sockets.is_empty() {
        return Err(Failure::new(FAILED, "no program of this user runs on gossamer on this machine"));
    }
    let mut look = look(&sockets);
    let mut before = Vec::new();
    if look.reports.iter().any(|report| !report.links.is_empty()) {
        before = look.reports;
        thread::sleep(BETWEEN);
        look = self::look(&sockets);
    }
    let mut found = BTreeMap::<_, Vec<Deadlock>>::new();
    for (name, deadlock) in deadlocks(&before, &look.reports) {
        found.entry(name).or_default().push(deadlock);
    }
    let (mut values, mut text) = (Vec::new(), String::new());
    for reports in by_runtime(&look.reports) {
        let found = found.remove(&reports[0].of()).unwrap_or_default();
        if arguments.json {
            values.push(json!({
                "rack": reports[0].rack,
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
    // One that has ended meanwhile is no news, unless it was asked for.
    let has_ended = |process: u32| !std::path::Path::new(&format!("/proc/{process}")).exists();
    look.failed.retain(|(socket, _)| !arguments.processes.is_empty() || !has_ended(socket.process));
    for (socket, error) in &look.failed {
        complain(&format!("process {} does not answer: {}", socket.process, why(socket.process, error)));
    }
    match arguments.json {
        true => print_json(&Value::Array(values))?,
        false => {
            let lines: Vec<String> = text.lines().map(|line| printable(line).to_string()).collect();
            print(format!("{}\n", lines.join("\n")).as_bytes())?;
        }
    }
    Ok(if look.failed.is_empty() { 0 } else { UNREACHABLE })
}

/// Asks all at once: one that is stopped holds up nobody.
fn look(sockets: &[InspectionSocket]) -> Look {
    let mut look = Look { reports: Vec::new(), failed: Vec::new() };
    let answers = thread::scope(|scope| {
        let asked: Vec<_> = sockets.iter().map(|socket| scope.spawn(move || ask(socket))).collect();
        let panicked = |_| Err(io::Error::other("it could not be asked"));
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(panicked)).collect::<Vec<_>>()
    });
    for (socket, answer) in sockets.iter().zip(answers) {
        match answer {
            Ok(reports) => look.reports.extend(reports),
            Err(error) => look.failed.push((socket.clone(), error)),
        }
    }
    look
}

/// The nodes of each rack together, in order; a process alone is one.
fn by_runtime(reports: &[NodeReport]) -> Vec<Vec<&NodeReport>> {
    let mut runtimes = BTreeMap::<_, Vec<_>>::new();
    for report in reports {
        runtimes.entry(report.of()).or_default().push(report);
    }
    runtimes.values_mut().for_each(|nodes| nodes.sort_by_key(|report| report.node));
    runtimes.into_values().collect()
}

/// Why a process does not answer, as far as the kernel knows.
fn why(process: u32, error: &io::Error) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    match state {
        None => "it has ended meanwhile".to_owned(),
        Some('T' | 't') => "it is stopped, by a signal or a debugger (kill -CONT lets it go on)".to_owned(),
        Some('Z') => "it has ended, and whoever has started it has not noticed".to_owned(),
        Some(_) => error.to_string(),
    }
}

fn node(report: &NodeReport) -> Value {
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
        })
    };
    json!({
        "node": report.node, "nodes": report.nodes, "process": report.process, "program": report.program,
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
