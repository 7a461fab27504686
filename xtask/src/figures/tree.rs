//! What a process and its children have used, according to the kernel. Nothing is known about processes that have
//! already ended.

use super::others::fields;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// What a process and its children weigh, again and again.
#[derive(Debug, Default)]
pub(crate) struct Scales {
    /// For each process, how many kilobytes of files it had when they were last told apart, and of which.
    files: BTreeMap<u32, (u64, BTreeMap<String, u64>)>,
    pub(crate) weights: Vec<u64>,
}

impl Scales {
    /// Notes the most memory that each of them has had, together, in bytes. What they share counts once: memory that is
    /// shared, and the pages of programs and libraries that several use.
    pub(crate) fn weigh(&mut self, process: u32) {
        let (mut own, mut shared, mut files) = (0, 0, BTreeMap::new());
        for process in all(process) {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            let of = |name| kilobytes(&status, name).unwrap_or(0);
            let (of_files, of_shared) = (of("RssFile:"), of("RssShmem:"));
            own += of("VmHWM:").saturating_sub(of_files + of_shared);
            shared = of_shared.max(shared);
            let (known, pages) = self.files.entry(process).or_default();
            // To tell them apart the kernel goes through all memory of a process, whose speed is measured meanwhile.
            if *known != of_files {
                let smaps = fs::read_to_string(format!("/proc/{process}/smaps")).unwrap_or_default();
                (*known, *pages) = (of_files, pages_of_files(&smaps));
            }
            for (file, pages) in pages {
                let most: &mut u64 = files.entry(file.clone()).or_default();
                *most = (*most).max(*pages);
            }
        }
        self.weights.push((own + shared + files.into_values().sum::<u64>()) * 1024);
    }
}

/// Kilobytes of each file that is mapped, without those that were copied to be changed; from `/proc/PID/smaps`.
fn pages_of_files(smaps: &str) -> BTreeMap<String, u64> {
    // The kernel counts these as memory that is shared.
    let is_shared = |path: &str| ["/memfd:", "/dev/", "/SYSV"].iter().any(|start| path.starts_with(start));
    let (mut files, mut pages) = (BTreeMap::<_, u64>::new(), None);
    for line in smaps.lines() {
        if line.split(' ').next().is_some_and(|range| range.contains('-')) {
            let path = line.find('/').map(|start| &line[start..]).filter(|path| !is_shared(path));
            pages = path.map(|path| files.entry(path.to_owned()).or_default());
        } else if let Some(pages) = &mut pages {
            **pages += kilobytes(line, "Rss:").unwrap_or(0);
            **pages -= kilobytes(line, "Anonymous:").unwrap_or(0);
        }
    }
    files
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
    fn pages_of_a_file_are_those_of_all_its_mappings_that_were_not_copied() {
        let smaps = "\
            5500-5600 r-xp 00000000 08:01 42                 /bin/a b\nSize: 9 kB\nRss:  40 kB\nAnonymous:  0 kB\n\
            5600-5700 rw-p 00001000 08:01 42                 /bin/a b\nRss:  12 kB\nAnonymous:  8 kB\n\
            5700-5800 rw-p 00000000 00:00 0                  [heap]\nRss:  70 kB\nAnonymous:  70 kB\n\
            5800-5900 rw-s 00000000 00:01 7                  /memfd:lanes (deleted)\nRss:  5 kB\nAnonymous:  0 kB\n\
            5900-5a00 rw-p 00000000 00:00 0 \nRss:  90 kB\nAnonymous:  90 kB\n\
            5a00-5b00 r--p 00000000 08:01 43                 /lib/libc.so\nRss:  3 kB\nAnonymous:  0 kB\n";
        let expected = [("/bin/a b", 44), ("/lib/libc.so", 3)].map(|(file, pages)| (file.to_owned(), pages));
        assert_eq!(pages_of_files(smaps), BTreeMap::from(expected));
    }

    #[test]
    fn the_most_memory_is_found_in_a_status() {
        let status = "Name:\tsh\nVmPeak:\t  20 kB\nVmHWM:\t    12 kB\n";
        assert_eq!(kilobytes(status, "VmHWM:"), Some(12));
        assert_eq!(kilobytes(status, "RssFile:"), None);
    }
}
