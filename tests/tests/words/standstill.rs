//! A program in which every fiber waits for the program itself says so, and names them.

use integration_tests::token;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_waiting_program");

fn program(waits_for: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg(waits_for).env("GOSSAMER_THREADS", "2").env("GOSSAMER_STALL_SECONDS", "1");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What a program that stands still prints, to the end of its advice. Then it is ended.
fn report(mut program: Child) -> String {
    let mut said = String::new();
    for line in BufReader::new(program.stderr.take().unwrap()).lines() {
        said += &(line.unwrap() + "\n");
        if said.contains("Look for locks") {
            break;
        }
    }
    program.kill().unwrap();
    program.wait().unwrap();
    said
}

#[test]
fn locks_that_are_taken_in_different_orders_are_told_with_the_fibers_that_wait_for_them() {
    let said = report(program("locks").spawn().unwrap());
    assert!(said.starts_with("gossamer: no progress for "), "{said}");
    assert_eq!(said.matches("  waits in `lock`\n  called at ").count(), 2, "{said}");
    assert_eq!(said.matches("1 fiber spawned at tests/src/bin/waiting_program.rs:").count(), 3, "{said}");
}

#[test]
fn a_receiver_that_waits_for_its_own_sender_is_told() {
    let said = report(program("sender").spawn().unwrap());
    assert!(said.contains("  waits in `recv`\n  called at "), "{said}");
}

#[test]
fn a_rack_that_waits_for_itself_is_told_with_all_its_nodes() {
    let names: Vec<_> = (0..2).map(|node| format!("unix:standstill-{}-{node}", std::process::id())).collect();
    let token = token();
    let [first, mut other] = [0, 1].map(|node| {
        let mut command = program("locks");
        command.env("GOSSAMER_NODES", names.join(",")).env("GOSSAMER_NODE", node.to_string());
        command.env("GOSSAMER_TOKEN", &token).env("GOSSAMER_FABRIC", "shm");
        command.spawn().unwrap()
    });
    let said = report(first);
    assert!(said.contains("node 0 of 2, process ") && said.contains("node 1 of 2, process "), "{said}");
    assert_eq!(said.matches("  waits in `lock`\n  called at ").count(), 2, "{said}");
    // It learns that node 0 is gone.
    assert!(!other.wait().unwrap().success());
}

#[test]
fn what_a_thread_or_a_time_may_end_is_not_told() {
    let causes = ["thread", "named", "inherited", "pool", "time"];
    let programs = causes.map(|waits_for| program(waits_for).spawn().unwrap());
    for program in programs {
        let ended = program.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    }
}
