//! Whether workers have something to do, as other threads see it. Quiescence is detected from it.
//!
//! A worker is *active* or *passive* (E. W. Dijkstra, C. S. Scholten, "Termination detection for diffusing
//! computations", 1980). A passive worker has no fibers other than those that wait for quiescence, no unanswered
//! requests, and no grace round. Each worker shows its state in one word: zero while it is active, and while it is
//! passive, how much it was ever asked to do (*work*: requests served, messages taken, timers and sockets that woke a
//! fiber).
//!
//! - Q3: a passive worker shows that it is active before it serves, takes or runs anything, and so before others can
//!   see the result: an answer is written, and a message looks taken, only afterwards.
//! - Q4: it shows that it is passive at the end of a turn, when everything that the turn has sent lies on the lanes or
//!   is counted as unanswered.
//! - Q5: what it has done between two such words is included in the work of the later one, so both are the same only if
//!   it has done nothing.
//!
//! [`look`] reads all words, then all inboxes, then all words again. Suppose that it finds all passive and the work
//! unchanged. By Q5 no worker has done anything between the two looks at its word, so all were passive at the moment
//! between the two rounds. A request under way at that moment would have a client that waits for its answer, and is
//! active. A message that the look does not see in its inbox was pushed after that moment, and not by any of these
//! workers, none of which has done anything. The worker that answers a request is active before its client can be
//! passive (Q3), and a reader that sees the one sees the other, since it reads the server's word again. So nothing is
//! left that could start anything: this is quiescence, which only threads outside can end.
//!
//! A worker has to look when the last one becomes passive (`settle`). One worker of a node looks, at the end of each of
//! its own turns. Every other worker, once it has become passive, reads whether a fiber waits, and if all workers seem
//! passive, wakes the one that looks. There is a SeqCst fence between the store of the flag and the look, and one
//! between the store of the word and the read of the flag. One of the two fences comes first: either the look finds the
//! word, or the other worker finds the flag. If two workers become passive at once, one finds the other's word, by the
//! same argument. The worker that looks falls asleep as it does over any work: it looks a last time after it has raised
//! the flag of its doorbell.

use crate::atomic::{AtomicU64, Ordering, fence};

/// Bits below the work: the phase plus one.
const PHASE_BITS: u32 = 2;
const ACTIVE: u64 = 0;

/// The word that one worker shows.
pub(crate) struct Activity(AtomicU64);

impl Activity {
    /// The word of an active worker.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(ACTIVE))
    }

    /// The worker is about to do something (Q3).
    pub(in crate::worker) fn begin(&self) {
        // Release: together with the Release of what the worker does next, which others acquire before they become
        // passive themselves, or look at its inbox.
        self.0.store(ACTIVE, Ordering::Release);
    }

    /// The worker has nothing to do in this phase, and has done this much in all (Q4, Q5).
    pub(in crate::worker) fn end(&self, phase: u8, work: u64) {
        // Release: with everything that the worker has done; pairs with the Acquire in `work`.
        self.0.store(work << PHASE_BITS | u64::from(phase + 1), Ordering::Release);
        // Before the worker reads whether a fiber waits, and the words of others: pairs with the fence of the worker
        // that sets that flag and then looks.
        fence(Ordering::SeqCst);
    }

    /// The work of a worker that is passive in this phase.
    fn work(&self, phase: u8) -> Option<u64> {
        // Acquire: pairs with the Release in `begin` and `end`.
        let word = self.0.load(Ordering::Acquire);
        (word & ((1 << PHASE_BITS) - 1) == u64::from(phase + 1)).then_some(word >> PHASE_BITS)
    }
}

/// The work of all workers if all are passive in this phase, each at some moment of its own.
pub(super) fn sum<'a>(workers: impl Iterator<Item = &'a Activity>, phase: u8) -> Option<u64> {
    // One number for all workers: each count only grows.
    workers.map(|worker| worker.work(phase)).try_fold(0_u64, |sum, work| Some(sum.wrapping_add(work?)))
}

