//! Runs a test again in a process of its own: for what ends the process, and for what is measured of it.

use crate::watched;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

/// Names the test that a child is to run.
const CHILD: &str = "INTEGRATION_TEST_CHILD";

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to its standard error.
    pub errors: String,
}

/// In the child: runs `body` and ends the process with status 0. In the parent: runs the test that calls this in a child
/// and returns how it ended. `prepare` may set limits and variables of the child.
pub fn in_child(prepare: impl FnOnce(&mut Command), body: impl FnOnce() + Send + 'static) -> Ended {
    let test = name();
    if std::env::var(CHILD).is_ok_and(|child| child == test) {
        watched(body);
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command.args([test.as_str(), "--exact", "--nocapture", "--include-ignored"]).env(CHILD, &test);
    // It may end in the middle of its work: what it holds at that moment is not a leak.
    command.env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command);
    let output = command.output().expect("a child can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test\n"), "there is no test named {test}: {said}");
    Ended { status: output.status, errors: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// Runs `body` in a process of its own, where no other test disturbs what it measures.
///
/// # Panics
/// If it fails there.
pub fn isolated(body: impl FnOnce() + Send + 'static) {
    let ended = in_child(|_| (), body);
    assert!(ended.status.success(), "{}: {}\n{}", name(), ended.status, ended.errors);
}

/// The path of the test that this thread runs: the harness names its thread after it.
fn name() -> String {
    thread::current().name().expect("called on the thread of a test").to_owned()
}
