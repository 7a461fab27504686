//! How long nothing was heard of a peer: only the time counts in which this process itself runs. A process that was
//! stopped, or frozen together with its peer, has heard nothing either, so it starts counting again.

use rustix::event::{PollFd, Timespec, poll};
use std::io;
use std::time::{Duration, Instant};

/// The waiter looks at least this often.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// A waiter that looks this long after its last look was not running.
const LATE: Duration = Duration::from_millis(1500);

/// A count that is looked at in steps of at most [`LOOK`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    since: Instant,
    looked: Instant,
}

impl Silence {
    /// Begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, looked: now }
    }

    /// Something was heard.
    pub(crate) fn end(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// How long it has lasted.
    pub(crate) fn lasted(&mut self, now: Instant) -> Duration {
        if now.saturating_duration_since(self.looked) > LATE {
            self.since = now;
        }
        self.looked = now;
        now.saturating_duration_since(self.since)
    }
}

/// How long something may take in all, counted in the same way.
pub(crate) struct Patience {
    limit: Duration,
    count: Silence,
}

impl Patience {
    /// Begins.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, count: Silence::new(Instant::now()) }
    }

    /// Waits for one of these.
    ///
    /// # Errors
    /// With `TimedOut`, if it takes too long.
    pub(crate) fn wait(&mut self, awaited: &mut [PollFd<'_>]) -> io::Result<()> {
        while let Some(left) = self.left(Instant::now()) {
            let look: Timespec = left.min(LOOK).try_into().map_err(io::Error::other)?;
            match poll(awaited, Some(&look)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                outcome => return Ok(outcome.map(drop)?),
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "nothing arrived in time"))
    }

    fn left(&mut self, now: Instant) -> Option<Duration> {
        self.limit.checked_sub(self.count.lasted(now)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_lasts_while_somebody_watches() {
        let begin = Instant::now();
        let mut silence = Silence::new(begin);
        for second in 1..=10 {
            assert_eq!(silence.lasted(begin + second * LOOK), second * LOOK);
        }
        silence.end(begin + 10 * LOOK);
        assert_eq!(silence.lasted(begin + 11 * LOOK), LOOK);
    }

    #[test]
    fn a_watcher_that_was_frozen_counts_anew() {
        let begin = Instant::now();
        let mut silence = Silence::new(begin);
        assert_eq!(silence.lasted(begin + LOOK), LOOK);
        let thawed = begin + 60 * LOOK;
        assert_eq!(silence.lasted(thawed), Duration::ZERO);
        assert_eq!(silence.lasted(thawed + LOOK), LOOK);
    }

    #[test]
    fn patience_ends_though_something_comes_now_and_then_but_not_by_a_freeze() {
        let mut patience = Patience::new(5 * LOOK);
        let begin = patience.count.since;
        assert_eq!(patience.left(begin + LOOK), Some(4 * LOOK));
        let thawed = begin + 60 * LOOK;
        assert_eq!(patience.left(thawed), Some(5 * LOOK));
        let lefts: Vec<_> = (1..=5).map(|second| patience.left(thawed + second * LOOK)).collect();
        assert_eq!(lefts[3..], [Some(LOOK), None]);
    }
}
