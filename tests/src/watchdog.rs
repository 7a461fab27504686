//! Ends the process, with the name of the test, when a test hangs.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Seconds a test may take; `TEST_WATCHDOG_SECONDS` overrides it, for slow machines and for debuggers.
const LIMIT: u64 = 300;

/// Runs `body` on a thread of its own, and passes on its panic. If it takes too long, the process ends.
///
/// # Panics
/// As `body`.
pub fn watched(body: impl FnOnce() + Send + 'static) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let given = std::env::var("TEST_WATCHDOG_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(given.unwrap_or(LIMIT));
    let (running, ended) = channel::<()>();
    let thread = thread::Builder::new().name(name.clone()).spawn(move || {
        let _dropped_at_the_end = running;
        body();
    });
    let thread = thread.expect("a thread for a test");
    if let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(limit) {
        // Not `eprintln!`: the harness holds its text back, and would lose it.
        let _ = writeln!(std::io::stderr(), "watchdog: `{name}` still runs after {limit:?}: it hangs");
        std::process::abort();
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
