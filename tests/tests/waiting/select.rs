//! `select!`: the first of several.

use gossamer::sync::{Notify, mpsc};
use gossamer::{Trustee, entrust, select, sleep_async, spawn_on_with, spawn_with, yield_now};
use integration_tests::{Tally, in_runtime, near_and_far, panic_text, wait_until};
use std::future::{pending, ready};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn the_first_that_is_ready_wins_and_the_others_are_dropped_before_its_handler_runs() {
    near_and_far(|there| {
        let number = there.entrust(7_u64);
        let tally = Tally::new();
        let counted = tally.value();
        let chosen = select! {
            number = number.apply_async(|number| *number) => {
                assert_eq!(tally.dropped(), 1);
                number
            }
            _ = async move {
                let _counted = counted;
                pending::<()>().await;
            } => 0,
            _ = sleep_async(LONG) => 1,
        };
        assert_eq!(chosen, 7);
    });
}

#[test]
fn handlers_are_code_of_the_fiber() {
    fn first_even(mut numbers: mpsc::Receiver<u64>) -> Result<u64, String> {
        loop {
            select! {
                number = numbers.recv_async() => match number {
                    Some(number) if number % 2 == 1 => continue,
                    Some(0) => Err("zero")?,
                    Some(number) => {
                        yield_now(); // it may block
                        numbers.close(); // and use what the future had borrowed
                        return Ok(number);
                    }
                    None => break,
                },
                _ = sleep_async(LONG) => return Err("too late".into()),
            }
        }
        Err("the end".into())
    }
    in_runtime(1, || {
        let outcomes = [vec![1, 3, 4, 5], vec![1, 0], vec![1]].map(|numbers| {
            let (sender, receiver) = mpsc::channel(8);
            let feed = |(sender, numbers): (mpsc::Sender<u64>, Vec<u64>)| {
                numbers.into_iter().for_each(|number| sender.try_send(number).unwrap_or(()));
            };
            let feeder = spawn_with(feed, (sender, numbers));
            let outcome = first_even(receiver);
            feeder.join();
            outcome
        });
        assert_eq!(outcomes, [Ok(4), Err("zero".into()), Err("the end".into())]);
    });
}

#[test]
fn of_several_that_are_ready_each_has_its_turn_unless_the_order_counts() {
    in_runtime(1, || {
        let mut chosen = [0; 3];
        for _ in 0..300 {
            let arm = select! { _ = ready(()) => 0, _ = ready(()) => 1, _ = ready(()) => 2 };
            chosen[arm] += 1;
        }
        assert_eq!(chosen, [100; 3]);
        for _ in 0..10 {
            assert_eq!(
                select! { biased; _ = pending::<()>() => 0, _ = ready(()) => 1, _ = ready(()) => 2 },
                1
            );
        }
    });
}

#[test]
fn an_arm_whose_condition_is_false_makes_no_future() {
    in_runtime(1, || {
        let mut left = Some(ready(5));
        let mut seen = Vec::new();
        for _ in 0..2 {
            let value = select! {
                value = left.take().unwrap(), if left.is_some() => value,
                else => 0,
            };
            seen.push(value);
        }
        assert_eq!(seen, [5, 0]);
        let text = panic_text(|| select! { _ = ready(()), if false => () });
        assert!(text.contains("no arm of `select!` takes part"), "{text}");
    });
}

#[test]
fn a_future_by_reference_is_asked_again() {
    in_runtime(2, || {
        let ticks = entrust(0_u64);
        let mut fiber = spawn_on_with(
            Trustee::all()[1],
            |ticks: gossamer::Trust<u64>| while ticks.apply(|ticks| *ticks) < 3 {},
            ticks.clone(),
        );
        loop {
            select! {
                () = &mut fiber => break,
                () = sleep_async(Duration::from_millis(1)) => ticks.apply(|ticks| *ticks += 1),
            }
        }
        assert!(ticks.apply(|ticks| *ticks) >= 3);
    });
}

#[test]
fn a_thread_that_is_no_worker_selects_as_a_fiber_does() {
    in_runtime(1, || {
        let (number, stop) = (entrust(1_u64), Notify::new());
        let seen = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut sum = 0;
            for _ in 0..100 {
                sum += select! {
                    number = number.apply_async(|number| *number) => number,
                    _ = sleep_async(LONG) => 0,
                };
            }
            select! { () = seen.notified_async() => sum, _ = sleep_async(LONG) => 0 }
        });
        stop.notify_one();
        wait_until(|| thread.is_finished());
        assert_eq!(thread.join().unwrap(), 100);
    });
}

#[test]
fn a_delegated_closure_cannot_select() {
    in_runtime(1, || {
        let text = panic_text(|| entrust(1).apply(|_| select! { () = ready(()) => () }));
        assert!(text.contains("inside a delegated closure"), "{text}");
    });
}
