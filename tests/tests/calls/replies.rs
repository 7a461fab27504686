//! Results of many requests, in the order in which they come.

use gossamer::{Replies, Trustee, entrust, spawn_local, yield_now};
use integration_tests::{Counted, Tally, in_runtime, on_nodes, wait_until};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn each_request_gives_one_reply_under_its_key() {
    in_runtime(3, || {
        let properties: Vec<_> = Trustee::all().iter().map(|there| there.entrust(1_u64)).collect();
        let mut replies = Replies::new();
        let mut seen = vec![0; 3000];
        for round in 0..1000 {
            for (number, property) in properties.iter().enumerate() {
                property.apply_with_into(
                    &replies,
                    round * 3 + number,
                    |one, key| *one + key as u64,
                    round * 3 + number,
                );
            }
            if let Some((key, result)) = replies.try_next() {
                assert_eq!(result, Ok(key as u64 + 1));
                seen[key] += 1;
            }
        }
        while let Some((key, result)) = replies.next() {
            assert_eq!(result, Ok(key as u64 + 1));
            seen[key] += 1;
        }
        assert!(seen.iter().all(|count| *count == 1) && replies.is_empty());
        assert!(replies.next().is_none());
    });
}

#[test]
fn replies_come_in_the_order_in_which_they_arrive_and_not_in_that_of_the_requests() {
    static FAST_HAS_COME: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let (near, far) = (entrust(()), Trustee::all()[1].entrust(()));
        let mut replies = Replies::new();
        let slow = |&mut (): &mut ()| {
            while !FAST_HAS_COME.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        far.apply_into(&replies, "slow", slow);
        near.apply_into(&replies, "fast", |()| ());
        let mut next = || replies.next().map(|(key, _)| key);
        assert_eq!(next(), Some("fast"));
        FAST_HAS_COME.store(true, Ordering::Relaxed);
        assert_eq!((next(), next()), (Some("slow"), None));
    });
}

#[test]
fn a_panic_of_a_closure_is_a_reply_with_its_place() {
    in_runtime(2, || {
        let far = Trustee::all()[1].entrust(vec![1]);
        let mut replies = Replies::new();
        far.apply_into(&replies, 'a', |list| list[5]);
        far.apply_into(&replies, 'b', |list| list[0]);
        let first = replies.next().unwrap();
        let text = first.1.unwrap_err().to_string();
        assert!(
            first.0 == 'a' && text.contains("index out of bounds") && text.contains("replies.rs"),
            "{text}"
        );
        assert_eq!(replies.next().unwrap(), ('b', Ok(1)));
    });
}

#[test]
fn replies_that_are_dropped_drop_keys_and_results_once() {
    in_runtime(2, || {
        let tally = Tally::new();
        let far = Trustee::all()[1].entrust(());
        for taken in [0, 3, 50] {
            let mut replies = Replies::new();
            for _ in 0..50 {
                far.apply_with_into(&replies, tally.value(), |(), value: Counted| value, tally.value());
            }
            for _ in 0..taken {
                drop(replies.next());
            }
            drop(replies);
        }
        wait_until(|| tally.is_even());
        assert_eq!(tally.made(), 300);
    });
}

#[test]
fn a_cancelled_fiber_leaves_its_replies() {
    in_runtime(2, || {
        let far = Trustee::all()[1].entrust(());
        let fiber = spawn_local(move || {
            let mut replies = Replies::new();
            loop {
                far.apply_into(&replies, (), |()| ());
                drop(replies.next());
            }
        });
        yield_now();
        fiber.cancel();
        let outcome: Result<(), _> = fiber.try_join();
        assert!(outcome.is_err());
    });
}

#[test]
fn a_thread_waits_for_each_reply() {
    in_runtime(2, || {
        let far = Trustee::all()[1].entrust(2);
        let thread = thread::spawn(move || {
            let mut replies = Replies::new();
            far.apply_into(&replies, 1, |two| *two);
            far.apply_into(&replies, 2, |two| *two * 2);
            (replies.next().unwrap(), replies.next().unwrap(), replies.next().is_none())
        });
        wait_until(|| thread.is_finished());
        assert_eq!(thread.join().unwrap(), ((1, Ok(2)), (2, Ok(4)), true));
    });
}

#[test]
fn replies_come_from_other_nodes() {
    on_nodes(3, 1, || {
        let properties: Vec<_> =
            Trustee::all().iter().map(|there| there.entrust(String::from("from "))).collect();
        let mut replies = Replies::new();
        for (number, property) in properties.iter().enumerate() {
            property.apply_with_into(
                &replies,
                number,
                const { |text: &mut String, number: usize| format!("{text}{number}") },
                number,
            );
        }
        // It stays on its node, and the error says so.
        properties[1].apply_into(&replies, 7, |text| text.clone());
        let mut all: Vec<_> = std::iter::from_fn(|| replies.next()).collect();
        all.sort_by_key(|(number, _)| *number);
        assert_eq!(all[2].1.as_deref(), Ok("from 2"));
        assert!(all[3].1.is_err() && all.len() == 4);
    });
}