/// The work of all workers if there was a moment at which all were passive, and no inbox had mail.
pub(super) fn look<'a>(
    workers: impl Iterator<Item = &'a Activity> + Clone,
    has_mail: impl FnOnce() -> bool,
    phase: u8,
) -> Option<u64> {
    let before = sum(workers.clone(), phase)?;
    (!has_mail() && sum(workers, phase)? == before).then_some(before)
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::atomic::AtomicBool;
    use crate::sys::sync::doorbell::Doorbell;
    use loom::sync::Arc;
    use loom::thread;

    /// Two workers. The first has sent a request to the second. The second answers, and the request's closure has sent
    /// a request to the first, which leaves only at the end of the turn, after the answer.
    struct Pair {
        activities: [Activity; 2],
        request: AtomicBool,
        answer: AtomicBool,
        follow_up: AtomicBool,
        follow_up_served: AtomicBool,
        done: AtomicBool,
    }

    impl Pair {
        fn look(&self) -> Option<u64> {
            look(self.activities.iter(), || false, 0)
        }

        fn first(&self) {
            self.activities[0].begin();
            self.request.store(true, Ordering::Release);
            while !self.answer.load(Ordering::Acquire) {
                thread::yield_now();
            }
            // All its requests are answered.
            self.activities[0].end(0, 1);
            while !self.follow_up.load(Ordering::Acquire) {
                thread::yield_now();
            }
            self.activities[0].begin();
            self.done.store(true, Ordering::Relaxed);
            self.follow_up_served.store(true, Ordering::Release);
            self.activities[0].end(0, 2);
        }

        fn second(&self) {
            while !self.request.load(Ordering::Acquire) {
                thread::yield_now();
            }
            self.activities[1].begin();
            self.answer.store(true, Ordering::Release);
            self.follow_up.store(true, Ordering::Release);
            while !self.follow_up_served.load(Ordering::Acquire) {
                thread::yield_now();
            }
            self.activities[1].end(0, 1);
        }
    }

    #[test]
    fn all_seem_passive_only_when_what_an_answered_closure_has_sent_is_done() {
        loom::model(|| {
            let pair = Arc::new(Pair {
                activities: [Activity::new(), Activity::new()],
                request: AtomicBool::new(false),
                answer: AtomicBool::new(false),
                follow_up: AtomicBool::new(false),
                follow_up_served: AtomicBool::new(false),
                done: AtomicBool::new(false),
            });
            // It was passive before the request.
            pair.activities[1].end(0, 0);
            let (first, second) = (Arc::clone(&pair), Arc::clone(&pair));
            let first = thread::spawn(move || first.first());
            let second = thread::spawn(move || second.second());
            if pair.look().is_some() {
                assert!(pair.done.load(Ordering::Relaxed), "there is a request under way");
            }
            first.join().unwrap();
            second.join().unwrap();
            assert_eq!(pair.look(), Some(3));
        });
    }

    #[test]
    fn a_worker_that_takes_a_message_is_active_before_its_inbox_looks_empty() {
        loom::model(|| {
            let all = Arc::new((Activity::new(), AtomicBool::new(true), AtomicBool::new(false)));
            all.0.end(0, 0);
            let worker = Arc::clone(&all);
            let worker = thread::spawn(move || {
                let (activity, has_mail, done) = &*worker;
                activity.begin();
                // Release, as in `Inbox::drain`.
                has_mail.store(false, Ordering::Release);
                done.store(true, Ordering::Relaxed);
                activity.end(0, 1);
            });
            let (activity, has_mail, done) = &*all;
            if look([activity].into_iter(), || has_mail.load(Ordering::Acquire), 0).is_some() {
                assert!(done.load(Ordering::Relaxed), "the message was not handled");
            }
            worker.join().unwrap();
        });
    }

    #[test]
    fn who_waits_learns_that_the_last_worker_has_become_passive() {
        loom::model(|| {
            let activities = [Activity::new(), Activity::new()];
            let all = Arc::new((activities, AtomicBool::new(false), Doorbell::new()));
            let last = Arc::clone(&all);
            let last = thread::spawn(move || {
                let (activities, settling, doorbell) = &*last;
                activities[1].end(0, 0);
                let waited_for = settling.load(Ordering::Relaxed) && sum(activities.iter(), 0).is_some();
                waited_for && doorbell.needs_ring()
            });
            let (activities, settling, doorbell) = &*all;
            let looks = || look(activities.iter(), || false, 0).is_some();
            settling.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            activities[0].end(0, 0);
            let seen = looks() || {
                doorbell.prepare_to_sleep();
                looks()
            };
            let rang = last.join().unwrap();
            assert!(seen || rang, "it would sleep for ever");
        });
    }
}
