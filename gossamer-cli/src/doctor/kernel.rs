//! The kernel, and what it allows of memory.

use crate::doctor::kernel_files::KernelFiles;
use crate::rack::finding::Finding;

/// The first kernel that can make guard pages without a mapping for each.
const GUARDS: (u32, u32) = (6, 13);
/// The first kernel with all that the library calls (`openat2`).
const OLDEST: (u32, u32) = (5, 6);
/// With fewer mappings than this, programs with many fibers reach the limit on older kernels.
const MAPPINGS: u64 = 1 << 20;

/// Findings about the kernel of a machine.
#[must_use]
pub fn examine(machine: &KernelFiles) -> Vec<Finding> {
    let mut findings = Vec::new();
    let release = machine.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let version = version(&release);
    findings.push(match version {
        Some(version) if version < OLDEST => Finding::problem(
            "kernel",
            &release,
            "gossamer recv needs system calls that Linux has had since 5.6",
            "use a later kernel",
        ),
        Some(_) => Finding::fine("kernel", &release),
        None => Finding::note("kernel", format!("{release:?}"), "its version is not understood"),
    });
    findings.extend(mappings(machine, version));
    findings.extend(large_pages(machine));
    findings.push(page_faults(machine));
    findings.extend(overcommit(machine));
    findings
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn mappings(machine: &KernelFiles, version: Option<(u32, u32)>) -> Option<Finding> {
    const SUBJECT: &str = "memory mappings of a process (vm.max_map_count)";
    let most = machine.number("proc/sys/vm/max_map_count")?;
    let has_guards = version.is_some_and(|version| version >= GUARDS);
    Some(if has_guards || most >= MAPPINGS {
        Finding::fine(SUBJECT, most.to_string())
    } else {
        Finding::warning(
            SUBJECT,
            most.to_string(),
            format!(
                "below Linux {}.{} each fiber takes two, so a process can have about {} fibers",
                GUARDS.0,
                GUARDS.1,
                most / 2
            ),
            format!("sysctl -w vm.max_map_count={MAPPINGS}  (and a line in /etc/sysctl.d to keep it)"),
        )
    })
}

fn large_pages(machine: &KernelFiles) -> Option<Finding> {
    const SUBJECT: &str = "transparent huge pages";
    let modes = machine.read("sys/kernel/mm/transparent_hugepage/enabled")?;
    let mode = modes.split_whitespace().find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']'))?;
    Some(match mode {
        "never" => Finding::warning(
            SUBJECT,
            mode,
            "large vectors, tables and what devices reach are in pages of 4 KiB: more misses of the TLB, more to pin",
            "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
        ),
        mode => Finding::fine(SUBJECT, mode),
    })
}

fn page_faults(machine: &KernelFiles) -> Finding {
    const SUBJECT: &str = "page faults reported to programs (userfaultfd)";
    let is_free = machine.number("proc/sys/vm/unprivileged_userfaultfd") == Some(1);
    if is_free || machine.has("dev/userfaultfd") || rustix::process::geteuid().is_root() {
        return Finding::fine(SUBJECT, "allowed");
    }
    Finding::note(
        SUBJECT,
        "not for this user",
        "raw windows of streams learn of faults by a signal instead, which faults inside system calls do not raise",
    )
}

fn overcommit(machine: &KernelFiles) -> Option<Finding> {
    (machine.number("proc/sys/vm/overcommit_memory")? == 2).then(|| {
        Finding::warning(
            "promised memory (vm.overcommit_memory)",
            "2: no more than there is",
            "stacks count with their whole size, 256 KiB for each fiber, though few of their pages are used",
            "make stacks smaller (GOSSAMER_STACK_KIB=64), or sysctl -w vm.overcommit_memory=0",
        )
    })
}
