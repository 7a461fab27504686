//! Where the nodes' output goes, and how its lines are marked.

use crate::common::rack::Rack;
use crate::common::{Finished, Scratch, finish, gossamer, local};
use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

/// `gossamer run --local NODES --output FILE OPTIONS -- sh -c SCRIPT`, in a directory.
fn to_files(directory: &Path, nodes: u32, file: &str, options: &[&str], script: &str) -> Finished {
    let mut command = gossamer(&["run", "--local", &nodes.to_string(), "--output", file]);
    command.args(options).args(["--", "/bin/sh", "-c", script]).current_dir(directory);
    finish(&mut command)
}

#[test]
fn each_node_has_a_file_for_both_of_its_outputs() {
    let scratch = Scratch::new("output");
    std::fs::write(scratch.path("log.1"), "what was there before").unwrap();
    let script = "echo out $GOSSAMER_NODE; echo err >&2; printf last";
    let finished = to_files(&scratch.0, 2, "log.%n", &[], script);
    assert_eq!(finished.ended_with(0).was_quiet().out, "");
    for node in 0..2 {
        let text = read_to_string(scratch.path(&format!("log.{node}"))).unwrap();
        assert_eq!(text.len(), "out 0\nerr\nlast".len(), "{text:?}");
        assert!(text.contains(&format!("out {node}\n")) && text.contains("err\n"), "{text:?}");
    }
}

#[test]
fn fields_name_application_machine_and_stream() {
    let scratch = Scratch::new("output-fields");
    let script = "echo out; echo err >&2; [ $GOSSAMER_NODE = 1 ] || echo $GOSSAMER_NODES";
    let finished = to_files(&scratch.0, 2, "logs/%a/%%%h.%n.%s", &[], script);
    finished.ended_with(0).was_quiet();
    let application = std::fs::read_dir(scratch.path("logs")).unwrap().next().unwrap().unwrap().path();
    let this_machine = rustix::system::uname();
    let name = this_machine.nodename().to_str().unwrap();
    let read = |rest: &str| read_to_string(application.join(format!("%{name}.{rest}"))).unwrap();
    assert_eq!((read("1.out"), read("1.err")), ("out\n".into(), "err\n".into()));
    assert!(
        read("0.out").contains(&format!("gossamer-{}-0", application.file_name().unwrap().to_str().unwrap()))
    );
}

#[test]
fn nodes_share_a_file_line_by_line() {
    let scratch = Scratch::new("output-shared");
    let script = "for i in 1 2 3 4 5 6 7 8; do printf 'a%0200d' $i; sleep 0.01; echo z; done";
    to_files(&scratch.0, 4, "all", &[], script).ended_with(0).was_quiet();
    let text = read_to_string(scratch.path("all")).unwrap();
    assert_eq!(text.lines().count(), 32);
    assert!(text.lines().all(|line| line.starts_with("[node ") && line.ends_with('z')), "{text}");
}

#[test]
fn files_of_a_rack_are_the_launchers_and_name_its_machines() {
    let rack = Rack::new("output-rack", 2);
    let file = rack.scratch.path("%h-%n");
    let options =
        ["-n", "3", "--output", file.to_str().unwrap(), "--", "/bin/sh", "-c", "echo $GOSSAMER_NODE"];
    finish(&mut rack.command(0, "run", &options)).ended_with(0).was_quiet();
    for (name, text) in [("a-0", "0\n"), ("b-1", "1\n"), ("a-2", "2\n")] {
        assert_eq!(read_to_string(rack.scratch.path(name)).unwrap(), text);
    }
}

#[test]
fn a_full_disk_is_told_once_and_holds_up_no_node() {
    let scratch = Scratch::new("output-full");
    for node in 0..3 {
        std::os::unix::fs::symlink("/dev/full", scratch.path(&format!("log.{node}"))).unwrap();
    }
    let script =
        "head -c 3000000 /dev/zero; echo done >done.$GOSSAMER_NODE; [ $GOSSAMER_NODE = 2 ] || sleep 0.2";
    let finished = to_files(&scratch.0, 3, "log.%n", &[], &format!("{script}; exit 0"));
    finished.ended_with(74).said("cannot be written: No space left on device");
    assert_eq!(finished.err.lines().count(), 1, "{finished:?}");
    assert!(scratch.path("done.0").exists(), "node 0 went on");
    // The failure of a node itself counts more.
    to_files(&scratch.0, 1, "log.%n", &[], "echo word; sleep 0.2; exit 5")
        .ended_with(5)
        .said("No space left");
}

#[test]
fn files_that_cannot_be_made_are_told_before_anything_is_started() {
    let scratch = Scratch::new("output-none");
    std::fs::write(scratch.path("file"), "").unwrap();
    let finished = to_files(&scratch.0, 2, "file/log.%n", &[], "touch started");
    finished.ended_with(74).said("file/log.0 cannot be written: ");
    assert!(!scratch.path("started").exists());
    to_files(&scratch.0, 1, "log.%t", &[], "true").ended_with(2).said("%n, %h, %a, %s or %%");
}

/// The rest of a line after the time that it begins with.
fn after_time(line: &str) -> &str {
    let (time, rest) = line.split_once(' ').unwrap();
    humantime::parse_rfc3339(time).unwrap();
    assert!(time.len() == 24 && time.ends_with('Z'), "{line}");
    rest
}

#[test]
fn lines_have_times_where_they_go() {
    let run = |options: &[&str]| -> Command {
        let mut command = gossamer(&["run", "--local", "1", "--timestamps"]);
        command.args(options).args(["--", "/bin/sh", "-c", "echo one; echo two; echo err >&2"]);
        command
    };
    let finished = finish(&mut run(&[]));
    let lines: Vec<&str> = finished.ended_with(0).out.lines().map(after_time).collect();
    assert_eq!((lines, after_time(&finished.err)), (vec!["[node 0] one", "[node 0] two"], "[node 0] err\n"));
    let finished = finish(&mut run(&["--no-prefix"]));
    assert_eq!(finished.out.lines().map(after_time).collect::<Vec<_>>(), ["one", "two"]);
    let scratch = Scratch::new("output-times");
    let file = scratch.path("%n.%s");
    finish(&mut run(&["--output", file.to_str().unwrap()])).ended_with(0).was_quiet();
    let text = read_to_string(scratch.path("0.out")).unwrap();
    assert_eq!(text.lines().map(after_time).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(finish(&mut local(1, "echo one")).out, "[node 0] one\n");
}
