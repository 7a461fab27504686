//! How long the calls of one socket may wait, settable while others use it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds, 0 for no limit. Relaxed throughout: no other memory depends on it.
#[derive(Debug, Default)]
pub(crate) struct Limit(AtomicU64);

impl Limit {
    /// # Errors
    /// `InvalidInput` for a limit of zero, as in std.
    pub(crate) fn set(&self, limit: Option<Duration>) -> io::Result<()> {
        if limit == Some(Duration::ZERO) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot set a time limit of zero"));
        }
        let nanoseconds = limit.map_or(0, |limit| limit.as_nanos().try_into().unwrap_or(u64::MAX));
        self.0.store(nanoseconds, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }
}

impl Clone for Limit {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}
