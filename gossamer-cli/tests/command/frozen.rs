//! Racks that are frozen as a whole, as by a laptop's lid or a pause of a virtual machine, and go on; and racks that
//! are frozen in part, which ends them.

use crate::common::rack::Rack;
use crate::common::{Finished, Started, eventually, gossamer, is_alive, read_numbers, skipped, start};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// After this much silence a node is lost.
const LIMIT: Duration = Duration::from_secs(4);
const FREEZE: Duration = Duration::from_secs(8);
/// The same for daemons, which have no setting for it.
const LONG_FREEZE: Duration = Duration::from_secs(13);
const NODES: usize = 4;

/// A program of the library that runs until it is ended, over `fabric`, and the processes of its nodes, in the order of
/// their numbers. `wrapped` is the command that starts it.
fn sleeping(fabric: &str, wrapped: impl FnOnce(Command) -> Command) -> Option<(Started, Vec<u32>)> {
    let program = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name("rack_program");
    if !program.exists() {
        skipped(&format!("{} is not built: `cargo build --workspace` does", program.display()));
        return None;
    }
    let script = format!("echo $$; exec {} sleep", program.display());
    let count = NODES.to_string();
    let arguments =
        ["run", "--local", &count, "--threads", "1", "--fabric", fabric, "--", "/bin/sh", "-c", &script];
    let mut command = wrapped(gossamer(&arguments));
    command.env("GOSSAMER_SILENCE_SECONDS", LIMIT.as_secs().to_string());
    let mut started = start(&mut command);
    let (out, mut text, mut byte) = (started.child().stdout.as_mut().unwrap(), String::new(), [0]);
    while !text.contains("nodes are up\n") || text.lines().count() < NODES + 1 {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the output ended after {text:?}");
        text.push(char::from(byte[0]));
    }
    let process = |node: usize| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(&format!("[node {node}] ")));
        lines.filter_map(|line| line.parse().ok()).next().unwrap()
    };
    Some((started, (0..NODES).map(process).collect()))
}

/// All at once, as far as possible.
fn signal_all(processes: &[u32], name: &str) {
    let list = processes.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let sent = Command::new("/bin/sh").args(["-c", &format!("kill -{name} {list}")]).status().unwrap();
    assert!(sent.success(), "kill -{name} {list}");
}

