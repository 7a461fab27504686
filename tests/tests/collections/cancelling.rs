//! What a fiber that is cancelled, or fails to start a loop, leaves behind.

use gossamer::collections::{self, DistQueue, DistVec};
use gossamer::{NoRef, rack, sleep, spawn_local, yield_now};
use integration_tests::{in_runtime, on_nodes};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How often each of the loops has called its closure, in all tests.
static CALLS: [AtomicUsize; 7] = [const { AtomicUsize::new(0) }; 7];

fn call(number: usize) {
    CALLS[number].fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_micros(100));
}

/// Waits until a loop's closure is not called any more. If it is called for ever, the watchdog reports the test.
fn wait_until_quiet(number: usize) {
    let calls = || CALLS[number].load(Ordering::Relaxed);
    let mut before = calls();
    loop {
        sleep(Duration::from_millis(50));
        if calls() == std::mem::replace(&mut before, calls()) {
            return;
        }
    }
}

fn cancel_in(number: usize, body: fn()) {
    let before = CALLS[number].load(Ordering::Relaxed);
    let fiber = spawn_local(body);
    while CALLS[number].load(Ordering::Relaxed) < before + 10 {
        yield_now();
    }
    fiber.cancel();
    assert!(fiber.try_join().is_err(), "loop {number} was cancelled");
    wait_until_quiet(number);
}

#[gossamer::delegate]
fn cancel_in_loops() {
    cancel_in(0, || collections::par_for_each(0..usize::MAX, |_| call(0)));
    cancel_in(1, || {
        collections::par_fold(0..usize::MAX, 0, |sum: u64, _| {
            call(1);
            sum + 1
        });
    });
    cancel_in(2, || DistVec::filled(1_000_000, 0).par_for_each(|_, _| call(2)));
    cancel_in(3, || {
        DistVec::filled(1_000_000, 0).par_map(|_, element: &i32| {
            call(3);
            *element
        });
    });
    cancel_in(4, || {
        let queue = DistQueue::new();
        queue.push(0);
        queue.par_for_each(|item, more: &mut Vec<i32>| {
            call(4);
            more.extend([item, item]);
        });
    });
    cancel_in(5, || {
        let _nothing: Vec<()> = rack::on_each_node(
            |()| loop {
                call(5);
                yield_now();
            },
            (),
        );
    });
}

#[test]
fn a_loop_ends_with_the_fiber_that_is_cancelled_in_it() {
    in_runtime(2, cancel_in_loops);
    on_nodes(2, 1, cancel_in_loops);
}

/// So many clones can be made.
#[derive(NoRef)]
struct Clones(usize);

static CLONES: AtomicUsize = AtomicUsize::new(0);

impl Clone for Clones {
    fn clone(&self) -> Self {
        assert!(CLONES.fetch_add(1, Ordering::Relaxed) != self.0, "planned");
        Self(self.0)
    }
}

#[test]
fn a_loop_whose_arguments_cannot_be_cloned_for_each_worker_is_not_left_running() {
    in_runtime(2, || {
        let start =
            || collections::par_for_each_with(0..usize::MAX, const { |_, _: &Clones| call(6) }, Clones(1));
        assert!(std::panic::catch_unwind(start).is_err());
        wait_until_quiet(6);
    });
}
