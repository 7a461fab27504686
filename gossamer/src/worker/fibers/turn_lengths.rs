//! Measuring how long turns take, with few readings of the clock.

use crate::counters::worker::TimeCounters;
use std::time::{Duration, Instant};

/// Turns between two readings of the clock, one of which costs about as much as a turn that finds nothing.
const LOOK_EVERY: u64 = 128;
/// As many turns take less than this, or each of the next ones is looked at.
const LONG: Duration = Duration::from_millis(1);
/// A turn that is looked at alone takes less than this, or so is the next one.
const LONG_ALONE: Duration = Duration::from_micros(10);

/// The turns since the last look at the clock.
pub(crate) struct TurnLengths {
    first: u64,
    next: u64,
    since: Instant,
}

impl TurnLengths {
    pub(crate) fn new() -> Self {
        Self { first: 0, next: LOOK_EVERY, since: Instant::now() }
    }

    /// A turn begins.
    #[inline(always)]
    pub(crate) fn note_turn(&mut self, turn: u64, time: &TimeCounters) {
        if turn >= self.next {
            self.look(turn, time);
        }
    }

    #[cold]
    fn look(&mut self, turn: u64, time: &TimeCounters) {
        let now = Instant::now();
        let (lasted, turns) = (now.saturating_duration_since(self.since), turn - self.first);
        // One turn has taken nearly all of it, or the next ones are looked at one by one.
        time.note_turn_of(lasted.as_nanos() as u64);
        let limit = if turns == 1 { LONG_ALONE } else { LONG };
        *self = Self { first: turn, next: turn + if lasted < limit { LOOK_EVERY } else { 1 }, since: now };
    }

    /// The worker has been idle since then, and still is.
    #[inline(always)]
    pub(crate) fn pause(&mut self, since: Instant, time: &TimeCounters) {
        if self.next != u64::MAX {
            self.next = u64::MAX;
            time.note_turn_of(since.saturating_duration_since(self.since).as_nanos() as u64);
        }
    }

    /// It was idle until then, and this turn has found something.
    pub(crate) fn resume(&mut self, turn: u64, until: Instant) {
        *self = Self { first: turn, next: turn + LOOK_EVERY, since: until };
    }
}
