//! Whether workers have something to do, as other threads see it: how quiescence is detected.
//!
//! A worker is *active* or *passive* (E. W. Dijkstra, C. S. Scholten, "Termination detection for diffusing computations", 1980).
//! Passive is one that has no fiber, but those that wait for quiescence, no request that is unanswered, and no grace round. Each
//! shows it in one word: zero while it is active, and while it is passive how much it was ever asked to do (*work*: requests served,
//! messages taken, timers and sockets that woke somebody).
//!
//! - Q3: a passive worker shows that it is active before it serves, takes or runs anything, and so before others can see what
//!   comes of that: an answer is written, and a message looks taken, after it.
//! - Q4: it shows that it is passive at the end of a turn, when all that the turn has sent lies on the lanes or is counted as
//!   unanswered.
//! - Q5: what it has done between two such words is in the work of the later one, so both are the same only if it has done nothing.
//!
//! [`look`] reads all words, then all inboxes, then all words again. Suppose that it finds all passive and the work unchanged. By
//! Q5 nobody has done anything between the two looks at it, so at the moment between the two rounds all were passive. A request under way
//! then would have a client which waits for its answer, and is active; a message in an inbox that is not seen there was pushed
//! behind that moment, and by no worker of these, none of which has done anything. Who answers a request is active before its client
//! can be passive (Q3), and the reader who sees the one sees the other, since it reads the server's word again. So
//! nothing is left that could start anything: quiescence, which only threads outside can end.
//!
//! Somebody has to look when the last worker becomes passive (`settle`). One worker of a node looks, at the end of each of its own turns. Every
//! other, once it has become passive, reads whether somebody waits, and if all seem passive wakes that one. There is a SeqCst fence between
//! the store of the flag and the look, and one between the store of the word and the read of the flag; of the two one comes first: the look
//! finds the word, or the other finds the flag. Of two that become passive at once, one finds the other's word, likewise. Who looks falls
//! asleep as over any work: a last look behind the raised flag of its doorbell.

use crate::atomic::{AtomicU64, Ordering, fence};

/// Bits below the work: the phase plus one.
const PHASE_BITS: u32 = 2;
const ACTIVE: u64 = 0;

/// What one worker shows.
pub(crate) struct Activity(AtomicU64);

impl Activity {
    /// Of a worker that is active.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(ACTIVE))
    }

    /// The worker is about to do something (Q3).
    pub(in crate::worker) fn begin(&self) {
        // Release: with that of what it does, which others acquire before they become passive themselves, or look at its inbox.
        self.0.store(ACTIVE, Ordering::Release);
    }

    /// The worker has nothing to do in this phase, and has done so much in all (Q4, Q5).
    pub(in crate::worker) fn end(&self, phase: u8, work: u64) {
        // Release: with all that the worker has done; pairs with the Acquire in `work`.
        self.0.store(work << PHASE_BITS | u64::from(phase + 1), Ordering::Release);
        // Before the worker reads whether somebody waits, and the words of others: pairs with that of who says so and then looks.
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
    // One number for all: each only grows.
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

    /// Two workers. The first has asked the second for something, which answers, and whose closure has asked the first for something
    /// in turn, which goes out at the end of the turn only, behind the answer.
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
            // All it has asked for is answered.
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
                // Release, as `Inbox::drain`.
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
