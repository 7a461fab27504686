//! How a node ended, and the words for it.

use crate::exit;
use crate::node::signal::{KILL, signal_name};
use crate::terminal::printable::printable;
use crate::terminal::table::bytes;
use serde::{Deserialize, Serialize};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The longest report line of a node, in bytes.
pub const MOST_WORDS: usize = 4096;

/// The report of a node that ends with status 0 because node 0, which goes on, no longer needs it.
pub const RELEASED: &str = "released by node 0";

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By itself, with this status.
    Exited(u8),
    /// By a signal.
    Killed {
        /// The number of the signal.
        signal: u8,
        /// Whether the kernel wrote a core file.
        core: bool,
    },
    /// Nobody can tell, because its machine can no longer be reached: why.
    Lost(String),
    /// By SIGKILL from the kernel, because memory ran out.
    OutOfMemory(OutOfMemory),
}

/// What is known about a node that the kernel has killed because memory ran out; all sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutOfMemory {
    /// It needed more than it may use.
    OfNode {
        /// The most that it had used, if the kernel says so.
        used: Option<u64>,
        /// What it may use.
        allowed: u64,
    },
    /// The limit of a cgroup around it was reached.
    OfCgroup {
        /// What it had used.
        used: u64,
    },
    /// The machine had no more.
    OfMachine {
        /// What the node had used.
        used: u64,
    },
    /// It was killed by SIGKILL, and since it was started the kernel has killed processes for want of memory.
    Perhaps {
        /// How many of them, on this machine.
        kills: u64,
    },
}

/// The end of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub how: How,
    /// The line that it wrote to its report pipe.
    pub words: Option<String>,
}

impl How {
    /// From what the kernel says of an ended process.
    #[must_use]
    pub fn of(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => {
                Self::Killed { signal: u8::try_from(signal).unwrap_or(0), core: status.core_dumped() }
            }
            None => Self::Exited(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)),
        }
    }

    /// The exit status of a launcher whose application failed by this.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Exited(0) => exit::FAILED,
            Self::Exited(status) => *status,
            Self::Killed { signal, .. } => exit::SIGNALLED.saturating_add(*signal),
            Self::OutOfMemory(_) => exit::SIGNALLED.saturating_add(KILL),
            Self::Lost(_) => exit::LOST,
        }
    }

    /// The end of a sentence that begins with the node's name.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Exited(0) => "ended with status 0, but before node 0".into(),
            Self::Exited(exit::LOST) => {
                "ended with status 75: it lost a peer, and no node reports a failure of its own".into()
            }
            Self::Exited(status) => format!("ended with status {status}"),
            Self::Killed { signal, core } => {
                format!("was killed by {}{}", signal_name(*signal), if *core { " (core dumped)" } else { "" })
            }
            Self::OutOfMemory(known) => format!("was killed by SIGKILL, {}", known.clause()),
            Self::Lost(why) => format!("is lost: {why}"),
        }
    }
}

impl OutOfMemory {
    /// Why the kernel has killed the node.
    fn clause(self) -> String {
        let because = |what: String| format!("by the kernel, for want of memory{what}");
        match self {
            Self::OfNode { used, allowed } => {
                let used = used.map_or_else(String::new, |used| format!("it had used {}; ", bytes(used)));
                because(format!(": {used}{} are allowed to each node (--mem)", bytes(allowed)))
            }
            Self::OfCgroup { used } => because(format!(
                " in a cgroup around it, of a service or a container: it had used {}",
                bytes(used)
            )),
            Self::OfMachine { used } => {
                because(format!(" on the whole machine: it had used {}", bytes(used)))
            }
            Self::Perhaps { kills } => {
                let processes =
                    if kills == 1 { "a process".to_owned() } else { format!("{kills} processes") };
                format!(
                    "perhaps by the kernel: since the node was started, it has killed {processes} of this machine for want of \
                     memory (dmesg says which)"
                )
            }
        }
    }
}

/// What a node wrote to its report pipe, as one line that a terminal may show; nothing if it wrote nothing.
#[must_use]
pub fn words(written: &[u8]) -> Option<String> {
    let line = written.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.get(..MOST_WORDS).unwrap_or(line);
    let words = printable(String::from_utf8_lossy(line).trim());
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_lacked_memory_is_told_what_it_had_and_what_it_might_have() {
        let of = |known| How::OutOfMemory(known).sentence();
        let limited = of(OutOfMemory::OfNode { used: Some(63 << 20), allowed: 64 << 20 });
        assert!(limited.ends_with("memory: it had used 63.0 MiB; 64.0 MiB are allowed to each node (--mem)"));
        assert!(of(OutOfMemory::OfCgroup { used: 1 << 30 }).ends_with("a container: it had used 1.0 GiB"));
        assert!(of(OutOfMemory::OfMachine { used: 1 << 30 }).ends_with("whole machine: it had used 1.0 GiB"));
        assert!(of(OutOfMemory::Perhaps { kills: 2 }).contains("perhaps by the kernel"));
        assert_eq!(How::OutOfMemory(OutOfMemory::Perhaps { kills: 1 }).status(), 137);
    }

    #[test]
    fn the_words_of_a_node_are_one_line_without_control_characters() {
        assert_eq!(words(b""), None);
        assert_eq!(words(b"\nlater"), None);
        assert_eq!(words(b"worker 3\npanicked"), Some("worker 3".into()));
        assert_eq!(words(b"a\x1b[31mb\r"), Some("a\\u{1b}[31mb".into()));
        assert_eq!(words(&[0xff, b'a']), Some("\u{fffd}a".into()));
        assert_eq!(words(&vec![b'x'; 2 * MOST_WORDS]).map(|words| words.len()), Some(MOST_WORDS));
    }
}
