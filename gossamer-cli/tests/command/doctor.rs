//! `gossamer doctor`, on the machine of the test.

use crate::common::{finish, gossamer};
use serde_json::Value;

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
