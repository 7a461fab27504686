//! What a process and its children have used, according to the kernel. Nothing is known about processes that have
//! already ended.

use super::others::fields;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The most memory that each of them had, together. What they share counts once: memory that is shared, and the pages of
/// a program and its libraries that several run.
pub(crate) fn memory(process: u32) -> u64 {
    let (mut own, mut shared, mut files) = (0, 0, BTreeMap::new());
    for process in all(process) {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let of = |name| kilobytes(&status, name).unwrap_or(0);
        let (of_files, of_shared) = (of("RssFile:"), of("RssShmem:"));
        own += of("VmHWM:").saturating_sub(of_files + of_shared);
        shared = of_shared.max(shared);
        let of_program: &mut u64 =
            files.entry(fs::read_link(format!("/proc/{process}/exe")).ok()).or_default();
        *of_program = of_files.max(*of_program);
    }
    (own + shared + files.into_values().sum::<u64>()) * 1024
}

/// User and system time.
pub(crate) fn processor_time(process: u32) -> Duration {
    let of = |process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        fields(&stat).and_then(|fields| Some(fields.get(11..13)?.iter().sum::<u64>())).unwrap_or(0)
    };
    Duration::from_millis(all(process).into_iter().map(of).sum::<u64>() * 10)
}

/// A process, its children, theirs, and so on.
fn all(process: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u64)> = numbers
        .filter_map(|number| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            Some((number, *fields(&stat)?.get(1)?))
        })
        .collect();
    descendants(process, &parents)
}

/// Of processes with their parents.
fn descendants(process: u32, parents: &[(u32, u64)]) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied().map(u64::from) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(number, _)| *number));
        next += 1;
    }
    found
}

/// From `/proc/PID/status`.
fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grandchildren_belong_to_a_process() {
        let parents = [(1, 0), (5, 1), (7, 5), (8, 7), (9, 1), (10, 5)];
        assert_eq!(descendants(5, &parents), [5, 7, 10, 8]);
    }

    #[test]
    fn the_most_memory_is_found_in_a_status() {
        let status = "Name:\tsh\nVmPeak:\t  20 kB\nVmHWM:\t    12 kB\n";
        assert_eq!(kilobytes(status, "VmHWM:"), Some(12));
        assert_eq!(kilobytes(status, "RssFile:"), None);
    }
}
