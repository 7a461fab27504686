//! [`CallId`]: a name for a call that others have to wait for, or are refused because of.

use crate::{NoRef, rack};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a call: a node, and a number that its process assigns once. (Not the process's own number, which may be the same
/// in containers, and on other machines.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoRef)]
pub(super) struct CallId {
    node: usize,
    number: u64,
}

impl CallId {
    #[track_caller]
    pub(super) fn new() -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only a number that nobody else has.
        Self { node: rack::this_node().index(), number: CALLS.fetch_add(1, Ordering::Relaxed) }
    }
}
