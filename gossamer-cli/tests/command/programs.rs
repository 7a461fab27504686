//! Real programs of the workspace on machines that are network namespaces, over good links and bad ones. Needs root and `ip`.

use crate::common::network::{Network, address, all_end};
use crate::common::{Finished, Started, finish, simulate, start};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program, if it was built.
fn program(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name(name);
    if !path.exists() {
        crate::common::skipped(&format!("{} is not built: `cargo build --workspace` does", path.display()));
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

/// Launches it on `a`.
fn run(network: &Network, nodes: &str, options: &[&str], program: &[&str]) -> Command {
    let all = [options, &["-n", nodes, "--threads", "2", "--no-prefix", "--"], program].concat();
    network.command("a", "run", &all)
}

/// Counts the words of some files in all ways that machines offer, and compares the counts with those of one thread.
fn word_count_counts_as_on_one_thread(network: &Network) {
    let Some(program) = program("word_count") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = ["LICENSE-APACHE", "ARCHITECTURE.md", "README.md"].map(|name| root.join(name));
    let count =
        |command: &mut Command| finish(command.args(["-n", "all"]).args(&files)).ended_with(0).out.clone();
    let mut alone = Command::new(&program);
    alone.env("GOSSAMER_THREADS", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let alone = count(&mut alone);
    assert!(alone.lines().count() > 1000);
    // Of four nodes, two share memory.
    for nodes in ["3", "4"] {
        assert_eq!(count(&mut run(network, nodes, &[], &[&program])), alone, "{nodes} nodes");
    }
}

#[test]
fn a_real_program_computes_on_all_machines() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::new("real") else { return };
    for nodes in ["3", "5"] {
        let finished = finish(&mut run(&network, nodes, &[], &[&program, "sum"]));
        assert_eq!(finished.ended_with(0).out, format!("1090 digits, {nodes} processes\n"));
        // With five nodes, some streams go through shared memory.
        let finished = finish(&mut run(&network, nodes, &[], &[&program, "stream"]));
        assert_eq!(finished.ended_with(0).out, format!("{nodes} streams, all are right: true\n"));
    }
}

#[test]
fn machines_whose_devices_do_not_reach_each_other_use_tcp_or_say_why_they_do_not_start() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::new("fabrics") else { return };
    let run =
        |fabric| finish(simulate(&mut run(&network, "2", &["--fabric", fabric], &[&program, "sum"]), None));
    let auto = run("auto");
    assert_eq!(auto.ended_with(0).out, "1090 digits, 2 processes\n");
    auto.said("node 0 and node 1 cannot be joined by RDMA: ").said("; they use TCP (");
    assert_eq!(auto.err.lines().count(), 1, "{auto:?}");
    assert_eq!(run("tcp").ended_with(0).was_quiet().out, "1090 digits, 2 processes\n");
    run("verbs").ended_with(2).said("node 0 and node 1 cannot be joined by RDMA: ").said("retries exceeded");
    run("shm")
        .ended_with(2)
        .said("share no memory, which GOSSAMER_FABRIC=shm asks for: start them on one machine");
}

#[test]
fn machines_whose_devices_try_for_ever_use_tcp_before_their_time_is_over() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::new("endless") else { return };
    let mut command = run(&network, "2", &["--fabric", "auto"], &[&program, "sum"]);
    let device = "sim0 endless port=1 gid=1:v2:192.0.2.1";
    command.env("GOSSAMER_VERBS_RETRY", "7").env("GOSSAMER_START_SECONDS", "10");
    let finished = finish(simulate(&mut command, Some(device)));
    assert_eq!(finished.ended_with(0).out, "1090 digits, 2 processes\n");
    finished.said("no answer in time").said("; they use TCP (");
}

#[test]
fn word_count_counts_the_same_on_machines() {
    let Some(network) = Network::new("words") else { return };
    word_count_counts_as_on_one_thread(&network);
}

