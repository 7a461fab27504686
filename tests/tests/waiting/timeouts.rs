//! `timeout`, and timers as futures.

use gossamer::{Trust, Trustee, block_on, entrust, sleep_async, spawn_on_with, timeout, timeout_async};
use integration_tests::{in_runtime, near_and_far, wait_until};
use std::future::{pending, ready};
use std::io;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(3600);

#[test]
fn what_is_ready_in_time_comes_and_what_is_not_is_an_error_with_the_time() {
    near_and_far(|there| {
        let number = there.entrust(3_u64);
        assert_eq!(timeout(LONG, number.apply_async(|number| *number)), Ok(3));
        assert_eq!(timeout(Duration::ZERO, ready(1)), Ok(1));
        let begun = Instant::now();
        let elapsed = timeout(SHORT, pending::<()>()).unwrap_err();
        assert!(begun.elapsed() >= SHORT);
        assert_eq!((elapsed.to_string(), elapsed.duration()), ("not ready after 5ms".into(), SHORT));
        assert_eq!(io::Error::from(elapsed).kind(), io::ErrorKind::TimedOut);
        assert_eq!(timeout(Duration::MAX, ready(2)), Ok(2));
    });
}

#[test]
fn what_timed_out_is_served_all_the_same_and_may_be_asked_again() {
    in_runtime(2, || {
        let there = Trustee::all()[1];
        let (count, gate) = (there.entrust(0_u64), gossamer::sync::Notify::new());
        let body = |(count, gate): (Trust<u64>, gossamer::sync::Notify)| {
            gate.notified();
            count.apply(|count| *count += 1);
        };
        let mut fiber = spawn_on_with(there, body, (count.clone(), gate.clone()));
        assert!(timeout(SHORT, &mut fiber).is_err());
        gate.notify_one();
        assert_eq!(timeout(LONG, fiber), Ok(()));
        assert_eq!(count.apply(|count| *count), 1);
    });
}

#[test]
fn timers_that_nobody_awaits_any_more_are_gone_wherever_they_were_dropped() {
    in_runtime(2, || {
        let mut sleeps: Vec<_> = (0..100).map(|_| sleep_async(LONG)).collect();
        for sleep in &mut sleeps {
            assert!(timeout(Duration::ZERO, sleep).is_err());
        }
        let far = sleeps.split_off(50);
        drop(sleeps);
        let thread = std::thread::spawn(move || drop(far));
        wait_until(|| thread.is_finished());
        thread.join().unwrap();
    });
}

#[test]
fn a_timer_moves_from_a_fiber_to_a_thread_and_back() {
    in_runtime(1, || {
        let mut sleep = sleep_async(Duration::from_secs(2));
        assert!(timeout(Duration::ZERO, &mut sleep).is_err());
        let thread = std::thread::spawn(move || {
            assert!(timeout(Duration::from_millis(1), &mut sleep).is_err());
            sleep
        });
        wait_until(|| thread.is_finished());
        block_on(thread.join().unwrap());
    });
}

#[test]
fn timeouts_nest_in_async_code() {
    in_runtime(1, || {
        let number = entrust(1_u64);
        let outcome = block_on(async {
            let inner = timeout_async(SHORT, pending::<()>()).await;
            (inner.is_err(), timeout_async(LONG, number.apply_async(|number| *number)).await)
        });
        assert_eq!(outcome, (true, Ok(1)));
    });
}
