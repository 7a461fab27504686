//! Whatever `main` may return, a `main` in a runtime may return, too: with the status and the output that Rust gives
//! it.

use integration_tests::token;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_returning_main");

fn program(result: &str, fails: bool) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg(result).args(fails.then_some("fails")).env("GOSSAMER_THREADS", "2");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[track_caller]
fn ended(output: &Output, status: i32, errors: &str) {
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(status), errors)
    );
}

#[test]
fn the_result_of_main_is_told_as_that_of_any_main() {
    let both = [
        ("boxed", 0, 1, "Error: Failure\n"),
        ("sendable", 0, 1, "Error: Failure\n"),
        ("text", 3, 1, "Error: \"it has\\nfailed\"\n"),
        ("of one thread", 0, 1, "Error: Failure\n"),
        ("code", 0, 9, ""),
        ("never", 0, 8, ""),
    ];
    for (result, well, ill, errors) in both {
        ended(&program(result, false).output().unwrap(), well, "");
        ended(&program(result, true).output().unwrap(), ill, errors);
    }
}

#[test]
fn on_a_rack_the_result_is_that_of_node_0_and_the_others_end_well() {
    for (result, fails, status, errors) in [
        ("boxed", true, 1, "Error: Failure\n"),
        ("text", false, 3, ""),
        ("of one thread", true, 1, "Error: Failure\n"),
    ] {
        let names: Vec<_> =
            (0..2).map(|node| format!("unix:words-{}-{result}-{node}", std::process::id())).collect();
        let token = token();
        let start = |node: usize| {
            let mut command = program(result, fails);
            command
                .env("GOSSAMER_NODES", names.join(",").replace(' ', "-"))
                .env("GOSSAMER_NODE", node.to_string());
            command.env("GOSSAMER_TOKEN", &token).env("GOSSAMER_FABRIC", "shm");
            command.spawn().unwrap()
        };
        let (first, other) = (start(0), start(1));
        ended(&first.wait_with_output().unwrap(), status, errors);
        ended(&other.wait_with_output().unwrap(), 0, "");
    }
}

/// As a test is written: its harness gets the result.
#[test]
#[gossamer::main(threads = 1)]
fn a_test_returns_an_error_in_a_box() -> Result<(), Box<dyn std::error::Error>> {
    let number: u64 = "12".parse()?;
    assert_eq!(gossamer::entrust(number).apply(|number| *number), 12);
    Ok(())
}
