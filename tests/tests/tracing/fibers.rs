//! Which spans fibers of one worker are in, before and after they wait.

use crate::collected::{collect, current};
use gossamer::{Trustee, spawn_local, yield_now};
use integration_tests::in_runtime;
use std::mem;
use tracing::info_span;

#[test]
fn a_guard_is_held_over_waits_and_no_other_fiber_sees_its_span() {
    collect();
    in_runtime(1, || {
        let [one, other] = [info_span!("one"), info_span!("other")];
        let inner = info_span!("inner");
        let fibers = [(one, "one"), (other, "other")].map(|(span, name)| {
            let inner = inner.clone();
            spawn_local(move || {
                let _outer = span.enter();
                for _ in 0..3 {
                    let same = span.enter(); // twice, as recursion does
                    let within = inner.enter();
                    yield_now();
                    assert_eq!(current(), "inner");
                    drop(within);
                    yield_now();
                    assert_eq!(current(), name);
                    drop(same);
                    yield_now();
                    assert_eq!(current(), name);
                }
            })
        });
        for fiber in fibers {
            while !fiber.is_finished() {
                assert_eq!(current(), "");
                yield_now();
            }
            fiber.join();
        }
    });
}

#[gossamer::delegate]
#[test]
fn what_is_awaited_from_a_trustee_leaves_the_span_meanwhile() {
    collect();
    in_runtime(2, || {
        let there = Trustee::all()[1].entrust(0_u64);
        let watcher = spawn_local(|| {
            (0..100).for_each(|_| {
                assert_eq!(current(), "");
                yield_now();
            })
        });
        info_span!("awaiting").in_scope(|| {
            while !watcher.is_finished() {
                there.apply(|count| *count += 1);
                assert_eq!(current(), "awaiting");
            }
        });
        watcher.join();
    });
}

#[test]
fn a_guard_that_a_fiber_forgets_is_left_with_its_end() {
    collect();
    in_runtime(1, || {
        spawn_local(|| mem::forget(info_span!("forgotten").entered())).join();
        assert_eq!(current(), "");
        spawn_local(|| assert_eq!(current(), "")).join();
    });
}

#[test]
fn spans_of_a_thread_are_none_of_the_fibers_of_a_runtime_that_it_starts() {
    collect();
    let outer = info_span!("outer").entered();
    assert_eq!(gossamer::run(integration_tests::workers(1), current), "");
    assert_eq!(current(), "outer");
    drop(outer);
    assert_eq!(current(), "");
}

#[test]
fn a_subscriber_that_panics_or_waits_when_a_fiber_waits_does_no_harm() {
    collect();
    in_runtime(1, || {
        for span in [info_span!("panics when it is left"), info_span!("waits when it is left")] {
            let fiber = spawn_local(move || {
                let name = span.metadata().map_or("", |span| span.name());
                let entered = span.entered();
                for _ in 0..3 {
                    yield_now();
                    assert_eq!(current(), name);
                }
                mem::forget(entered); // or its end would panic in this very fiber
                name
            });
            while !fiber.is_finished() {
                assert_eq!(current(), "");
                yield_now();
            }
            assert!(fiber.join().ends_with("when it is left"));
            assert_eq!(current(), "");
        }
    });
}
