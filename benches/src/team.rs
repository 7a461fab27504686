//! Plain pinned threads that work on something together.

use crate::machine::{pin, processors};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Threads spin when they wait for each other: the cost of a lock would be part of what is measured.
#[derive(Debug, Default)]
pub struct Barrier {
    come: AtomicUsize,
    round: AtomicUsize,
}

impl Barrier {
    /// Waits until so many threads are here.
    pub fn wait(&self, threads: usize) {
        let round = self.round.load(Ordering::Acquire);
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            self.come.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
        } else {
            while self.round.load(Ordering::Acquire) == round {
                spin_loop();
            }
        }
    }
}

/// One of the threads.
#[derive(Clone, Copy, Debug)]
pub struct Member<'team> {
    /// From zero.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    barrier: &'team Barrier,
}

impl Member<'_> {
    /// Waits for the others.
    pub fn barrier(&self) {
        self.barrier.wait(self.count);
    }

    /// This thread's part of so many things: neighbours.
    #[must_use]
    pub fn part(&self, len: usize) -> std::ops::Range<usize> {
        let each = len.div_ceil(self.count);
        (self.index * each).min(len)..((self.index + 1) * each).min(len)
    }
}

/// Has so many threads work together; what each of them returns, and the seconds from when all had begun until all had
/// ended.
///
/// # Panics
/// If one of them does; then the others may wait for it for ever.
pub fn work<R: Send>(threads: usize, body: impl Fn(Member<'_>) -> R + Sync) -> (Vec<R>, f64) {
    let _ = processors();
    let (barrier, body) = (Barrier::default(), &body);
    let thread = |index| {
        let member = Member { index, count: threads, barrier: &barrier };
        move || {
            pin(index);
            member.barrier();
            let begun = Instant::now();
            let result = body(member);
            member.barrier();
            (result, begun.elapsed().as_secs_f64())
        }
    };
    thread::scope(|scope| {
        let members: Vec<_> = (0..threads).map(|index| scope.spawn(thread(index))).collect();
        let ended = members.into_iter().map(|member| member.join());
        let (results, seconds): (Vec<_>, Vec<_>) =
            ended.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).unzip();
        (results, seconds.into_iter().fold(0.0, f64::max))
    })
}
