//! Ends the process, with the name of the test, when a test hangs.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Seconds a test may take; `TEST_WATCHDOG_SECONDS` overrides it, for slow machines and for debuggers.
const LIMIT: u64 = 300;

/// A test that is watched until this is dropped.
pub(crate) struct Watched {
    _running: Sender<()>,
}

/// Watches the test of this thread.
pub(crate) fn watch() -> Watched {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let given = std::env::var("TEST_WATCHDOG_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(given.unwrap_or(LIMIT));
    let (running, ended) = channel();
    thread::spawn(move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln!`, whose text the harness holds back and would lose.
            let _ = writeln!(std::io::stderr(), "watchdog: `{name}` still runs after {limit:?}: it hangs");
            std::process::abort();
        }
    });
    Watched { _running: running }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[ignore = "hangs: the next one starts it"]
    fn a_test_that_hangs() {
        let _watched = watch();
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_test_that_hangs_is_ended_with_its_name() {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--ignored", "--exact", "fabric::watchdog::tests::a_test_that_hangs"]);
        let ended = test.env("TEST_WATCHDOG_SECONDS", "1").output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(told.contains("watchdog: `fabric::watchdog::tests::a_test_that_hangs` still runs"), "{told}");
        assert!(!ended.status.success());
    }
}
