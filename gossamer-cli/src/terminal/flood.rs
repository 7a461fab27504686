//! Lines that others can provoke: a few are written, and the rest are counted.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one line per this time, however many there are.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines of one kind.
#[derive(Debug, Default)]
pub struct Flood(Mutex<(Option<Instant>, u64)>);

impl Flood {
    /// Whether it is time for a line, and how many lines were left out since the last one.
    pub fn turn(&self, now: Instant) -> Option<u64> {
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
        let (flood, now) = (Flood::default(), Instant::now());
        assert_eq!(flood.turn(now), Some(0));
        for _ in 0..1000 {
            assert_eq!(flood.turn(now + INTERVAL / 2), None);
        }
        assert_eq!(flood.turn(now + INTERVAL), Some(1000));
        assert_eq!(flood.turn(now + 3 * INTERVAL), Some(0));
    }
}
