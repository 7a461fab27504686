//! What is left of an application after one of its processes was killed: nothing, however the children of its nodes
//! hide.

use crate::common::rack::Rack;
use crate::common::{Started, eventually, finish, is_alive, local, read_numbers, signal, skipped, start};
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A node with children of all kinds: in its group, in sessions of their own, forked twice, and both. It prints its
/// process number.
const FAMILY: &str = "
    sleep 1000 &
    (sleep 1000 &)
    setsid sleep 1000 &
    (setsid sh -c '(sleep 1000 &) ; sleep 1000; true' &)
    sh -c 'setsid sh -c \"trap : HUP INT TERM; sleep 1000 & while :; do wait; done\" & wait' &
    echo $$
    wait";
/// How many processes such a node has, and how many of them only sleep.
const MEMBERS: usize = 10;
const SLEEPERS: usize = 6;

/// An environment variable by which all processes of a test are recognised.
struct Mark(String);

impl Mark {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("{}-{}-mark", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    fn on<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("CONTAINMENT_MARK", &self.0)
    }

    /// The processes that have it, without zombies.
    fn processes(&self) -> BTreeSet<u32> {
        let variable = format!("CONTAINMENT_MARK={}", self.0).into_bytes();
        let marked = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == variable)
        };
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(marked).filter(|&pid| is_alive(pid)).collect()
    }

    /// Whether there are two nodes, each with its family. Further shells, which only start others, are there for a moment.
    fn has_families(&self) -> bool {
        let name = |pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let names: Vec<String> = self.processes().into_iter().filter_map(name).collect();
        names.iter().filter(|name| *name == "sleep\n").count() == 2 * SLEEPERS
            && names.iter().filter(|name| !name.starts_with("gossamer")).count() == 2 * MEMBERS
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        eventually(&format!("nothing is left of {:?}", commands(&self.processes())), || {
            // It looks several times, since one look may miss a process that was just forked.
            (0..5).all(|_| self.processes().is_empty())
        });
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.processes().into_iter().for_each(|pid| signal(pid, "KILL"));
    }
}

fn commands(processes: &BTreeSet<u32>) -> Vec<String> {
    let command = |pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    processes.iter().map(|pid| format!("{pid} {}", String::from_utf8_lossy(&command(pid)))).collect()
}

/// None, if it is gone.
fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The cgroup of version 2 that a process is in.
fn cgroup_of(pid: u32) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    groups.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

/// Which process is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Owner,
    Node,
    Guardian,
}

const VICTIMS: [Victim; 3] = [Victim::Owner, Victim::Node, Victim::Guardian];

/// Kills one process of an application whose nodes have printed their numbers; `owner` is launcher or daemon.
fn kill(victim: Victim, owner: u32, nodes: &[u32]) {
    let node = *nodes.last().unwrap();
    let pid = match victim {
        Victim::Owner => owner,
        Victim::Node => node,
        Victim::Guardian => parent(node).unwrap(),
    };
    signal(pid, "KILL");
}

/// Starts an application of two nodes, each with its family.
fn family(mark: &Mark, command: &mut Command) -> (Started, Vec<u32>) {
    let mut started = start(mark.on(command));
    let nodes = read_numbers(started.child(), 2);
    eventually("each node has its family", || mark.has_families());
    (started, nodes)
}

