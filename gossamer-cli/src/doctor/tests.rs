//! Machines that are made of files.

use crate::doctor::kernel_files::KernelFiles;
use crate::doctor::{examine, kernel, limits, processors};
use crate::rack::finding::{Finding, Severity};
use std::fs;
use std::path::PathBuf;

struct Fake(PathBuf);

impl Fake {
    /// With these files.
    fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("gossamer-doctor-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        Self(root)
    }

    fn machine(&self) -> KernelFiles {
        KernelFiles::at(&self.0)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The finding whose subject begins like this.
fn about<'a>(findings: &'a [Finding], subject: &str) -> &'a Finding {
    findings
        .iter()
        .find(|finding| finding.subject.starts_with(subject))
        .unwrap_or_else(|| panic!("{subject}"))
}

#[test]
fn an_old_kernel_with_few_mappings_is_told_how_many_fibers_fit_and_what_raises_that() {
    let fake = Fake::with(
        "old",
        &[
            ("proc/sys/kernel/osrelease", "6.1.0-56-amd64"),
            ("proc/sys/vm/max_map_count", "65530"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
            ("proc/sys/vm/overcommit_memory", "2"),
        ],
    );
    let findings = kernel::examine(&fake.machine());
    let mappings = about(&findings, "memory mappings");
    assert_eq!(mappings.severity, Severity::Warning);
    assert!(mappings.cost.contains("about 32765 fibers"), "{}", mappings.cost);
    assert!(mappings.mend.starts_with("sysctl -w vm.max_map_count="), "{}", mappings.mend);
    assert_eq!(about(&findings, "transparent huge pages").severity, Severity::Warning);
    assert_eq!(about(&findings, "promised memory").severity, Severity::Warning);
    assert_eq!(about(&findings, "kernel").severity, Severity::Fine);
}

#[test]
fn a_kernel_that_lacks_what_the_library_calls_is_a_problem() {
    let fake = Fake::with("ancient", &[("proc/sys/kernel/osrelease", "5.4.0-42-generic")]);
    assert_eq!(about(&kernel::examine(&fake.machine()), "kernel").severity, Severity::Problem);
}

#[test]
fn a_new_kernel_needs_no_more_mappings() {
    let fake = Fake::with(
        "new",
        &[("proc/sys/kernel/osrelease", "6.18.44"), ("proc/sys/vm/max_map_count", "65530")],
    );
    let findings = kernel::examine(&fake.machine());
    assert_eq!(about(&findings, "memory mappings").severity, Severity::Fine);
}

#[test]
fn the_least_limit_of_a_cgroup_and_those_above_it_counts() {
    let fake = Fake::with(
        "cgroups",
        &[
            ("proc/self/cgroup", "0::/a/b"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000"),
            ("sys/fs/cgroup/a/memory.max", "max"),
            ("sys/fs/cgroup/a/b/memory.max", "1073741824"),
            ("sys/fs/cgroup/a/pids.max", "100"),
        ],
    );
    let findings = limits::examine(&fake.machine(), 8);
    let time = about(&findings, "processor time");
    assert_eq!((time.severity, &time.mend[..]), (Severity::Warning, "GOSSAMER_THREADS=1"));
    assert!(time.found.contains("1.5 processors, of 8"), "{}", time.found);
    assert!(about(&findings, "memory of the cgroup").found.contains("1.0 GiB"));
    assert_eq!(about(&findings, "threads").severity, Severity::Warning);
}

#[test]
fn processors_that_share_cores_memory_or_a_low_frequency_are_told() {
    let fake = Fake::with(
        "processors",
        &[
            ("sys/devices/system/cpu/online", "0-3,8"),
            ("sys/devices/system/cpu/smt/active", "1"),
            ("sys/devices/system/node/online", "0-1"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
        ],
    );
    let findings = processors::examine(&fake.machine(), 4);
    assert!(about(&findings, "processors").found.contains("4 for this process, of 5"));
    assert_eq!(about(&findings, "threads of a core").severity, Severity::Note);
    assert_eq!(about(&findings, "NUMA").found, "2");
    assert_eq!(about(&findings, "frequency").severity, Severity::Warning);
}

#[test]
fn each_finding_that_asks_for_something_says_what_it_costs_and_what_mends_it() {
    for finding in examine(&KernelFiles::this()) {
        assert!(!finding.found.is_empty(), "{finding:?}");
        let asks = finding.severity >= Severity::Warning;
        assert!(!asks || !(finding.cost.is_empty() || finding.mend.is_empty()), "{finding:?}");
        assert_eq!(finding.json()["subject"], *finding.subject);
    }
}
