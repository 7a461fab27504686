//! The last trust of a property, wherever it goes: the property is dropped once, on its trustee.

use gossamer::{NoRef, Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{
    Counted, Tally, in_runtime, keep_for_ever, near_and_far, wait_until, watched, workers,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A property that checks that it is dropped on its trustee.
#[derive(NoRef)]
struct AtHome {
    home: usize,
    _counted: Counted,
}

static AWAY: AtomicUsize = AtomicUsize::new(0);

impl Drop for AtHome {
    fn drop(&mut self) {
        if Trustee::here().index() != self.home {
            AWAY.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn at_home(trustee: Trustee, tally: &'static Tally) -> Trust<AtHome> {
    trustee.entrust(AtHome { home: trustee.index(), _counted: tally.value() })
}

/// Waits until all are dropped, and checks where.
fn assert_dropped(tally: &'static Tally, count: usize) {
    wait_until(|| tally.is_even());
    // Time for a second drop, if there were one.
    gossamer::sleep(Duration::from_millis(2));
    assert_eq!((tally.made(), tally.dropped(), AWAY.load(Ordering::Relaxed)), (count, count, 0));
}

#[test]
fn the_last_trust_may_be_dropped_by_a_fiber_of_any_worker() {
    in_runtime(3, || {
        let tally = Tally::new();
        for holder in Trustee::all() {
            for dropper in Trustee::all() {
                let trust = at_home(holder, tally);
                let clone = trust.clone();
                spawn_on_with(dropper, |trust: Trust<AtHome>| drop(trust), trust).join();
                gossamer::sleep(Duration::from_millis(1));
                assert_eq!(tally.made() - tally.dropped(), 1);
                assert_eq!(clone.apply(|property| property.home), holder.index());
                spawn_on_with(dropper, |trust: Trust<AtHome>| drop(trust), clone).join();
                wait_until(|| tally.is_even());
            }
        }
        assert_dropped(tally, 9);
    });
}

#[test]
fn the_last_trust_may_be_dropped_by_a_closure_on_the_property_itself() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        for _ in 0..100 {
            let trust = at_home(trustee, tally);
            let own = trust.clone();
            trust.apply_with_then(|_, own| drop(own), own, |()| ());
        }
        assert_dropped(tally, 100);
    });
}

#[test]
fn the_last_trust_may_be_dropped_by_a_closure_on_another_property_or_by_a_callback() {
    in_runtime(2, || {
        let tally = Tally::new();
        for holder in Trustee::all() {
            for other in Trustee::all() {
                let other = other.entrust(());
                other.apply_with(|(), trust| drop(trust), at_home(holder, tally));
                let trust = at_home(holder, tally);
                other.apply_then(|()| (), move |()| drop(trust));
                other.apply_with_then(|(), trust| trust, at_home(holder, tally), drop);
                drop(other.apply_with_async(|(), trust| trust, at_home(holder, tally)));
            }
        }
        assert_dropped(tally, 16);
    });
}

#[test]
fn the_last_trust_may_be_dropped_by_a_thread_that_is_no_worker() {
    in_runtime(2, || {
        let tally = Tally::new();
        for trustee in Trustee::all() {
            let trust = at_home(trustee, tally);
            let thread = std::thread::spawn(move || {
                let clones: Vec<_> = (0..10).map(|_| trust.clone()).collect();
                drop(trust);
                assert_eq!(clones[9].apply(|property| property.home), clones[9].trustee().index());
                drop(clones[0].apply_async(|property| property.home));
            });
            wait_until(|| thread.is_finished());
            thread.join().unwrap();
        }
        assert_dropped(tally, 2);
    });
}

#[test]
fn what_a_thread_sent_before_the_last_trust_went_is_served() {
    for threads in [1, 2] {
        in_runtime(threads, || {
            for trustee in Trustee::all() {
                for _ in 0..20 {
                    let tally = Tally::new();
                    let trust = at_home(trustee, tally);
                    let clone = trust.clone();
                    let sender = std::thread::spawn(move || clone.apply_async(|property| property.home));
                    // This worker does nothing else meanwhile: the request waits, and the trust is dropped first.
                    let pending = sender.join().unwrap();
                    drop(trust);
                    assert_eq!(pending.try_wait(), Ok(trustee.index()));
                    assert_dropped(tally, 1);
                }
            }
        });
    }
}

#[test]
fn what_was_sent_before_the_last_trust_went_is_served() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let seen = entrust(0_u64);
        for _ in 0..1000 {
            let trust = at_home(trustee, tally);
            for _ in 0..10 {
                let report = |_: &mut AtHome, seen: Trust<u64>| seen.apply_then(|seen| *seen += 1, |()| ());
                trust.apply_with_then(report, seen.clone(), |()| ());
            }
        }
        wait_until(|| seen.apply(|seen| *seen) == 10_000);
        assert_dropped(tally, 1000);
    });
}

