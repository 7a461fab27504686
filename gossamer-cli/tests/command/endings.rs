//! How an application of `gossamer run --local` ends: its status, its report, and that nothing of it stays behind.

use crate::common::{
    Scratch, eventually, fifo, finish, is_alive, is_stopped, local, read_numbers, signal, start,
};
use std::io::Read;
use std::process::Stdio;

#[test]
fn the_exit_status_is_that_of_node_0() {
    finish(&mut local(1, "exit 0")).ended_with(0).was_quiet();
    finish(&mut local(1, "exit 42")).ended_with(42).said("node 0 (pid ").said("ended with status 42");
}

#[test]
fn a_failed_node_ends_the_others_and_is_reported_with_its_words() {
    let script = "
        [ $GOSSAMER_NODE = 1 ] || exec sleep 1000
        echo 'worker 3, delegate at src/bank.rs:12: overdrawn' >/proc/self/fd/$GOSSAMER_REPORT_FD
        exit 9";
    let finished = finish(&mut local(3, script));
    finished.ended_with(9).said("node 1 (pid ").said("ended with status 9");
    finished.said("node 1 said: worker 3, delegate at src/bank.rs:12: overdrawn\n");
    assert_eq!(finished.err.matches("ended with status").count(), 1);
}

#[test]
fn a_signal_is_reported_by_its_name() {
    let script = "[ $GOSSAMER_NODE = 2 ] && kill -SEGV $$; exec sleep 1000";
    finish(&mut local(3, script)).ended_with(139).said("node 2 (pid ").said("was killed by SIGSEGV");
}

#[test]
fn a_lost_peer_does_not_hide_why_it_was_lost() {
    let script = "
        [ $GOSSAMER_NODE = 1 ] && { sleep 0.05; kill -ABRT $$; }
        [ $GOSSAMER_NODE = 2 ] && exit 75
        exec sleep 1000";
    finish(&mut local(3, script)).ended_with(134).said("node 1").said("SIGABRT");
}

#[test]
fn a_lost_peer_that_nobody_explains_is_status_75() {
    finish(&mut local(2, "[ $GOSSAMER_NODE = 1 ] && exit 75; exec sleep 1000")).ended_with(75).said("node 1");
}

#[test]
fn a_node_that_leaves_before_node_0_ends_the_application() {
    let script = "[ $GOSSAMER_NODE = 1 ] && exit 0; exec sleep 1000";
    finish(&mut local(2, script)).ended_with(1).said("before node 0");
}

#[test]
fn nodes_that_stay_after_node_0_are_killed_with_a_warning() {
    let finished = finish(&mut local(2, "[ $GOSSAMER_NODE = 0 ] || exec sleep 1000"));
    finished.ended_with(0).said("warning").said("node 1");
}

#[test]
fn processes_that_a_node_leaves_behind_end_with_it() {
    let mut started = start(&mut local(1, "sleep 1000 & echo $!"));
    let background = read_numbers(started.child(), 1)[0];
    started.finish().ended_with(0);
    eventually("the background process ends", || !is_alive(background));
}

#[test]
fn a_process_that_hides_from_its_node_does_not_hold_up_the_end() {
    // It has a session of its own and keeps the pipes open.
    let mut started = start(&mut local(1, "setsid sleep 1000 & echo $!; sleep 0.3"));
    let hidden = read_numbers(started.child(), 1)[0];
    started.finish().ended_with(0);
    signal(hidden, "KILL");
}

#[test]
fn a_process_that_hides_and_never_stops_talking_does_not_hold_up_the_end() {
    let scratch = Scratch::new("talks");
    let script = "
        export REPORT=/proc/self/fd/$GOSSAMER_REPORT_FD
        setsid sh -c 'echo y >$REPORT; : >$SAID; yes >$REPORT' &
        setsid yes & setsid yes >&2 &
        until [ -e $SAID ]; do sleep 0.1; done
        sleep 0.3; exit 4";
    let finished = finish(local(1, script).env("SAID", scratch.path("said")));
    finished.ended_with(4).said("node 0 said: y\n");
}

