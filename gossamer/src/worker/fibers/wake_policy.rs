//! Whether a worker of a server, when it is woken, interrupts who runs on its processor; and how it learns which is
//! better.
//!
//! A worker that shares processors with clients is woken by what a client sends. If it interrupts that client at once, it
//! finds one request, sends one reply, and sleeps again; if it waits, the client goes on to others, and there is more to
//! do. Workers that wake each other do the same to each other. So it waits (`SCHED_BATCH`), as long as the others run
//! briefly. Beside programs that never sleep on all processors it would wait for a time slice each time: if it gets less
//! than a quarter of the time in which it could run, and waits for long ([`LATE`]), it interrupts again.
//!
//! It decides by its times of [`WINDOW`] or more: within less, others are scheduled as it happens. It tries anew after some
//! such windows, four times as many each time that it finds itself kept waiting, up to [`LONGEST`]: so it loses no more
//! than a thousandth by trying.

use crate::sys::threads::policy;
use crate::sys::threads::procfs::ThreadTimes;
use std::cell::Cell;
use std::time::Duration;

/// Sleeps between two looks at the times.
const LOOK_EVERY: u32 = 128;
/// How long it has run and waited, together, when it decides.
const WINDOW: Duration = Duration::from_millis(100);
/// A worker that gets a processor sooner after a sleep, on average, is not kept waiting.
const LATE: Duration = Duration::from_micros(100);
/// How many times as long as it runs a worker may wait: a quarter of the time is what one of four threads gets.
const MOST_WAITING: u32 = 3;
/// Windows until it tries again, at most.
const LONGEST: u32 = 1024;

/// What a worker does when it is woken.
pub(crate) struct WakePolicy {
    state: Cell<WakeState>,
    /// Since the window began.
    sleeps: Cell<u32>,
    /// Its times when the window began.
    begun: Cell<ThreadTimes>,
    /// For how many windows it interrupts, next time.
    next_pause: Cell<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeState {
    /// For this many more windows.
    Interrupts(u32),
    Waits,
    /// The kernel does not let it choose, or somebody else has chosen.
    Fixed,
}

impl WakePolicy {
    pub(crate) fn new() -> Self {
        Self {
            state: Cell::new(WakeState::Interrupts(0)),
            sleeps: Cell::new(0),
            begun: Cell::default(),
            next_pause: Cell::new(1),
        }
    }

    /// The calling worker, always the same, has slept. `serves`: it watches sockets of the program.
    #[inline]
    pub(crate) fn note_sleep(&self, serves: bool) {
        if !serves {
            if self.state.get() == WakeState::Waits {
                self.change_to(WakeState::Interrupts(0));
            }
            return;
        }
        self.sleeps.set(self.sleeps.get().wrapping_add(1));
        if self.sleeps.get().is_multiple_of(LOOK_EVERY) && self.state.get() != WakeState::Fixed {
            self.look();
        }
    }

    #[cold]
    fn look(&self) {
        // Without a free descriptor, for example, it cannot tell what waiting costs it.
        let Some(times) = ThreadTimes::here() else {
            return self.change_to(WakeState::Interrupts(0));
        };
        let begun = self.begun.get();
        let since = ThreadTimes {
            ran: times.ran.saturating_sub(begun.ran),
            waited: times.waited.saturating_sub(begun.waited),
        };
        if let Some(decision) = self.decide(since) {
            self.begun.set(times);
            self.sleeps.set(0);
            self.change_to(decision);
        }
    }

    /// What to do after a window with these times; `None` if it is not over.
    fn decide(&self, since: ThreadTimes) -> Option<WakeState> {
        let state = self.state.get();
        if state == WakeState::Interrupts(0) {
            return Some(WakeState::Waits);
        }
        if since.ran + since.waited < WINDOW {
            return None;
        }
        Some(match state {
            WakeState::Interrupts(windows) => WakeState::Interrupts(windows - 1),
            WakeState::Waits if self.is_kept_waiting(since) => {
                let pause = self.next_pause.get();
                self.next_pause.set(LONGEST.min(4 * pause));
                WakeState::Interrupts(pause)
            }
            WakeState::Waits => {
                self.next_pause.set(1);
                WakeState::Waits
            }
            WakeState::Fixed => WakeState::Fixed,
        })
    }

    fn is_kept_waiting(&self, since: ThreadTimes) -> bool {
        since.waited > since.ran * MOST_WAITING && since.waited > LATE * self.sleeps.get()
    }

    fn change_to(&self, state: WakeState) {
        let waits = state == WakeState::Waits;
        let changes = waits != (self.state.get() == WakeState::Waits);
        let is_refused = changes && policy::set_waits_when_woken(waits).is_err();
        self.state.set(if is_refused { WakeState::Fixed } else { state });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SOON: ThreadTimes =
        ThreadTimes { ran: Duration::from_millis(30), waited: Duration::from_millis(89) };
    const KEPT: ThreadTimes =
        ThreadTimes { ran: Duration::from_millis(30), waited: Duration::from_millis(91) };

    fn decide(policy: &WakePolicy, since: ThreadTimes) -> Option<WakeState> {
        let decision = policy.decide(since);
        policy.state.set(decision.unwrap_or(policy.state.get()));
        decision
    }

    /// Windows until it waits.
    fn pause(policy: &WakePolicy) -> u32 {
        let mut windows = 0;
        while decide(policy, KEPT) != Some(WakeState::Waits) {
            windows += 1;
        }
        windows
    }

    #[test]
    fn a_worker_that_is_kept_waiting_interrupts_and_tries_more_and_more_seldom() {
        let policy = WakePolicy::new();
        assert_eq!(pause(&policy), 0);
        for windows in [1, 4, 16, 64, 256, LONGEST, LONGEST] {
            assert_eq!(decide(&policy, KEPT), Some(WakeState::Interrupts(windows)));
            assert_eq!(pause(&policy), windows);
        }
        assert_eq!(decide(&policy, SOON), Some(WakeState::Waits));
        assert_eq!(decide(&policy, KEPT), Some(WakeState::Interrupts(1)));
    }

    #[test]
    fn a_worker_that_sleeps_often_and_waits_briefly_is_not_kept_waiting() {
        let policy = WakePolicy::new();
        pause(&policy);
        policy.sleeps.set(1000);
        let brief = ThreadTimes { ran: Duration::from_millis(1), waited: Duration::from_millis(100) };
        assert_eq!(decide(&policy, brief), Some(WakeState::Waits));
    }

    #[test]
    fn nothing_is_decided_by_a_short_window() {
        let policy = WakePolicy::new();
        pause(&policy);
        let short = ThreadTimes { ran: Duration::ZERO, waited: Duration::from_millis(99) };
        assert_eq!(policy.decide(short), None);
    }

    #[test]
    fn only_a_worker_that_serves_waits() {
        std::thread::spawn(|| {
            // Unless the tests run with this policy, it is refused.
            let _ordinary = policy::set_waits_when_woken(false);
            let policy = WakePolicy::new();
            (0..LOOK_EVERY).for_each(|_| policy.note_sleep(true));
            assert_eq!(policy.state.get(), WakeState::Waits);
            policy.note_sleep(false);
            assert_eq!(policy.state.get(), WakeState::Interrupts(0));
        })
        .join()
        .unwrap();
    }
}
