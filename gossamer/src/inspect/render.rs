//! A report as text.

use crate::inspect::report::{FiberGroup, NodeReport, WorkerReport};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the nodes of one rack, or one process, report of themselves; fibers that do the same are one entry, over all
/// nodes.
#[must_use]
pub fn rendered(reports: &[&NodeReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let _infallible = write!(text, "{}", head(report));
    }
    let groups = merged(reports);
    if groups.is_empty() {
        let all_answer = reports.iter().flat_map(|report| &report.workers).all(|worker| worker.answered);
        text.push_str(if all_answer { "no fibers\n" } else { "no fibers on the workers that answer\n" });
    }
    for group in groups {
        text.push_str(&of_group(&group));
    }
    text
}

/// A line for a node, and one for each of its workers that does not answer.
fn head(report: &NodeReport) -> String {
    let of = &report.identity;
    let sum = |of: fn(&WorkerReport) -> u64| report.workers.iter().map(of).sum::<u64>();
    let node = if of.nodes > 1 { format!("node {} of {}, ", of.node, of.nodes) } else { String::new() };
    let (fibers, jobs, unanswered) =
        (sum(|worker| worker.fibers), sum(|worker| worker.jobs), sum(|worker| worker.unanswered));
    let mut text = format!(
        "{node}process {} ({}): {}, {}",
        of.process,
        of.program,
        counted(report.workers.len() as u64, "worker"),
        counted(fibers, "fiber")
    );
    if jobs > 0 {
        let _infallible = write!(text, ", {jobs} more to begin");
    }
    if unanswered > 0 {
        let _infallible = write!(text, ", {} without an answer", counted(unanswered, "request"));
    }
    text.push('\n');
    for worker in report.workers.iter().filter(|worker| !worker.answered) {
        let _infallible = writeln!(
            text,
            "  worker {} does not answer, and has made no turn for {}: it runs {}",
            worker.worker,
            seconds(worker.still_for),
            worker.runs
        );
    }
    text
}

/// The fibers of all nodes, the largest groups first.
fn merged(reports: &[&NodeReport]) -> Vec<FiberGroup> {
    let mut merged = BTreeMap::new();
    for group in reports.iter().flat_map(|report| &report.fibers) {
        let mut wait = group.wait.clone();
        // Entries that are otherwise alike wait for many workers.
        wait.iter_mut().for_each(|wait| wait.worker = None);
        let entry = merged.entry((group.spawned_at.clone(), group.state.clone(), wait));
        entry
            .and_modify(|all: &mut FiberGroup| {
                all.count += group.count;
                all.workers.extend(&group.workers);
                if all.backtrace.is_empty() {
                    all.backtrace.clone_from(&group.backtrace);
                }
                all.waited = (all.waited.0.min(group.waited.0), all.waited.1.max(group.waited.1));
                let waits_for = group.wait.as_ref().and_then(|wait| wait.worker);
                all.wait
                    .iter_mut()
                    .filter(|wait| wait.worker != waits_for)
                    .for_each(|wait| wait.worker = None);
            })
            .or_insert_with(|| group.clone());
    }
    let mut groups: Vec<FiberGroup> = merged.into_values().collect();
    for group in &mut groups {
        group.workers.sort_unstable();
        group.workers.dedup();
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

fn of_group(group: &FiberGroup) -> String {
    let mut text = format!("\n{} spawned at {}\n", counted(group.count, "fiber"), group.spawned_at);
    let _infallible =
        write!(text, "  {}", if group.count == 1 { &group.state } else { plural(&group.state) });
    if let Some(wait) = &group.wait {
        let _infallible = write!(text, " in `{}`", wait.call);
        wait.what.iter().for_each(|what| text += &format!(" for {what}"));
        wait.closure.iter().for_each(|closure| text += &format!(" of {closure}"));
        wait.property.iter().for_each(|property| text += &format!(" to a `{property}`"));
        wait.worker.iter().for_each(|worker| text += &format!(", on worker {worker}"));
        if let Some(at) = &wait.at {
            let _infallible = write!(text, "\n  called at {at}");
        }
    }
    let (least, most) = group.waited;
    let time = match (seconds(least), seconds(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    let workers = if group.workers.len() == 1 { "worker" } else { "workers" };
    let _infallible = writeln!(text, "\n  for {time}, on {workers} {}", ranges(&group.workers));
    group.backtrace.iter().for_each(|frame| text += &format!("    {frame}\n"));
    text
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn plural(state: &str) -> &str {
    match state {
        "waits" => "wait",
        "is ready" => "are ready",
        "runs" => "run",
        "unwinds" => "unwind",
        other => other,
    }
}

fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..100 => "less than 0.1 s".to_owned(),
        100..10_000 => format!("{}.{} s", milliseconds / 1000, milliseconds / 100 % 10),
        _ => format!("{} s", milliseconds / 1000),
    }
}

/// `0-3, 7`
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}