/// Goes on for longer than anybody would wait for a sign of life, and ends when it is asked to.
#[track_caller]
fn goes_on(started: Started, nodes: &[u32]) {
    sleep(LIMIT + Duration::from_secs(2));
    assert!(nodes.iter().all(|&node| is_alive(node)), "{:?}", started.finish());
    started.signal("TERM");
    assert!(!started.finish().ended_with(143).err.contains("lost"));
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn a_rack_whose_processes_are_all_stopped_goes_on_when_they_are() {
    for fabric in ["shm", "tcp"] {
        let Some((started, nodes)) = sleeping(fabric, |command| command) else { return };
        let all: Vec<u32> = nodes.iter().copied().chain([started.pid()]).collect();
        signal_all(&all, "STOP");
        sleep(FREEZE);
        signal_all(&all, "CONT");
        goes_on(started, &nodes);
    }
}

/// A control group of version 2, in which processes can be frozen.
struct Freezer(PathBuf);

impl Freezer {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let unified = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (place, kind) = (fields.next()?, fields.next()?);
            (kind == "cgroup2").then(|| PathBuf::from(place))
        });
        let group = unified?.join(format!("gossamer-frozen-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        Some(Self(group)).filter(|freezer| freezer.0.join("cgroup.freeze").exists())
    }

    fn set(&self, frozen: bool) {
        std::fs::write(self.0.join("cgroup.freeze"), if frozen { "1" } else { "0" }).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        std::fs::write(self.0.join("cgroup.kill"), "1").ok();
        for _ in 0..100 {
            let inner = walkdir::WalkDir::new(&self.0).contents_first(true).into_iter().flatten();
            inner.filter(|entry| entry.file_type().is_dir()).for_each(|entry| {
                std::fs::remove_dir(entry.path()).ok();
            });
            if !self.0.exists() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_rack_that_is_frozen_goes_on_when_it_is_thawed() {
    let Some(freezer) = Freezer::new() else {
        return skipped("freezing a rack takes root, and control groups of the second version");
    };
    let inside = |command: Command| {
        let mut wrapped = Command::new("/bin/sh");
        let script = format!("echo $$ > {}/cgroup.procs; exec \"$0\" \"$@\"", freezer.0.display());
        wrapped.args(["-c", &script]).arg(command.get_program()).args(command.get_args());
        wrapped.stdin(std::process::Stdio::null());
        wrapped.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        wrapped
    };
    let Some((started, nodes)) = sleeping("shm", inside) else { return };
    freezer.set(true);
    sleep(FREEZE);
    freezer.set(false);
    goes_on(started, &nodes);
}

#[test]
fn daemons_and_a_launcher_that_are_frozen_together_go_on() {
    let rack = Rack::new("frozen", 2);
    let mut started = start(&mut rack.launch(2, "echo $$; exec sleep 1000"));
    let nodes = read_numbers(started.child(), 2);
    let all: Vec<u32> =
        rack.daemons.iter().map(|daemon| daemon.process.pid()).chain([started.pid()]).collect();
    signal_all(&all, "STOP");
    sleep(LONG_FREEZE);
    signal_all(&all, "CONT");
    goes_on(started, &nodes);
}

/// It ends as it should, and the report begins with one of these nodes.
#[track_caller]
fn blames(finished: &Finished, status: i32, nodes: &[usize]) {
    finished.ended_with(status);
    // What the nodes themselves have written comes before it.
    let report = finished.err.lines().find(|line| line.starts_with("gossamer: ")).unwrap_or_default();
    let is_blamed = |node: &usize| report.starts_with(&format!("gossamer: node {node} (pid "));
    assert!(nodes.iter().any(is_blamed), "{finished:?}");
}

#[test]
fn nodes_that_are_stopped_while_others_run_are_lost_and_the_report_begins_with_them() {
    for (fabric, stopped) in
        [("shm", vec![2]), ("tcp", vec![2]), ("tcp", vec![2, 3]), ("shm", vec![0]), ("tcp", vec![0])]
    {
        let Some((started, nodes)) = sleeping(fabric, |command| command) else { return };
        let processes: Vec<u32> = stopped.iter().map(|&node| nodes[node]).collect();
        signal_all(&processes, "STOP");
        let finished = started.finish();
        blames(&finished, 75, &stopped);
        finished.said(" is lost to node").said(" is lost: it was silent for 4 s");
        eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
    }
}

#[test]
fn a_node_that_is_killed_while_the_rack_starts_is_the_one_that_is_reported() {
    let Some((_, _)) = sleeping("shm", |command| command) else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name("rack_program");
    for (index, fabric) in ["shm", "tcp"].iter().cycle().take(16).enumerate() {
        let victim = [0, 0, 0, 2][index / 2 % 4];
        let script = format!("echo $$; exec {} sleep", program.display());
        let count = NODES.to_string();
        let arguments = ["run", "--local", &count, "--fabric", fabric, "--", "/bin/sh", "-c", &script];
        let mut started = start(gossamer(&arguments).env("GOSSAMER_THREADS", "1"));
        let (out, mut text, mut byte) = (started.child().stdout.as_mut().unwrap(), String::new(), [0]);
        let prefix = format!("[node {victim}] ");
        let process = loop {
            assert_eq!(out.read(&mut byte).unwrap(), 1, "the output ended after {text:?}");
            text.push(char::from(byte[0]));
            let line =
                text.lines().find_map(|line| line.strip_prefix(&prefix)).filter(|_| text.ends_with('\n'));
            if let Some(process) = line {
                break process.parse().unwrap();
            }
        };
        sleep(Duration::from_millis(3 * index as u64));
        signal_all(&[process], "KILL");
        blames(&started.finish(), 137, &[victim]);
    }
}