#[test]
fn properties_that_hold_trusts_are_dropped_in_a_chain_over_the_workers() {
    #[derive(NoRef)]
    struct Link {
        _counted: Counted,
        next: Option<Trust<Link>>,
    }
    in_runtime(3, || {
        let tally = Tally::new();
        let mut next = None;
        for index in 0..1000 {
            next = Some(Trustee::all()[index % 3].entrust(Link { _counted: tally.value(), next }));
        }
        let mut end = next.clone().unwrap();
        for _ in 0..10 {
            end = end.apply(|link| link.next.clone()).unwrap();
        }
        drop(next);
        wait_until(|| tally.dropped() == 10);
        assert!(end.apply(|link| link.next.is_some()));
        drop(end);
        wait_until(|| tally.is_even());
        assert_eq!(tally.dropped(), 1000);
    });
}

#[test]
fn properties_in_a_cycle_are_dropped_once_at_the_end() {
    #[derive(NoRef)]
    struct Knot {
        _counted: Counted,
        others: Vec<Trust<Knot>>,
    }
    let tally = Tally::new();
    in_runtime(3, move || {
        let make = |trustee: Trustee| trustee.entrust(Knot { _counted: tally.value(), others: Vec::new() });
        let knots: Vec<_> = Trustee::all().into_iter().map(make).collect();
        for knot in &knots {
            knot.apply_with(|knot, others| knot.others = others, knots.clone());
        }
        drop(knots);
        gossamer::sleep(Duration::from_millis(5));
        assert_eq!(tally.dropped(), 0);
    });
    assert_eq!((tally.made(), tally.dropped()), (3, 3));
}

#[test]
fn indices_of_dropped_properties_are_used_again() {
    near_and_far(|trustee| {
        let (tally, mut largest) = (Tally::new(), 0);
        for round in 0..10_000_u64 {
            let trust = trustee.entrust((tally.value(), round));
            let name = format!("{trust:?}");
            let index = name.split("property ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
            largest = largest.max(index.parse::<usize>().unwrap());
            assert_eq!(trust.apply(|(_, value)| *value), round);
            drop(trust);
            if round % 500 == 499 {
                wait_until(|| tally.is_even());
            }
        }
        assert!(largest < 1000, "{largest}");
    });
}

#[test]
fn a_trust_that_outlives_its_runtime_may_be_cloned_and_dropped() {
    watched(|| {
        let tally = Tally::new();
        let trusts = gossamer::run(workers(2), || {
            Trustee::all().into_iter().map(|trustee| at_home(trustee, tally)).collect::<Vec<_>>()
        });
        assert_eq!(tally.dropped(), 2);
        let clones = trusts.clone();
        drop(trusts);
        assert!(clones[0].try_apply(|property| property.home).is_err());
        drop(clones);
        assert_eq!((tally.made(), tally.dropped()), (2, 2));
    });
}

#[test]
fn forgotten_trusts_leave_their_properties_to_the_end() {
    let tally = Tally::new();
    in_runtime(2, move || {
        for trustee in Trustee::all() {
            keep_for_ever(at_home(trustee, tally));
        }
        assert_eq!(tally.dropped(), 0);
    });
    assert_eq!((tally.made(), tally.dropped()), (2, 2));
}
