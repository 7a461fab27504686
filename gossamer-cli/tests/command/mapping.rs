//! Which machine each node of a rack is on, according to the command line.

use crate::common::rack::Rack;
use crate::common::{Finished, finish, gossamer};

/// Runs nodes with these options; `placed` is what each daemon must have started, nothing if it had nothing to start.
#[track_caller]
fn places(rack: &Rack, options: &[&str], placed: &[&str]) {
    let before: Vec<usize> = rack.daemons.iter().map(|daemon| daemon.log().len()).collect();
    run(rack, options).ended_with(0).was_quiet();
    for ((daemon, before), placed) in rack.daemons.iter().zip(before).zip(placed) {
        let log = daemon.log()[before..].to_owned();
        match placed.is_empty() {
            true => assert!(!log.contains("starts nodes"), "{options:?}: {log}"),
            false => assert!(log.contains(&format!("starts nodes [{placed}]")), "{options:?}: {log}"),
        }
    }
}

fn run(rack: &Rack, options: &[&str]) -> Finished {
    finish(rack.command(0, "run", options).args(["--", "/bin/true"]))
}

#[test]
fn nodes_are_where_the_command_line_has_them() {
    let rack = Rack::new("mapping", 3);
    places(&rack, &["-n", "4"], &["0, 3", "1", "2"]);
    places(&rack, &["--per-machine", "2"], &["0, 1", "2, 3", "4, 5"]);
    places(&rack, &["--per-machine", "2", "-n", "3"], &["0, 1", "2", ""]);
    places(&rack, &["--per-machine", "2", "--hosts", "c,a"], &["2, 3", "", "0, 1"]);
    places(&rack, &["--map", "c,a:2,c"], &["1, 2", "", "0, 3"]);
    places(&rack, &["--map", "slots"], &["0", "1", "2"]);
    run(&rack, &["--map", "slots", "-n", "4"]).ended_with(2).said("`slots` of each [[machine]]");
    run(&rack, &["--map", "a,x"]).ended_with(2).said("there is no machine \"x\"");
    run(&rack, &["--map", "a,b", "--hosts", "a"]).ended_with(2).said("--map names b");
    run(&rack, &["--map", "a,b", "-n", "3"]).ended_with(2).said("leave -n out");
}

#[test]
fn slots_are_those_of_the_configuration() {
    let rack = Rack::new("slots", 2);
    let text = std::fs::read_to_string(rack.config(0)).unwrap();
    let (first, second) = text.split_at(text.rfind("[[machine]]").unwrap());
    std::fs::write(rack.config(0), format!("{first}slots = 3\n{second}slots = 2\n")).unwrap();
    places(&rack, &["--map", "slots"], &["0, 1, 2", "3, 4"]);
    places(&rack, &["--map", "slots", "-n", "2"], &["0, 1", ""]);
}

#[test]
fn mappings_are_for_racks_and_exclude_each_other() {
    for options in [["--local", "2", "--per-machine", "1"], ["--local", "2", "--map", "slots"]] {
        finish(gossamer(&["run"]).args(options).args(["--", "true"]))
            .ended_with(2)
            .said("cannot be used with");
    }
    let both = ["run", "--per-machine", "1", "--map", "slots", "--", "true"];
    finish(&mut gossamer(&both)).ended_with(2).said("cannot be used with");
    finish(&mut gossamer(&["run", "--map", "a:0", "--", "true"])).ended_with(2).said("a:2,b");
}