/// The command, in a mount namespace without cgroups of version 2.
pub fn without_cgroups(command: &Command) -> Command {
    let script = "for at in $(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' /proc/self/mountinfo); do
        umount -l $at || exit 99; done; exec \"$@\"";
    let mut all = Command::new("unshare");
    all.args(["--mount", "sh", "-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    all.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    all
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn nothing_is_left_of_a_local_application_after_any_one_kill() {
    for victim in VICTIMS {
        let mark = Mark::new();
        let (started, nodes) = family(&mark, &mut local(2, FAMILY));
        kill(victim, started.pid(), &nodes);
        let finished = started.finish();
        mark.nothing_is_left();
        let (status, words) = match victim {
            Victim::Owner => (None, ""),
            Victim::Node => (Some(137), "was killed by SIGKILL"),
            Victim::Guardian => (Some(75), "is lost: its guardian"),
        };
        assert_eq!(finished.said(words).status, status);
    }
}

#[test]
fn nothing_is_left_where_there_are_no_cgroups() {
    if !is_root() {
        return skipped("a mount namespace without cgroups: needs root");
    }
    for victim in VICTIMS {
        let mark = Mark::new();
        let (started, nodes) = family(&mark, &mut without_cgroups(&local(2, FAMILY)));
        kill(victim, started.pid(), &nodes);
        started.finish();
        mark.nothing_is_left();
    }
}

#[test]
fn nothing_is_left_of_an_application_of_a_rack_after_any_one_kill() {
    for victim in VICTIMS {
        let mark = Mark::new();
        let mut rack = Rack::new("contained", 1);
        let (started, nodes) = family(&mark, &mut rack.launch(2, FAMILY));
        kill(victim, rack.daemons[0].process.pid(), &nodes);
        started.finish();
        mark.nothing_is_left();
        rack.daemons.clear();
    }
    let (mark, rack) = (Mark::new(), Rack::new("contained-launcher", 1));
    let (started, _) = family(&mark, &mut rack.launch(2, FAMILY));
    started.signal("KILL");
    started.finish();
    mark.nothing_is_left();
}

#[test]
fn a_guardian_that_is_killed_costs_other_applications_of_its_daemon_nothing() {
    let (one, other) = (Mark::new(), Mark::new());
    let rack = Rack::new("other-applications", 1);
    let (stays, stay) = family(&one, &mut rack.launch(2, FAMILY));
    let (ends, end) = family(&other, &mut rack.launch(2, FAMILY));
    let before = one.processes();
    kill(Victim::Guardian, 0, &end);
    ends.finish().ended_with(75).said("its guardian");
    other.nothing_is_left();
    assert_eq!(one.processes(), before);
    kill(Victim::Node, 0, &stay);
    stays.finish().ended_with(137);
    one.nothing_is_left();
}

#[test]
fn nothing_is_left_of_a_node_that_ends_well() {
    let mark = Mark::new();
    // Its family has time to hide.
    let script = FAMILY.replace("\n    wait", "\n    sleep 0.2");
    finish(mark.on(&mut local(2, &script))).ended_with(0);
    assert_eq!(commands(&mark.processes()), Vec::<String>::new());
}

#[test]
fn children_that_a_node_does_not_wait_for_are_no_zombies() {
    let mark = Mark::new();
    // When the process that was forked twice ends, it is the guardian's child.
    let mut started = start(mark.on(&mut local(1, "(sh -c 'echo $$' &); echo $$; sleep 1000")));
    let numbers = read_numbers(started.child(), 2);
    eventually("the orphan is reaped", || {
        numbers.iter().filter(|pid| fs::exists(format!("/proc/{pid}")).unwrap()).count() == 1
    });
    started.signal("TERM");
    started.finish().ended_with(143);
}

#[test]
fn a_node_that_forks_without_end_is_ended() {
    let mark = Mark::new();
    // Each of these processes lives for a moment, and leaves the next one in a session of its own; this goes on for
    // half a minute, if nobody ends them.
    let script = "echo $$; hop() { setsid sh -c \"$HOP\" & }
        export n=0 HOP='n=$((n + 1)); [ $n -gt 20000 ] || setsid sh -c \"$HOP\" & exit'
        hop; hop; hop; sleep 1000";
    let mut started = start(mark.on(&mut local(2, script)));
    let nodes = read_numbers(started.child(), 2);
    signal(nodes[1], "KILL");
    started.finish().ended_with(137);
    mark.nothing_is_left();
}

#[test]
fn a_stopped_guardian_holds_up_neither_its_launcher_nor_the_end_after_it() {
    let mark = Mark::new();
    let (started, nodes) = family(&mark, &mut local(2, FAMILY));
    signal(parent(nodes[1]).unwrap(), "STOP");
    signal(nodes[0], "KILL");
    started.finish();
    mark.nothing_is_left();
    let (started, nodes) = family(&mark, &mut local(2, FAMILY));
    signal(parent(nodes[1]).unwrap(), "STOP");
    started.signal("KILL");
    started.finish();
    mark.nothing_is_left();
}

#[test]
fn a_guardian_that_somebody_stops_tells_how_its_node_ends() {
    let mark = Mark::new();
    let started = start(mark.on(&mut local(2, "kill -STOP $PPID; exit 3")));
    started.finish().ended_with(3);
}

#[test]
fn a_guardian_minds_no_signals_to_all_processes_of_a_terminal() {
    let mark = Mark::new();
    let mut started = start(mark.on(&mut local(1, "echo $$; read line; exit 3")).stdin(Stdio::piped()));
    let guardian = parent(read_numbers(started.child(), 1)[0]).unwrap();
    for name in ["HUP", "INT", "QUIT", "TERM", "USR1", "TSTP", "PIPE"] {
        signal(guardian, name);
    }
    drop(started.child().stdin.take());
    started.finish().ended_with(3);
}

#[test]
fn a_daemon_says_what_contains_its_nodes() {
    let rack = Rack::new("says-containment", 1);
    rack.daemons[0].says("its nodes are contained by ");
}

#[test]
fn cgroups_of_nodes_are_removed() {
    for victim in VICTIMS {
        let mark = Mark::new();
        let (started, nodes) = family(&mark, &mut local(2, FAMILY));
        let groups: BTreeSet<_> = nodes.iter().map(|&node| cgroup_of(node)).collect();
        let Some(Some(group)) = groups.iter().find(|group| **group != cgroup_of(std::process::id())) else {
            return skipped("cgroups: none may be made here");
        };
        assert_eq!(groups.len(), 2, "each node has one of its own: {groups:?}");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
        let path = format!("{}{group}", mount.split(' ').nth(4).unwrap());
        assert!(fs::exists(&path).unwrap(), "{path}");
        kill(victim, started.pid(), &nodes);
        started.finish();
        eventually("the cgroup is removed", || !fs::exists(&path).unwrap());
    }
}
