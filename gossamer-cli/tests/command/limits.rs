//! What nodes may use of their machine, and the report about nodes that needed more memory than there was.

use crate::common::rack::Rack;
use crate::common::{Finished, finish, gossamer, local, skipped, start};
use crate::containment::{is_root, without_cgroups};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prints a file of the node's cgroup.
const READ: &str = "
    at=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' /proc/self/mountinfo | head -n 1)
    read_file() { cat \"$at$(sed -n 's/^0:://p' /proc/self/cgroup)/$1\"; }
    ";

/// `gossamer run --local NODES OPTIONS -- sh -c SCRIPT`
fn limited(nodes: u32, options: &[&str], script: &str) -> Command {
    let mut command = gossamer(&["run", "--local", &nodes.to_string()]);
    command.args(options).args(["--", "/bin/sh", "-c", script]);
    command
}

/// Whether limits can be kept here; if not, says so.
fn can_limit() -> bool {
    let tried = finish(&mut limited(1, &["--mem", "64M", "--cpus", "1"], "true"));
    if tried.status == Some(0) {
        return true;
    }
    tried
        .ended_with(3)
        .said("--mem and --cpus need a cgroup of version 2")
        .said("systemd-run --scope -p Delegate=yes");
    skipped(
        "limits of nodes: no cgroups of version 2 with the controllers `memory` and `cpu` may be made here",
    );
    false
}

#[test]
fn a_limit_that_cannot_be_kept_is_an_error_that_says_what_to_do() {
    if !is_root() {
        return skipped("a mount namespace without cgroups: needs root");
    }
    for options in [["--mem", "64M"], ["--cpus", "0.5"]] {
        let finished = finish(&mut without_cgroups(&limited(2, &options, "echo started")));
        finished.ended_with(3).said("cgroups of version 2 are not mounted").said("Delegate=yes");
        assert_eq!(finished.out, "");
    }
}

#[test]
fn a_node_has_as_many_workers_as_processors() {
    if !can_limit() {
        return;
    }
    let workers = |options: &[&str]| {
        let mut command = limited(1, options, "echo $GOSSAMER_THREADS");
        finish(command.env_remove("GOSSAMER_THREADS")).ended_with(0).out.clone()
    };
    assert_eq!(workers(&["--cpus", "1.5"]), "[node 0] 2\n");
    assert_eq!(workers(&["--cpus", "1.5", "--threads", "3"]), "[node 0] 3\n");
    assert_eq!(workers(&["--mem", "64M"]), "[node 0] \n");
}

#[track_caller]
fn has_limits(finished: &Finished) {
    finished.ended_with(0);
    assert_eq!(finished.lines(), ["[node 0] 67108864 150000 100000", "[node 1] 67108864 150000 100000"]);
}

#[test]
fn each_node_is_limited_wherever_it_runs() {
    if !can_limit() {
        return;
    }
    let script = format!("{READ} echo $(read_file memory.max) $(read_file cpu.max)");
    let options = ["--mem", "64M", "--cpus", "1.5"];
    has_limits(&finish(&mut limited(2, &options, &script)));
    let rack = Rack::new("limits", 2);
    let run = || {
        let mut command = rack.command(0, "run", &["-n", "2"]);
        finish(command.args(options).args(["--", "/bin/sh", "-c", &script]))
    };
    has_limits(&run());
    // Nodes without limits that run meanwhile do not disturb those with limits.
    let mut without = start(&mut rack.launch(2, "read line"));
    has_limits(&run());
    without.child().kill().unwrap();
}

#[test]
fn a_node_that_needs_more_memory_is_killed_as_a_whole_and_that_is_said() {
    if !can_limit() {
        return;
    }
    let script = "[ $GOSSAMER_NODE = 1 ] || exec sleep 1000; tail /dev/zero; echo went on";
    let finished = finish(&mut limited(2, &["--mem", "24M"], script));
    assert_eq!(finished.ended_with(137).out, "");
    finished.said("gossamer: node 1 (pid ").said("was killed by SIGKILL, by the kernel, for want of memory");
    finished.said("24.0 MiB are allowed to each node (--mem)");
    let rack = Rack::new("limits-memory", 1);
    let mut command = rack.command(0, "run", &["-n", "2", "--mem", "24M", "--", "/bin/sh", "-c", script]);
    finish(&mut command).ended_with(137).said("node 1 on a (pid ").said("24.0 MiB are allowed");
    rack.daemons[0].says("node 1 was killed by SIGKILL, by the kernel, for want of memory");
}

/// A cgroup whose processes have little memory, until this is dropped.
struct Outer(PathBuf);

impl Outer {
    /// Of the version that the machine has; none, if that is not permitted.
    fn new(limit: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let version = |kind: &str| {
            mounts.lines().find(|line| line.contains(kind))?.split(' ').nth(4).map(PathBuf::from)
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gossamer-test-{}-{number}", std::process::id());
        let own = version(" - cgroup2 ")
            .filter(|at| fs::write(at.join("cgroup.subtree_control"), "+memory").is_ok());
        let (at, file) = match own {
            Some(at) => (at, "memory.max"),
            None => (PathBuf::from("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        };
        fs::create_dir(at.join(&name)).ok()?;
        let made = Self(at.join(name));
        fs::write(made.0.join(file), limit).ok()?;
        Some(made)
    }

    /// The command, in it.
    fn inside(&self, command: &Command) -> Command {
        in_cgroup(&self.0, "exec \"$@\"", command)
    }
}

/// The command, started by a shell in a cgroup.
fn in_cgroup(at: &Path, script: &str, command: &Command) -> Command {
    let mut all = Command::new("/bin/sh");
    let script = format!("echo $$ >\"{}/cgroup.procs\" && {script}", at.display());
    all.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    all.stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    all
}

impl Drop for Outer {
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            fs::remove_dir(entry.path()).ok();
        }
        fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn a_node_that_the_kernel_killed_for_want_of_memory_is_told_from_one_that_somebody_killed() {
    let Some(outer) = Outer::new("40M") else {
        return skipped("a cgroup with little memory: may not be made here");
    };
    let eats = local(2, "[ $GOSSAMER_NODE = 1 ] || exec sleep 1000; exec tail /dev/zero");
    let finished = finish(&mut outer.inside(&eats));
    finished
        .ended_with(137)
        .said("gossamer: node 1 (pid ")
        .said("was killed by SIGKILL, ")
        .said("by the kernel");
    finished.said("for want of memory");
    let finished = finish(&mut limited(1, &[], "kill -KILL $$"));
    finished.ended_with(137).said("was killed by SIGKILL");
}

#[test]
fn a_launcher_that_shares_its_cgroup_says_so_and_one_that_does_not_keeps_limits_there() {
    if !can_limit() {
        return;
    }
    let Some(outer) = Outer::new("1G") else {
        return skipped("a cgroup for a launcher: may not be made here");
    };
    if fs::write(outer.0.parent().unwrap().join("cgroup.subtree_control"), "+memory +cpu").is_err() {
        return skipped("a cgroup for a launcher with its controllers: may not be made here");
    }
    let script = format!("{READ} echo $(read_file memory.max) $(read_file cpu.max)");
    let command = limited(2, &["--mem", "64M", "--cpus", "1.5"], &script);
    let finished = finish(&mut in_cgroup(&outer.0, "\"$@\"; exit $?", &command));
    finished.ended_with(3).said("there are other processes in the cgroup");
    has_limits(&finish(&mut outer.inside(&command)));
}

#[test]
fn what_is_no_size_and_no_number_is_a_mistake() {
    for (option, why) in
        [("--mem=4096", "512M"), ("--mem=much", "--mem"), ("--cpus=0", "0.01"), ("--cpus=all", "--cpus")]
    {
        finish(&mut gossamer(&["run", "--local", "1", option, "--", "true"])).ended_with(2).said(why);
    }
}
