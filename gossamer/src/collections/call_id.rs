//! [`CallId`]: a name for a call that others have to wait for, or are refused because of.

use crate::NoRef;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a call: a process, by a random number, and a number that it assigns once. (The system's number of a process may
/// be the same in containers, and on other machines.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoRef)]
pub(super) struct CallId {
    process: u64,
    number: u64,
}

impl CallId {
    pub(super) fn new() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
        static CALLS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only a number that nobody else has.
        Self { process: *PROCESS, number: CALLS.fetch_add(1, Ordering::Relaxed) }
    }
}