#[test]
fn a_launcher_that_was_told_to_ignore_its_children_waits_for_them() {
    let script =
        format!("trap '' CHLD; exec {} run --local 2 -- sh -c 'exit 3'", env!("CARGO_BIN_EXE_gossamer"));
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(&mut command).ended_with(3);
}

#[test]
fn interrupts_reach_all_nodes_and_a_second_one_kills() {
    let script = "trap 'echo trapped' INT; echo $$; while :; do sleep 0.1; done";
    let mut started = start(&mut local(2, script));
    let nodes = read_numbers(started.child(), 2);
    started.signal("INT");
    let mut text = String::new();
    let mut out = started.child().stdout.take().unwrap();
    let mut byte = [0];
    while text.matches("trapped").count() < 2 {
        assert_eq!(out.read(&mut byte).unwrap(), 1);
        text.push(char::from(byte[0]));
    }
    assert!(nodes.iter().all(|&node| is_alive(node)));
    started.signal("INT");
    started.finish().ended_with(130).was_quiet();
    assert!(!nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn nodes_that_end_when_interrupted_end_the_application() {
    let mut started = start(&mut local(2, "trap 'exit 0' TERM; echo $$; while :; do sleep 0.1; done"));
    read_numbers(started.child(), 2);
    started.signal("TERM");
    let finished = started.finish();
    assert!(!finished.ended_with(143).err.contains("gossamer:"), "{finished:?}");
}

#[test]
fn a_terminal_that_is_closed_ends_the_nodes_in_order() {
    let scratch = Scratch::new("hangup");
    let script = "trap 'echo bye >$SAID.$GOSSAMER_NODE; exit 0' HUP; echo $$; while :; do sleep 0.1; done";
    // Whoever runs the tests may ignore the signal, as `nohup` does.
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_gossamer"), "run", "--local", "2", "--"]);
    command.args(["sh", "-c", script]).env("SAID", scratch.path("said"));
    let mut started = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    read_numbers(started.child(), 2);
    started.signal("HUP");
    started.finish().ended_with(129);
    for node in 0..2 {
        assert_eq!(std::fs::read_to_string(scratch.path(&format!("said.{node}"))).unwrap(), "bye\n");
    }
}

#[test]
fn a_launcher_that_was_told_to_outlive_its_terminal_does() {
    let scratch = Scratch::new("nohup");
    let wait = fifo(&scratch);
    let script = "echo $$; read line <$WAIT";
    let run =
        format!("trap '' HUP; exec {} run --local 1 -- sh -c '{script}'", env!("CARGO_BIN_EXE_gossamer"));
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", &run]).env("WAIT", &wait).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = start(&mut command);
    read_numbers(started.child(), 1);
    started.signal("HUP");
    std::fs::write(&wait, "\n").unwrap();
    started.finish().ended_with(0).was_quiet();
}

#[test]
fn nodes_that_ignore_an_interrupt_are_killed_after_a_while() {
    let mut started = start(&mut local(2, "trap '' TERM; echo $$; while :; do sleep 0.1; done"));
    let nodes = read_numbers(started.child(), 2);
    started.signal("TERM");
    started.finish().ended_with(143);
    assert!(!nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn nodes_die_with_a_launcher_that_is_killed() {
    let mut started = start(&mut local(3, "echo $$; exec sleep 1000"));
    let nodes = read_numbers(started.child(), 3);
    started.signal("KILL");
    started.finish();
    eventually("the nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn a_stopped_node_is_killed_like_the_others() {
    let scratch = Scratch::new("stopped-node");
    let wait = fifo(&scratch);
    let script = "
        [ $GOSSAMER_NODE = 1 ] || { echo $$; read line <$WAIT; exit 3; }
        echo $$; kill -STOP $$; exec sleep 1000";
    let mut started = start(local(2, script).env("WAIT", &wait));
    let nodes = read_numbers(started.child(), 2);
    eventually("it is stopped", || nodes.iter().any(|&node| is_stopped(node)));
    std::fs::write(&wait, "\n").unwrap();
    started.finish().ended_with(3);
    assert!(!nodes.iter().any(|&node| is_alive(node)));
}
