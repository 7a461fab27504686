//! What the user sees: standard output for answers, standard error for machines that gave none.

use crate::exit::{Failure, OUTPUT};
use crate::terminal::printable::printable;
use serde_json::Value;
use std::io::Write;

/// Warns on standard error.
pub fn complain(text: &str) {
    // There is nobody else to tell if that fails.
    let _ = writeln!(std::io::stderr(), "gossamer: warning: {}", printable(text));
}

/// Writes to standard output.
///
/// # Errors
/// If it cannot be written.
pub fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(OUTPUT, format!("standard output cannot be written: {error}")))
}

/// Writes JSON to standard output.
///
/// # Errors
/// If it cannot be written.
pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(format!("{value:#}\n").as_bytes())
}
