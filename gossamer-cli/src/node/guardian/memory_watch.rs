//! Whether the kernel has killed a node because memory ran out. The events of its cgroup tell, or the kernel's log, or
//! the kernel's counter.

use crate::node::ending::OutOfMemory;
use crate::node::guardian::cgroup::Cgroup;
use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use rustix::io::{Errno, read};
use rustix::process::Pid;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The longest record of the kernel's log.
const RECORD: usize = 8192;

/// The initial namespace of process numbers, whose inode is fixed.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// What was known when a node was started.
#[derive(Debug)]
pub struct MemoryWatch {
    /// How many processes of this machine the kernel had killed because memory ran out.
    kills: Option<u64>,
    /// The kernel's log from then on, if this process may read it.
    log: Option<OwnedFd>,
}

impl MemoryWatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { kills: kills(), log: log() }
    }

    /// Whether the node, which has this cgroup, was killed because memory ran out.
    #[must_use]
    pub fn look(&self, node: Pid, cgroup: Option<&Cgroup>) -> Option<OutOfMemory> {
        let kills = self.kills.zip(kills()).map_or(0, |(before, now)| now.saturating_sub(before));
        cgroup
            .and_then(of_cgroup)
            .or_else(|| self.of_log(node))
            .or_else(|| (kills > 0).then_some(OutOfMemory::Perhaps { kills }))
    }

    /// What the kernel has logged about this process since.
    fn of_log(&self, node: Pid) -> Option<OutOfMemory> {
        let (log, mut record) = (self.log.as_ref()?, vec![0; RECORD]);
        loop {
            match read(log, &mut record) {
                Ok(length) => {
                    let text = String::from_utf8_lossy(record.get(..length).unwrap_or_default());
                    if let Some(known) = of_record(node.as_raw_nonzero().get(), &text) {
                        return Some(known);
                    }
                }
                // Records were overwritten before this process had read them.
                Err(Errno::PIPE | Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }
}

/// The kernel's log from now on, if this process may read it, and sees the same process numbers as the kernel.
fn log() -> Option<OwnedFd> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    (namespace == Path::new(FIRST_NAMESPACE)).then_some(())?;
    let log = open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    seek(&log, SeekFrom::End(0)).ok()?;
    Some(log)
}

/// How many processes of this machine the kernel has killed because memory ran out.
fn kills() -> Option<u64> {
    count(&fs::read_to_string("/proc/vmstat").ok()?, "oom_kill")
}

/// The number after a name, on a line of its own.
fn count(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(known, _)| *known == name)?.1.trim().parse().ok()
}

/// What a limited cgroup says about it.
fn of_cgroup(cgroup: &Cgroup) -> Option<OutOfMemory> {
    let read = |file: &str| fs::read_to_string(cgroup.path().join(file)).ok();
    let number = |file| read(file).and_then(|text| text.trim().parse().ok());
    // Without a limit, the kernel may have chosen any of its processes.
    let allowed = number("memory.max")?;
    count(&read("memory.events")?, "oom_kill").filter(|kills| *kills > 0)?;
    Some(OutOfMemory::OfNode { used: number("memory.peak"), allowed })
}

/// What a record of the log says, if it is about this process.
fn of_record(process: i32, record: &str) -> Option<OutOfMemory> {
    let (why, rest) = record.split_once("Killed process ")?;
    let (number, rest) = rest.split_once(' ')?;
    let kibibytes = |name: &str| {
        let (_, rest) = rest.split_once(name)?;
        rest.split_once("kB")?.0.parse::<u64>().ok()
    };
    (number.parse() == Ok(process)).then_some(())?;
    let resident = ["anon-rss:", "file-rss:", "shmem-rss:"].map(|name| kibibytes(name).unwrap_or(0));
    let used = resident.iter().sum::<u64>() << 10;
    Some(match why.contains("emory cgroup") {
        true => OutOfMemory::OfCgroup { used },
        false => OutOfMemory::OfMachine { used },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "3,1195,9347,-;Memory cgroup out of memory: Killed process 4242 (a) b) total-vm:70000kB, \
                          anon-rss:60000kB, file-rss:1000kB, shmem-rss:24kB, UID:0 pgtables:180kB oom_score_adj:0";

    #[test]
    fn the_log_says_what_a_killed_process_had_used() {
        assert_eq!(of_record(4242, RECORD), Some(OutOfMemory::OfCgroup { used: 61024 << 10 }));
        assert_eq!(of_record(424, RECORD), None);
        assert_eq!(of_record(4242, "6,1,2,-;eth0: link up"), None);
        let machine = "3,1,2,-;Out of memory: Killed process 7 (x) total-vm:8kB, anon-rss:4kB, UID:0";
        assert_eq!(of_record(7, machine), Some(OutOfMemory::OfMachine { used: 4096 }));
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let events = "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 3\n";
        assert_eq!((count(events, "oom_kill"), count(events, "oom_k")), (Some(2), None));
    }
}
