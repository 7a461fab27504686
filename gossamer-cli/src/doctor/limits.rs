//! What this user, and the cgroups that the command is in, may use.

use crate::doctor::kernel_files::KernelFiles;
use crate::rack::finding::Finding;
use crate::terminal::table;
use rustix::process::{Resource, getrlimit};

/// Descriptors that a server with many clients, or a node of a large rack, needs.
const DESCRIPTORS: u64 = 65_536;
/// How many threads a node with some workers needs, including those for blocking work.
const THREADS: u64 = 1024;

/// Findings about the limits here.
#[must_use]
pub fn examine(machine: &KernelFiles, processors: usize) -> Vec<Finding> {
    let files = getrlimit(Resource::Nofile);
    let processes = getrlimit(Resource::Nproc).current;
    let mut findings = vec![descriptors(files.current, files.maximum), locked(machine)];
    findings.extend(address_space(getrlimit(Resource::As).current));
    findings.push(threads(machine, processes));
    findings.extend(processor_time(machine, processors));
    findings.extend(memory(machine));
    findings
}

fn descriptors(now: Option<u64>, most: Option<u64>) -> Finding {
    const SUBJECT: &str = "open files (ulimit -n)";
    match now {
        None => Finding::fine(SUBJECT, "no limit"),
        Some(now) if now >= DESCRIPTORS => Finding::fine(SUBJECT, now.to_string()),
        Some(now) => {
            let raised = most.map_or(1 << 20, |most| most.min(1 << 20));
            let mend = if raised > now {
                format!("ulimit -n {raised}  (LimitNOFILE={raised} in a service)")
            } else {
                format!("nofile in /etc/security/limits.conf, or LimitNOFILE={} in a service", 1 << 20)
            };
            let cost =
                "each connection of a server takes one, and each pair of workers of two machines one or two";
            Finding::warning(SUBJECT, now.to_string(), cost, mend)
        }
    }
}

fn locked(machine: &KernelFiles) -> Finding {
    const SUBJECT: &str = "locked memory (ulimit -l)";
    let has_devices = !machine.names("sys/class/infiniband").is_empty();
    match getrlimit(Resource::Memlock).current {
        None => Finding::fine(SUBJECT, "no limit"),
        Some(bytes) if has_devices => Finding::warning(
            SUBJECT,
            table::bytes(bytes),
            "memory that RDMA devices reach is locked: about 3 MiB of a node for each node of another machine",
            "ulimit -l unlimited  (memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity in a service)",
        ),
        Some(bytes) => Finding::fine(SUBJECT, format!("{}; only RDMA needs it", table::bytes(bytes))),
    }
}

fn address_space(bytes: Option<u64>) -> Option<Finding> {
    bytes.map(|bytes| {
        Finding::warning(
            "address space (ulimit -v)",
            table::bytes(bytes),
            "stacks reserve 256 KiB for each fiber, and streams their windows, whether or not the pages are used",
            "ulimit -v unlimited, or GOSSAMER_STACK_KIB=64",
        )
    })
}

fn threads(machine: &KernelFiles, of_user: Option<u64>) -> Finding {
    const SUBJECT: &str = "threads";
    let of_machine = ["proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"];
    let of_machine = of_machine.iter().filter_map(|file| machine.number(file)).min();
    let of_cgroup = machine.least_of_cgroups("pids.max", |text| text.parse::<u64>().ok());
    match of_user.into_iter().chain(of_machine).chain(of_cgroup).min() {
        Some(most) if most < THREADS => Finding::warning(
            SUBJECT,
            format!("{most} at most"),
            "a node has one for each worker, one for each other node, and up to 512 for blocking work",
            "ulimit -u, pids.max of the cgroup (TasksMax= in a service), or GOSSAMER_BLOCKING_THREADS",
        ),
        Some(most) => Finding::fine(SUBJECT, format!("{most} at most")),
        None => Finding::fine(SUBJECT, "no limit"),
    }
}

fn processor_time(machine: &KernelFiles, processors: usize) -> Option<Finding> {
    const SUBJECT: &str = "processor time of the cgroup (cpu.max)";
    let share = machine.least_of_cgroups("cpu.max", |text| {
        let (quota, period) = text.split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    })?;
    let whole = (share.floor() as usize).max(1);
    Some(if whole < processors {
        Finding::warning(
            SUBJECT,
            format!("{share:.1} processors, of {processors}"),
            format!(
                "there are as many workers as processors, {processors}: when their share of a tenth of a second is used up, all of them stand still"
            ),
            format!("GOSSAMER_THREADS={whole}"),
        )
    } else {
        Finding::fine(SUBJECT, format!("{share:.1} processors"))
    })
}

fn memory(machine: &KernelFiles) -> Option<Finding> {
    let bytes = machine.least_of_cgroups("memory.max", |text| text.parse::<u64>().ok())?;
    let cost = "a node that needs more is killed; lanes take about 32 KiB for each pair of workers that talk";
    Some(Finding::note("memory of the cgroup (memory.max)", table::bytes(bytes), cost))
}
