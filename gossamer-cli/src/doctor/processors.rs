//! The processors, and the clock.

use crate::doctor::kernel_files::KernelFiles;
use crate::rack::finding::Finding;
use std::hint::black_box;
use std::time::Instant;

/// A clock that takes longer than this to read is not the processor's own.
const SLOW_CLOCK: u128 = 200;
/// How many readings are timed.
const READINGS: u32 = 1000;

/// Findings about the processors of a machine, of which this process may use this many.
#[must_use]
pub fn examine(machine: &KernelFiles, processors: usize) -> Vec<Finding> {
    let mut findings = vec![count(machine, processors)];
    findings.extend(threads_of_a_core(machine));
    findings.extend(nodes(machine));
    findings.extend(governor(machine));
    findings.push(clock(machine, nanoseconds_of_a_reading()));
    findings
}

fn count(machine: &KernelFiles, processors: usize) -> Finding {
    const SUBJECT: &str = "processors";
    let all = machine.read("sys/devices/system/cpu/online").map_or(0, |list| listed(&list));
    if processors == 1 {
        let cost = "one worker: programs run, but nothing runs in parallel";
        return Finding::note(SUBJECT, "1 for this process", cost);
    }
    Finding::fine(SUBJECT, format!("{processors} for this process, of {all}"))
}

/// How many numbers there are in `0-3,8`.
fn listed(list: &str) -> usize {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.trim().parse::<usize>().ok()? + 1 - first.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(of_range).sum()
}

fn threads_of_a_core(machine: &KernelFiles) -> Option<Finding> {
    (machine.number("sys/devices/system/cpu/smt/active")? == 1).then(|| {
        Finding::note(
            "threads of a core (SMT)",
            "on",
            "two workers may share a core, and each is slower then; GOSSAMER_THREADS says how many workers there are",
        )
    })
}

fn nodes(machine: &KernelFiles) -> Option<Finding> {
    let nodes = machine.read("sys/devices/system/node/online").map_or(1, |list| listed(&list));
    (nodes > 1).then(|| {
        Finding::note(
            "NUMA nodes",
            nodes.to_string(),
            "memory of another one is slower: start one node of a rack for each (gossamer run --local, numactl --cpunodebind)",
        )
    })
}

fn governor(machine: &KernelFiles) -> Option<Finding> {
    const FILE: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let governor = machine.read(FILE)?;
    Some(if governor == "powersave" && !machine.has("sys/devices/system/cpu/intel_pstate") {
        Finding::warning(
            "frequency of the processors",
            governor,
            "they stay at their lowest frequency",
            "cpupower frequency-set -g performance",
        )
    } else {
        Finding::fine("frequency of the processors", governor)
    })
}

fn nanoseconds_of_a_reading() -> u128 {
    let best = (0..5).map(|_| {
        let begin = Instant::now();
        for _ in 0..READINGS {
            black_box(Instant::now());
        }
        begin.elapsed().as_nanos() / u128::from(READINGS)
    });
    best.min().unwrap_or_default()
}

fn clock(machine: &KernelFiles, nanoseconds: u128) -> Finding {
    const SUBJECT: &str = "clock";
    const FILES: &str = "sys/devices/system/clocksource/clocksource0";
    let source =
        machine.read(&format!("{FILES}/current_clocksource")).unwrap_or_else(|| "unknown".to_owned());
    let found = format!("{source}, {nanoseconds} ns to read");
    if nanoseconds <= SLOW_CLOCK {
        return Finding::fine(SUBJECT, found);
    }
    let others = machine.read(&format!("{FILES}/available_clocksource")).unwrap_or_default();
    let cost = "timers, sockets and metrics read it, and each reading is a system call";
    match others.split_whitespace().find(|other| ["tsc", "kvm-clock", "arch_sys_counter"].contains(other)) {
        Some(better) if better != source => {
            let mend = format!("echo {better} >/{FILES}/current_clocksource");
            Finding::warning(SUBJECT, found, cost, mend)
        }
        _ => Finding::note(SUBJECT, found, cost),
    }
}
