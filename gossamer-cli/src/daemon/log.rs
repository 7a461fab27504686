//! What a daemon says on standard error, for the system's journal.

use crate::terminal::flood::Flood;
use std::io::Write;
use std::time::Instant;

/// Writes a line.
pub fn log(text: &str) {
    // There is nobody to tell if that fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A kind of lines that others can provoke.
#[derive(Debug, Default)]
pub struct Log(Flood);

impl Log {
    /// Writes a line, or counts it for the next one.
    pub fn add(&self, text: &str) {
        match self.0.turn(Instant::now()) {
            None => {}
            Some(0) => log(text),
            Some(count) => log(&format!("{text} (and {count} such lines since the last one)")),
        }
    }
}
