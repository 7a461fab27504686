//! How long nothing was heard from the other end of a connection. Only time counts in which this process itself runs: a
//! process that was stopped, or frozen together with the other end, has heard nothing either, so it counts anew.

use crate::rack::protocol::SILENCE;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// A waiting task checks at least this often.
const LOOK: Duration = Duration::from_secs(1);
/// If a check comes this long after the one before, the task was not running.
const LATE: Duration = Duration::from_millis(1500);

/// A count that is checked while something is awaited.
#[derive(Debug)]
pub struct Silence {
    since: Instant,
    looked: Instant,
}

impl Silence {
    /// Begins to count.
    #[must_use]
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, looked: now }
    }

    /// What arrives, which ends the silence; nothing if the silence has lasted for [`SILENCE`].
    pub async fn until<T>(&mut self, what: impl Future<Output = T>) -> Option<T> {
        let value = self.up_to(SILENCE, what).await;
        if value.is_some() {
            *self = Self::begin();
        }
        value
    }

    async fn up_to<T>(&mut self, limit: Duration, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        while let Some(look) = self.next_look(limit) {
            if let Ok(value) = timeout(look, &mut what).await {
                return Some(value);
            }
        }
        None
    }

    /// When to check again; nothing if the silence has lasted too long.
    fn next_look(&mut self, limit: Duration) -> Option<Duration> {
        let left = limit.saturating_sub(self.lasted(Instant::now()));
        (!left.is_zero()).then(|| left.min(LOOK))
    }

    fn lasted(&mut self, now: Instant) -> Duration {
        if now - self.looked > LATE {
            self.since = now;
        }
        self.looked = now;
        now - self.since
    }
}

/// What arrives within `limit`, counted in the same way.
pub async fn within<T>(limit: Duration, what: impl Future<Output = T>) -> Option<T> {
    Silence::begin().up_to(limit, what).await
}

/// What another thread sends within `limit`, counted in the same way. Nothing, either, if it can no longer send.
pub fn told_within<T>(limit: Duration, told: &Receiver<T>) -> Option<T> {
    let mut silence = Silence::begin();
    while let Some(look) = silence.next_look(limit) {
        match told.recv_timeout(look) {
            Err(RecvTimeoutError::Timeout) => {}
            outcome => return outcome.ok(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_lasts_while_somebody_watches_and_who_was_frozen_counts_anew() {
        let mut silence = Silence::begin();
        let begin = silence.since;
        for second in 1..20 {
            assert_eq!(silence.lasted(begin + second * LOOK), second * LOOK);
        }
        let thawed = begin + 100 * LOOK;
        assert_eq!(silence.lasted(thawed), Duration::ZERO);
        assert_eq!(silence.lasted(thawed + LOOK), LOOK);
    }

    #[tokio::test]
    async fn what_does_not_come_in_time_is_none() {
        let limit = Duration::from_millis(1);
        assert_eq!(within(limit, async { 7 }).await, Some(7));
        assert_eq!(within(limit, std::future::pending::<()>()).await, None);
        let (tell, told) = std::sync::mpsc::channel();
        assert_eq!(told_within(limit, &told), None);
        tell.send(7).unwrap();
        assert_eq!(told_within(limit, &told), Some(7));
        drop(tell);
        assert_eq!(told_within(Duration::MAX, &told), None);
    }

    #[tokio::test]
    async fn what_comes_ends_the_silence() {
        let mut silence = Silence::begin();
        let begin = silence.since;
        assert_eq!(silence.until(async { 7 }).await, Some(7));
        assert!(silence.since > begin);
    }
}
