//! Threads that end no wait of a fiber: those of this library, and those of the program that wait for a runtime.
//! Names would not do: a thread has the name of the one that started it, and a program may have any.

use rustix::thread::gettid;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static BYSTANDERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The kernel's numbers of these threads.
pub(crate) fn bystanders() -> MutexGuard<'static, BTreeSet<i32>> {
    BYSTANDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, the thread that made it is one of them; `None` if it was one before.
pub(crate) struct Bystander(Option<i32>);

impl Bystander {
    pub(crate) fn here() -> Self {
        let thread = gettid().as_raw_nonzero().get();
        Self(bystanders().insert(thread).then_some(thread))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        if let Some(thread) = &self.0 {
            bystanders().remove(thread);
        }
    }
}