#[test]
fn real_programs_do_the_same_over_a_slow_link_that_tears_what_is_written() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::with_middle("slow") else { return };
    for nodes in ["3", "5"] {
        let before = network.middle().carried();
        let finished = finish(&mut run(&network, nodes, &[], &[&program, "sum"]));
        assert_eq!(finished.ended_with(0).out, format!("1090 digits, {nodes} processes\n"));
        let after = network.middle().carried();
        assert!((0..2).all(|side| after[side] > before[side] + 10_000), "{before:?} {after:?}");
    }
    word_count_counts_as_on_one_thread(&network);
}

/// A program that runs until it is ended, on three nodes that notice a silence of 3 s; and their processes.
fn lasting(network: &Network) -> Option<(Started, Vec<u32>)> {
    let mut command = run(network, "3", &[], &[&program("rack_program")?, "sleep"]);
    let mut started = start(command.env("GOSSAMER_SILENCE_SECONDS", "3"));
    let mut line = String::new();
    BufReader::new(started.child().stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line != "3 nodes are up\n" {
        panic!("not up: {:?}", started.finish());
    }
    let list = finish(&mut network.command("a", "ps", &["--json"]));
    let list: serde_json::Value = serde_json::from_str(&list.ended_with(0).out).unwrap();
    // A daemon may not have heard yet that its node of the last application is no longer wanted.
    let nodes = |application: &serde_json::Value| -> Vec<u32> {
        let nodes = application["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["pid"].as_u64().unwrap() as u32).collect()
    };
    let nodes = list.as_array().unwrap().iter().map(nodes).find(|nodes| nodes.len() == 3).unwrap();
    Some((started, nodes))
}

/// One report says which node was silent, or which two do not hear each other, and for how long.
#[track_caller]
fn silence_is_reported(finished: &Finished) {
    finished.ended_with(75).said(" is lost: it was silent for 3 s");
    assert_eq!(finished.err.matches("nothing else explains it").count(), 1, "{finished:?}");
}

#[test]
fn a_node_of_a_real_program_that_loses_its_link_ends_all() {
    let Some(network) = Network::new("cut") else { return };
    let Some((started, nodes)) = lasting(&network) else { return };
    network.ip("c", "link set eth0 down");
    let finished = started.finish();
    silence_is_reported(&finished);
    finished.said("gossamer: node 2 on c ");
    network.ip("c", "link set eth0 up");
    all_end(&nodes);
}

#[test]
fn a_real_program_ends_everywhere_if_one_machine_does_not_reach_another() {
    let Some(network) = Network::new("blackhole") else { return };
    for (from, to) in [("b", "c"), ("c", "b"), ("c", "a"), ("a", "c")] {
        let Some((started, nodes)) = lasting(&network) else { return };
        network.ip(from, &format!("route add blackhole {}", address(to)));
        silence_is_reported(&started.finish());
        all_end(&nodes);
        network.ip(from, &format!("route del blackhole {}", address(to)));
    }
}

#[test]
fn a_real_program_ends_everywhere_if_a_link_carries_nothing_in_one_direction() {
    let Some(network) = Network::with_middle("half") else { return };
    for side in 0..2 {
        let Some((started, nodes)) = lasting(&network) else { return };
        network.middle().cut(side, true);
        silence_is_reported(&started.finish());
        all_end(&nodes);
        network.middle().cut(side, false);
    }
}

#[test]
fn a_node_of_another_program_or_with_another_token_is_told_on_machines_too() {
    let (Some(program), Some(other)) = (program("rack_program"), program("word_count")) else { return };
    let Some(network) = Network::new("mismatch") else { return };
    let script = |others: &str| {
        let script = format!("[ $GOSSAMER_NODE = 2 ] && {others}; exec {program} sum");
        let mut command = run(&network, "3", &[], &["/bin/sh", "-c", &script]);
        finish(command.env("GOSSAMER_START_SECONDS", "30"))
    };
    let finished = script(&format!("exec {other} /dev/null"));
    finished
        .ended_with(2)
        .said("node 2 on")
        .said("runs another program")
        .said("delegated closures that only node 0 has: `")
        .said("that only the other has: `word_count::");
    assert_eq!(finished.out, "");
    let finished = script("export GOSSAMER_TOKEN=$(echo $GOSSAMER_TOKEN | tr 0-9 1-90)");
    finished.ended_with(2).said("token");
    assert_eq!(finished.out, "");
}
