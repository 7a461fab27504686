//! Whether this process is a copy of the one that made something.

use crate::atomic::Ordering;
use crate::atomic::fixed::AtomicU32;
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_the_child() {
    // Relaxed: a copy has one thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The process that something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// This one.
    pub(crate) fn this() -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the function counts, which is safe in a child.
            unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
        });
        Self::current()
    }

    /// Whether it is still this one. Safe in a signal handler.
    pub(crate) fn is_this(self) -> bool {
        self == Self::current()
    }

    fn current() -> Self {
        // Relaxed: it changes only in a fork.
        Self(FORKS.load(Ordering::Relaxed))
    }
}
