//! What the server tells its operator. A terminal that is closed, or a full disk, must not end it, so nothing here fails.

use std::fmt::Display;
use std::io::{self, Write};

/// A line on the standard output.
pub fn say(line: impl Display) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// A line on the standard error.
pub fn warn(problem: impl Display) {
    drop(writeln!(io::stderr(), "hydra: {problem}"));
}
