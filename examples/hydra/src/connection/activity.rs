//! What a client did last: its own fiber notes it, without a lock; CLIENT LIST reads it on any worker.

use crate::commands::catalog::COMMANDS;
use crate::commands::table::Command;
use crate::store::now;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

/// Everything here is `Relaxed`: each of these words is true by itself, and nothing is read because of it.
pub struct Activity {
    /// None before the first.
    command: AtomicPtr<Command>,
    /// When its last bytes came, in milliseconds since 1970.
    at: AtomicU64,
    /// Commands since MULTI, or -1.
    queued: AtomicI64,
    is_blocked: AtomicBool,
}

impl Activity {
    pub fn new() -> Self {
        Self {
            command: AtomicPtr::new(ptr::null_mut()),
            at: AtomicU64::new(now()),
            queued: AtomicI64::new(-1),
            is_blocked: AtomicBool::new(false),
        }
    }

    /// It has a command done, or queued.
    #[inline]
    pub fn has_sent(&self, command: &'static Command) {
        self.command.store(ptr::from_ref(command).cast_mut(), Ordering::Relaxed);
    }

    /// Something has come of it.
    pub fn is_heard(&self) {
        self.at.store(now(), Ordering::Relaxed);
    }

    /// That many commands are queued, if there was a MULTI.
    pub fn set_queued(&self, queued: Option<usize>) {
        self.queued.store(queued.map_or(-1, |queued| queued as i64), Ordering::Relaxed);
    }

    pub fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    pub fn command(&self) -> Option<&'static Command> {
        let last = self.command.load(Ordering::Relaxed).cast_const();
        COMMANDS.iter().find(|command| ptr::eq(*command, last))
    }

    /// Seconds since something came of it.
    pub fn idle(&self) -> u64 {
        now().saturating_sub(self.at.load(Ordering::Relaxed)) / 1000
    }

    pub fn queued(&self) -> i64 {
        self.queued.load(Ordering::Relaxed)
    }

    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }
}
