//! The calls that the running fiber may still make before it looks whether its turn is over.

use crate::atomic::fixed::AtomicU64;
use std::sync::atomic::Ordering;

/// Set by the watcher: the next call is to look.
const HURRY: u64 = 1 << 63;

/// A number of calls, from which the worker takes one off for each.
///
/// Invariant: the worker alone changes the number, and reads it before it writes it, without a read-modify-write of the
/// processor. Others only set the mark, by one that leaves the number as it is. A mark that is set between the worker's
/// read and its write is lost, and one may be set just after the turn it was for: who sets it looks again. No other
/// memory depends on either, so all orderings are Relaxed.
#[derive(Debug, Default)]
pub(crate) struct CallsLeft(AtomicU64);

impl CallsLeft {
    /// By the worker: takes one call off. Returns whether there was one, and no mark.
    #[inline(always)]
    pub(crate) fn spend(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        // One comparison for both: with the mark, it is negative.
        if left.cast_signed() <= 0 {
            return false;
        }
        self.0.store(left - 1, Ordering::Relaxed);
        true
    }

    /// By the worker: so many calls are left from now on. The mark stays.
    pub(crate) fn set(&self, calls: u64) {
        let mark = self.0.load(Ordering::Relaxed) & HURRY;
        self.0.store(calls | mark, Ordering::Relaxed);
    }

    /// By anybody.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & !HURRY
    }

    /// By the worker: whether the mark is set.
    #[inline(always)]
    pub(crate) fn is_hurried(&self) -> bool {
        self.0.load(Ordering::Relaxed) & HURRY != 0
    }

    /// By the worker, before others run, which the mark was not for.
    #[inline(always)]
    pub(crate) fn forget_mark(&self) {
        if self.is_hurried() {
            self.0.store(self.get(), Ordering::Relaxed);
        }
    }

    /// By anybody: the next call is to look.
    pub(crate) fn hurry(&self) {
        self.0.fetch_or(HURRY, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn a_mark_ends_the_calls_and_changes_their_number_by_nothing() {
        let (calls, ends) = (CallsLeft::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    calls.hurry();
                    thread::yield_now();
                }
            });
            let mut marks = 0;
            while marks < 1000 {
                calls.forget_mark();
                calls.set(50);
                let spent = (0..50).take_while(|_| calls.spend()).count() as u64;
                assert_eq!(calls.get(), 50 - spent);
                if calls.is_hurried() {
                    assert!(!calls.spend());
                    marks += 1;
                } else {
                    assert_eq!(spent, 50);
                }
            }
            ends.store(true, Ordering::Relaxed);
        });
    }
}
