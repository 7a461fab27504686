//! Values that count how often they were made and dropped.

use gossamer::NoRef;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts of the [`Counted`] values of one test.
#[derive(Debug, Default)]
pub struct Tally {
    made: AtomicUsize,
    dropped: AtomicUsize,
}

/// Keeps the tallies reachable, so that a leak checker does not report them.
static TALLIES: Mutex<Vec<&'static Tally>> = Mutex::new(Vec::new());

impl Tally {
    /// A tally of its own.
    pub fn new() -> &'static Self {
        let tally: &'static Self = Box::leak(Box::default());
        TALLIES.lock().expect("nobody panics with this lock").push(tally);
        tally
    }

    /// A value whose drop is counted here.
    pub fn value(&'static self) -> Counted {
        self.made.fetch_add(1, Ordering::Relaxed);
        Counted { tally: self, alive: ALIVE }
    }

    /// How many values were made.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Acquire)
    }

    /// How many values were dropped.
    pub fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Acquire)
    }

    /// Whether every value that was made was dropped.
    pub fn is_even(&self) -> bool {
        self.made() == self.dropped()
    }
}

const ALIVE: u64 = 0x616c_6976_6521_2121;

/// A value whose drop is counted, and which notices if it is dropped twice.
#[derive(Debug)]
pub struct Counted {
    tally: &'static Tally,
    alive: u64,
}

// SAFETY: it holds a reference, but to a static of this process, and the tests run in one process.
unsafe impl NoRef for Counted {}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert_eq!(self.alive, ALIVE, "cloned after its drop");
        self.tally.value()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.alive, 0) != ALIVE {
            eprintln!("a value was dropped twice");
            std::process::abort();
        }
        self.tally.dropped.fetch_add(1, Ordering::AcqRel);
    }
}
