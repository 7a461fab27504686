//! What the processes of a node are doing at this moment, as far as `/proc` shows it.

use crate::processes::children;
use crate::terminal::table::bytes;
use rustix::process::Pid;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long it watches which threads use a processor.
const LOOK: Duration = Duration::from_millis(200);
/// At most this many processes are reported, and this many threads of each.
const PROCESSES: usize = 16;
const THREADS: usize = 64;

/// What each process of some nodes is doing, as lines; each node is given by its process number.
#[must_use]
pub fn describe(nodes: &[u32]) -> Vec<String> {
    let families: Vec<Vec<Pid>> = nodes.iter().map(|&node| family(node)).collect();
    let (before, begin) = (processor_times(&families), Instant::now());
    std::thread::sleep(LOOK);
    let look = begin.elapsed();
    let share = |thread: &Path, time: Duration| {
        let used = time.saturating_sub(before.get(thread).copied().unwrap_or(time));
        100.0 * used.as_secs_f64() / look.as_secs_f64()
    };
    families.iter().map(|family| text(family, &share)).collect()
}

/// The name of a program, and its file: the file of a program that was shipped here is named after a hash.
struct ProgramName {
    called: String,
    file: String,
}

impl ProgramName {
    fn of(process: &Path) -> Self {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let called = fs::read(process.join("cmdline")).unwrap_or_default();
        let called = called.split(|&byte| byte == 0).next().unwrap_or_default();
        let file = fs::read_link(process.join("exe")).unwrap_or_default();
        Self { called: last(&String::from_utf8_lossy(called)), file: last(&file.to_string_lossy()) }
    }

    /// The name of a thread, unless it is the beginning of the file's name, which the kernel gives to every thread at
    /// first.
    fn instead_of(&self, name: String) -> String {
        if self.called.is_empty() || !self.file.starts_with(&name) { name } else { self.called.clone() }
    }
}

/// A process, and what descends from it.
fn family(node: u32) -> Vec<Pid> {
    let mut found: Vec<Pid> = i32::try_from(node).ok().and_then(Pid::from_raw).into_iter().collect();
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        let new: Vec<Pid> = children(process).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(new);
        next += 1;
    }
    found
}

/// The directories of a process's threads.
fn threads(process: Pid) -> Vec<PathBuf> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
    threads.into_iter().flatten().flatten().map(|thread| thread.path()).collect()
}

fn processor_times(families: &[Vec<Pid>]) -> HashMap<PathBuf, Duration> {
    let threads = families.iter().flatten().flat_map(|&process| threads(process));
    threads.filter_map(|thread| processor_time(&thread).map(|time| (thread, time))).collect()
}

fn processor_time(thread: &Path) -> Option<Duration> {
    let times = fs::read_to_string(thread.join("schedstat")).ok()?;
    times.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn text(family: &[Pid], share: &impl Fn(&Path, Duration) -> f64) -> String {
    let mut text = String::new();
    for &process in family.iter().take(PROCESSES) {
        let threads = threads(process);
        let directory = format!("/proc/{}", process.as_raw_nonzero());
        let directory = Path::new(&directory);
        let memory =
            memory(directory).map_or_else(String::new, |memory| format!(", {} in memory", bytes(memory)));
        let (program, count) = (ProgramName::of(directory), threads.len());
        let name = program.instead_of(line(&directory.join("comm")));
        let _ = writeln!(text, "process {} ({name}), {count} threads{memory}", process.as_raw_nonzero());
        let mut lines: Vec<(f64, String)> =
            threads.iter().map(|thread| of_thread(thread, &program, share)).collect();
        // Threads that use a processor come first.
        lines.sort_by(|one, other| other.0.total_cmp(&one.0));
        lines.iter().take(THREADS).for_each(|(_, line)| text += line);
        if count > THREADS {
            let _ = writeln!(text, "  and {} other threads", count - THREADS);
        }
    }
    if family.len() > PROCESSES {
        let _ = writeln!(text, "and {} other processes", family.len() - PROCESSES);
    }
    text
}

/// What a thread is doing, and how much of a processor it uses.
fn of_thread(thread: &Path, program: &ProgramName, share: &impl Fn(&Path, Duration) -> f64) -> (f64, String) {
    let name = program.instead_of(line(&thread.join("comm")));
    let time = processor_time(thread).unwrap_or_default();
    let (share, seconds) = (share(thread, time), time.as_secs_f64());
    let wait = match line(&thread.join("wchan")) {
        wait if wait.is_empty() || wait == "0" => String::new(),
        wait => format!(" in {wait}"),
    };
    let state = state(thread);
    (share, format!("  {name}: {state}{wait}, {share:.0} % of a processor, {seconds:.2} s in all\n"))
}

fn state(thread: &Path) -> &'static str {
    let status = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    // `number (name) state`, where the name may contain anything.
    match status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('R') => "running",
        Some('S') => "sleeping",
        Some('D') => "waiting, uninterruptibly",
        Some('T') => "stopped",
        Some('t') => "stopped by a debugger",
        Some('I') => "idle",
        Some(_) | None => "ended",
    }
}

/// The memory that a process has, in bytes.
fn memory(process: &Path) -> Option<u64> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    size.split_whitespace().next()?.parse().ok().map(|kibibytes: u64| kibibytes << 10)
}

/// The only line of a file.
fn line(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default().trim_end().to_owned()
}
