//! Which threads of this process may end what fibers wait for, though no fiber does.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of this library's threads begin with.
const OURS: &str = "gossamer-";

/// Threads that wait for a runtime.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// While it lives, the thread that made it waits for a runtime to end, and does nothing else.
pub(crate) struct WaitsForRuntime(());

impl WaitsForRuntime {
    pub(crate) fn begin() -> Self {
        // Relaxed, as below: a count, which orders nothing.
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for WaitsForRuntime {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many threads this library has not started, besides those that wait for a runtime; `None` if the kernel does not tell.
pub(super) fn others() -> Option<u64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    // One that has ended meanwhile has no name any more.
    let names = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    Some(unknown(names).saturating_sub(WAITING.load(Ordering::Relaxed)))
}

/// A thread without a name of its own has that of the thread which started it, so the second of two workers of one name is
/// none.
fn unknown(names: impl Iterator<Item = String>) -> u64 {
    let mut workers = HashSet::new();
    let mut is_unknown = |name: &String| match name.trim_end().strip_prefix(OURS) {
        Some(number) if number.parse::<u64>().is_ok() => !workers.insert(name.clone()),
        Some(_) => false,
        None => true,
    };
    names.filter(|name| is_unknown(name)).count() as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_a_fiber_has_started_is_told_from_its_worker() {
        let count = |names: &[&str]| unknown(names.iter().map(|name| format!("{name}\n")));
        assert_eq!(count(&["bank", "gossamer-0", "gossamer-1", "gossamer-pool", "gossamer-pool"]), 1);
        assert_eq!(count(&["gossamer-0", "gossamer-1", "gossamer-0"]), 1);
        assert_eq!(count(&["gossamer-watch"]), 0);
    }
}
