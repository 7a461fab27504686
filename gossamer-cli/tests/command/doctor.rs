//! `gossamer doctor`, on the machine of the test and on racks.

use crate::common::network::Network;
use crate::common::rack::{Daemon, Rack};
use crate::common::{Finished, finish, gossamer};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

#[test]
fn it_says_of_each_thing_how_it_is_and_ends_by_the_worst() {
    let told = finish(&mut gossamer(&["doctor", "--json"]));
    let json: Value = serde_json::from_str(&told.out).unwrap();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["subject"] == "kernel"), "{told:?}");
    let is_there = |severity: &str| findings.iter().any(|finding| finding["severity"] == severity);
    let status = if is_there("problem") { 4 } else { i32::from(is_there("warning")) };
    assert_eq!(told.status, Some(status), "{told:?}");
    let text = finish(&mut gossamer(&["doctor", "--all"]));
    assert!(
        findings.iter().all(|finding| text.out.contains(finding["subject"].as_str().unwrap())),
        "{text:?}"
    );
}

#[test]
fn a_limit_that_is_too_low_is_told_with_the_line_that_raises_it() {
    let mut limited = std::process::Command::new("/bin/sh");
    let script = format!("ulimit -S -n 256; exec {} doctor", env!("CARGO_BIN_EXE_gossamer"));
    limited.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let told = finish(&mut limited);
    assert!(told.out.contains("WARNING  open files (ulimit -n): 256"), "{told:?}");
    assert!(told.out.contains("mend: "), "{told:?}");
}

/// What it found; checks that its exit status fits the worst finding.
fn found(told: &Finished) -> Vec<Value> {
    let json: Value = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let findings = json["findings"].as_array().unwrap().clone();
    let is_there = |severity: &str| findings.iter().any(|finding| finding["severity"] == severity);
    let status = if is_there("problem") { 4 } else { i32::from(is_there("warning")) };
    assert_eq!(told.status, Some(status), "{told:?}");
    findings
}

/// The findings whose subject begins like this.
fn about<'a>(findings: &'a [Value], subject: &str) -> Vec<&'a Value> {
    findings.iter().filter(|finding| finding["subject"].as_str().unwrap().starts_with(subject)).collect()
}

#[test]
fn all_machines_of_a_rack_are_examined_and_what_is_alike_is_told_once() {
    let mut rack = Rack::new("examined", 2);
    let mut limited = Command::new("/bin/sh");
    let config = rack.config(1);
    let script = format!(
        "ulimit -n 300; exec {} daemon --config {}",
        env!("CARGO_BIN_EXE_gossamer"),
        config.display()
    );
    limited.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    drop(rack.daemons.pop());
    rack.daemons.push(Daemon::start_listening(&mut limited));

    let findings = found(&rack.ask("doctor", &["--json"]));
    let [kernel] = about(&findings, "kernel")[..] else { panic!("{findings:#?}") };
    assert_eq!(kernel["machines"], json!(["a", "b"]));
    let files = about(&findings, "open files");
    let of_b: Vec<_> = files.iter().filter(|files| files["machines"] == json!(["b"])).collect();
    assert_eq!((of_b.len(), &of_b[0]["found"]), (1, &json!("300")), "{files:#?}");
    for (subject, how) in [("ways to", "open to all 1"), ("version of", env!("CARGO_PKG_VERSION"))] {
        let [told] = about(&findings, subject)[..] else { panic!("{findings:#?}") };
        assert_eq!((&told["found"], &told["machines"]), (&json!(how), &json!(["a", "b"])));
    }
    // They share a clock. On a busy machine the error grows, not the difference.
    let [clocks] = about(&findings, "clocks of")[..] else { panic!("{findings:#?}") };
    assert_eq!(clocks["severity"], "ok", "{clocks}");

    let text = rack.ask("doctor", &["--all"]);
    assert!(text.out.contains("open files (ulimit -n): 300  (on b)\n"), "{text:?}");
    assert!(text.out.contains("open to all 1  (on all 2 machines)\n"), "{text:?}");
}

#[test]
fn a_machine_whose_daemon_does_not_answer_is_a_finding_and_holds_up_no_other() {
    let mut rack = Rack::new("examined-gone", 3);
    drop(rack.daemons.pop());
    finish(&mut gossamer(&["keygen", rack.scratch.path("other").to_str().unwrap()])).ended_with(0);
    drop(rack.daemons.pop());
    let config = std::fs::read_to_string(rack.config(1)).unwrap();
    std::fs::write(rack.config(1), config.replace("\"key\"", "\"other\"")).unwrap();
    let other_key = rack.start(1);
    let told = rack.ask("doctor", &["--json"]);
    let findings = found(&told);
    assert_eq!(told.status, Some(4), "{told:?}");
    let daemons: Vec<_> = about(&findings, "daemon");
    let of = |machine: &str| {
        let mut of = daemons.iter().filter(|finding| finding["machines"] == json!([machine]));
        of.next().unwrap_or_else(|| panic!("{machine}: {daemons:#?}"))["found"].as_str().unwrap().to_owned()
    };
    assert!(of("b").contains("does not know the key"), "{daemons:#?}");
    assert!(of("c").contains("cannot reach c"), "{daemons:#?}");
    assert_eq!(about(&findings, "kernel")[0]["machines"], json!(["a"]));
    assert!(about(&findings, "ways to").is_empty(), "there is no other to be reached");
    drop(other_key);
    let wrong = finish(&mut gossamer(&["doctor", "--config", "/nowhere/rack.toml"]));
    wrong.ended_with(2).said("cannot read the configuration");
}

#[test]
fn a_way_that_is_closed_between_two_other_machines_is_found_by_trying_it() {
    let Some(network) = Network::new("examined") else { return };
    let examine = || finish(&mut network.command("a", "doctor", &["--json"]));
    let open = found(&examine());
    assert_eq!(about(&open, "ways to")[0]["found"], "open to all 2", "{open:#?}");
    network.ip("b", "route add unreachable 10.77.0.3");
    let closed = found(&examine());
    let ways = about(&closed, "ways to");
    let of = |machine: &str| {
        let is_of = |way: &&&Value| way["machines"].as_array().unwrap().contains(&json!(machine));
        ways.iter().find(is_of).unwrap_or_else(|| panic!("{machine}: {ways:#?}"))
    };
    // What b sends to c goes nowhere, answers included.
    assert!(of("b")["found"].as_str().unwrap().starts_with("closed to c: "), "{ways:#?}");
    assert!(of("c")["found"].as_str().unwrap().starts_with("closed to b: "), "{ways:#?}");
    assert_eq!(of("a")["found"], "open to all 2", "{ways:#?}");
}
