//! Which turn a worker was in at which time, as the watcher notes it now and then. So a fiber, which notes the turn in
//! which it last ran, needs no clock.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Entries that are kept; when there are this many, the least useful one is dropped.
const ENTRIES: usize = 64;

/// Looks at one worker, in order.
#[derive(Default)]
pub(crate) struct TurnLog(Mutex<Vec<TurnSeen>>);

/// At this moment no fiber was running that was last resumed before this turn.
#[derive(Clone, Copy)]
struct TurnSeen {
    at: Instant,
    before: u64,
}

impl TurnLog {
    /// Notes a look: the worker was in this turn, or slept at its end.
    pub(crate) fn note(&self, at: Instant, turn: u64, is_asleep: bool) {
        let before = turn + u64::from(is_asleep);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.last().is_some_and(|last| last.before == before) {
            // A fiber that has waited since then has waited since that look.
            return;
        }
        if entries.len() == ENTRIES {
            let least = least_missed(&entries, at);
            entries.remove(least);
        }
        entries.push(TurnSeen { at, before });
    }

    /// The earliest look that has found the worker in this turn.
    pub(crate) fn seen_in(&self, turn: u64) -> Option<Instant> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = entries.partition_point(|seen| seen.before < turn);
        entries.get(first).filter(|seen| seen.before == turn).map(|seen| seen.at)
    }

    /// The earliest look at which a fiber that was resumed in this turn was already waiting.
    pub(crate) fn waits_since(&self, resumed: u64) -> Option<Instant> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = entries.partition_point(|seen| seen.before <= resumed);
        entries.get(first).map(|seen| seen.at)
    }
}

/// The index of the entry whose loss makes the times least inexact, in proportion to how long ago they were.
fn least_missed(entries: &[TurnSeen], now: Instant) -> usize {
    let loss = |place: usize| {
        let (before, behind) = (entries[place - 1].at, entries[place + 1].at);
        (behind - before).as_secs_f64() / (now - before).as_secs_f64().max(f64::MIN_POSITIVE)
    };
    let places = 1..entries.len() - 1;
    places.min_by(|one, other| loss(*one).total_cmp(&loss(*other))).unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_fiber_waits_since_the_first_look_behind_its_turn() {
        let (log, begin) = (TurnLog::default(), Instant::now());
        let at = |second| begin + Duration::from_secs(second);
        log.note(at(0), 10, false);
        log.note(at(1), 20, false);
        log.note(at(2), 30, true);
        log.note(at(3), 30, true);
        assert_eq!(log.waits_since(9), Some(at(0)));
        assert_eq!(log.waits_since(10), Some(at(1)));
        assert_eq!(log.waits_since(29), Some(at(2)));
        assert_eq!(log.waits_since(30), Some(at(2)), "it sleeps at the end of that turn");
        assert_eq!(log.waits_since(31), None);
    }

    #[test]
    fn what_is_long_ago_is_known_less_exactly_but_never_too_early() {
        let (log, begin) = (TurnLog::default(), Instant::now());
        for look in 0..10_000_u64 {
            log.note(begin + Duration::from_secs(look), look, false);
        }
        for resumed in [0, 10, 5000, 9000, 9990] {
            let since = log.waits_since(resumed).unwrap();
            assert!(since > begin + Duration::from_secs(resumed));
            let age = 10_000 - resumed;
            assert!(since <= begin + Duration::from_secs(resumed + age / 2 + 1), "{resumed}");
        }
    }
}
