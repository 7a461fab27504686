//! The machine under the measurements.

use super::recording::Machine;
use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

impl Machine {
    /// This machine, now. Whatever cannot be found out is empty.
    pub(crate) fn found() -> Self {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kilobytes =
            field(&memory, "MemTotal").and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
        let commit = said("git", &["describe", "--always", "--dirty", "--exclude=*"]);
        Self {
            processor: field(&information, "model name").unwrap_or_default().to_owned(),
            processors: available_parallelism().map_or(1, usize::from),
            is_virtual: field(&information, "flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: kilobytes.unwrap_or(0) * 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            commit,
            time: said("date", &["--utc", "+%Y-%m-%d %H:%M UTC"]),
        }
    }

    /// In one line.
    pub(crate) fn description(&self) -> String {
        let Self { processor, processors, memory_bytes, kernel, commit, time, .. } = self;
        let gibibytes = *memory_bytes as f64 / f64::from(1 << 30);
        let kind = if self.is_virtual { "a virtual machine, " } else { "" };
        format!(
            "{kind}{processor}, {processors} processors, {gibibytes:.0} GiB, Linux {kernel}; commit {commit}, {time}"
        )
    }
}

/// The output of a program; nothing if the program cannot be run.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first value of this name in a list of names and values.
fn field<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'));
    list.lines().find(is_it)?.split_once(':').map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let list = "model\t: 1\nmodel name\t: A processor\nMemTotal:   16 kB\n";
        assert_eq!(field(list, "model name"), Some("A processor"));
        assert_eq!((field(list, "MemTotal"), field(list, "flags")), (Some("16 kB"), None));
    }
}
