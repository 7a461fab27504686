//! [`CallId`]: a name for a call that others have to wait for, or are refused because of.

use crate::NoRef;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a call: a process, and a number that it assigns once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoRef)]
pub(super) struct CallId {
    process: u32,
    number: u64,
}

impl CallId {
    pub(super) fn new() -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only a number that nobody else has.
        Self { process: process::id(), number: CALLS.fetch_add(1, Ordering::Relaxed) }
    }
}
