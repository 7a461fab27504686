//! What a daemon says on standard error, for the system's journal.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one line in this time about refused connections, however many there are.
const INTERVAL: Duration = Duration::from_secs(10);

/// Writes a line.
pub fn log(text: &str) {
    // There is nobody to tell if that fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A kind of lines that others can provoke.
#[derive(Debug, Default)]
pub struct Log(Mutex<(Option<Instant>, u64)>);

impl Log {
    /// Writes a line, or counts it for the next one.
    pub fn add(&self, text: &str) {
        if let Some(suppressed) = self.turn(Instant::now()) {
            match suppressed {
                0 => log(text),
                count => log(&format!("{text} (and {count} such lines since the last one)")),
            }
        }
    }

    /// Whether it is time for a line, and how many there were that were not written.
    fn turn(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, suppressed) = &mut *state;
        if last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            *suppressed += 1;
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_one_line_and_a_count() {
        let (log, now) = (Log::default(), Instant::now());
        assert_eq!(log.turn(now), Some(0));
        for _ in 0..1000 {
            assert_eq!(log.turn(now + INTERVAL / 2), None);
        }
        assert_eq!(log.turn(now + INTERVAL), Some(1000));
        assert_eq!(log.turn(now + 3 * INTERVAL), Some(0));
    }
}
