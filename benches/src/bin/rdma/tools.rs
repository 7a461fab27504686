//! Contenders that are other processes: this program with one measurement, and measurements among the library's tests.

use std::process::{Command, Stdio};

/// The variable for the length of a measurement.
pub(crate) const MILLIS: &str = "RDMA_MILLIS";

/// The word before a figure.
const MEASURED: &str = "measured ";

/// Makes a measurement of this program, in a process of its own. Returns nothing if it failed, which the process
/// reports itself.
pub(crate) fn own(name: &str, fabric: &str, millis: u64) -> Option<f64> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["measure", name, fabric]).env(MILLIS, millis.to_string()).stderr(Stdio::inherit());
    let found = command.output().ok()?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix(MEASURED)?.parse().ok())
}

/// A measurement among the library's tests, by its name.
pub(crate) fn of_test(tests: &str, name: &str) -> Vec<(String, f64)> {
    let mut command = Command::new(tests);
    command.args(["--ignored", "--exact", "--nocapture", name]).env("GOSSAMER_TEST_DEVICE", "installed");
    let Ok(found) = command.stderr(Stdio::inherit()).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    // The harness may have begun the line.
    let figure = |line: &str| {
        let (name, figure) = line.split_once(MEASURED)?.1.split_once(' ')?;
        Some((name.to_owned(), figure.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}
