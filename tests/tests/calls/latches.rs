//! Latches beyond `launch`: without waiting, with errors, to read, and several at once.

use gossamer::{Latch, Trust, Trustee, entrust, scope, sleep, spawn_local, yield_now};
use integration_tests::{far, in_runtime, near_and_far, on_nodes, panic_text, wait_until};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(1 << 30);

#[test]
fn a_launch_is_awaited_later_or_gives_its_error() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(vec![1, 2]));
        let pending = latch.launch_with_async(
            |list, number| {
                yield_now();
                list.push(number);
                list.len()
            },
            3,
        );
        assert_eq!(pending.wait(), 3);
        let error = latch.try_launch(|list| list[7]).unwrap_err();
        assert!(error.to_string().contains("index out of bounds"), "{error}");
        assert_eq!(latch.try_launch_with(|list, at: usize| list[at], 2), Ok(3));
        assert_eq!(latch.launch_async(|list| list.len()).wait(), 3);
    });
}

#[test]
fn those_who_read_hold_a_latch_at_the_same_time_and_others_alone() {
    near_and_far(|trustee| {
        static READERS: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        MOST.store(0, Ordering::Relaxed);
        let latch = trustee.entrust(Latch::new(0_u64));
        scope(|s| {
            for number in 0..100 {
                let latch = &latch;
                s.spawn(move || {
                    if number % 10 == 9 {
                        latch.launch(|value| {
                            assert_eq!(READERS.load(Ordering::Relaxed), 0);
                            let before = *value;
                            yield_now();
                            assert_eq!(READERS.load(Ordering::Relaxed), 0);
                            *value = before + 1;
                        });
                    } else {
                        latch.launch_read(|value| {
                            let (before, readers) = (*value, READERS.fetch_add(1, Ordering::Relaxed) + 1);
                            MOST.fetch_max(readers, Ordering::Relaxed);
                            sleep(Duration::from_micros(200));
                            READERS.fetch_sub(1, Ordering::Relaxed);
                            assert_eq!(*value, before);
                        });
                    }
                });
            }
        });
        assert_eq!(latch.launch_read_with(|value, more| *value + more, 1), 11);
        assert!(MOST.load(Ordering::Relaxed) > 1, "some read at the same time");
    });
}

#[test]
fn readers_that_keep_coming_do_not_keep_a_writer_out() {
    in_runtime(1, || {
        let latch = entrust(Latch::new(0));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let latch = latch.clone();
                spawn_local(move || {
                    while latch.launch_read(|value| {
                        yield_now();
                        *value
                    }) == 0
                    {}
                })
            })
            .collect();
        yield_now();
        latch.launch(|value| *value = 1);
        readers.into_iter().for_each(|reader| reader.join());
    });
}

#[test]
fn a_writer_that_gives_up_waiting_lets_the_readers_behind_it_in() {
    in_runtime(1, || {
        static RELEASED: AtomicUsize = AtomicUsize::new(0);
        let latch = entrust(Latch::new(()));
        let hold = |latch: &Trust<Latch<()>>| {
            latch.launch_read_with(|(), ()| wait_until(|| RELEASED.load(Ordering::Relaxed) > 0), ())
        };
        let others: Vec<_> = (0..3)
            .map(|number| {
                let latch = latch.clone();
                let fiber = spawn_local(move || match number {
                    0 => hold(&latch),
                    1 => latch.launch(|()| ()),
                    _ => latch.launch_read(|()| ()),
                });
                (0..4).for_each(|_| yield_now());
                fiber
            })
            .collect();
        assert!(others.iter().all(|other| !other.is_finished()));
        RELEASED.store(1, Ordering::Relaxed);
        others.into_iter().for_each(|other| other.join());
    });
}

#[test]
fn several_latches_are_held_at_once_in_whatever_order_they_are_named() {
    near_and_far(|trustee| {
        let accounts: Vec<_> = (0..8).map(|_| trustee.entrust(Latch::new(1000_i64))).collect();
        scope(|s| {
            for number in 0..200_usize {
                let accounts = &accounts;
                s.spawn(move || {
                    let (from, to) = (number % 8, (number * 5 + 3) % 8);
                    if from == to {
                        return;
                    }
                    let both = [accounts[from].clone(), accounts[to].clone()];
                    let transfer = |balances: &mut [&mut i64], coins: i64| {
                        let left = *balances[0] - coins;
                        yield_now();
                        *balances[1] += coins;
                        *balances[0] = left;
                    };
                    Trust::launch_all_with(&both, transfer, number as i64);
                });
            }
        });
        let sum =
            Trust::launch_all(&accounts, |balances| balances.iter().map(|balance| **balance).sum::<i64>());
        assert_eq!(sum, 8000);
    });
}

#[test]
fn latches_that_cannot_be_held_at_once_are_refused() {
    in_runtime(2, || {
        let [one, other] = [0, 1].map(|worker| Trustee::all()[worker].entrust(Latch::new(0)));
        let launch = |latches: &[Trust<Latch<i32>>]| Trust::launch_all(latches, |values| values.len());
        assert!(panic_text(|| launch(&[])).contains("without latches"));
        assert!(
            panic_text(|| launch(&[one.clone(), one.clone()])).contains("the same latch in places 0 and 1")
        );
        let text = panic_text(|| launch(&[one.clone(), other]));
        assert!(text.contains("several trustees") && text.contains("in the same order everywhere"), "{text}");
        let text = panic_text(|| Trust::launch_all(std::slice::from_ref(&one), |values| *values[1]));
        assert!(text.contains("index out of bounds"), "{text}");
        assert_eq!(launch(&[one]), 1);
    });
}

#[test]
fn latches_of_another_node_are_read_and_held_at_once() {
    on_nodes(2, 1, || {
        let latches: Vec<_> = (0..3).map(|number| far().entrust(Latch::new(number))).collect();
        assert_eq!(latches[2].launch_read(const { |value: &i32| *value }), 2);
        let sum = const {
            |values: &mut [&mut i32], more: i32| values.iter().map(|value| **value).sum::<i32>() + more
        };
        assert_eq!(Trust::launch_all_with(&latches, sum, 7), 10);
        assert_eq!(latches[1].launch_async(const { |value: &mut i32| *value }).wait(), 1);
        assert!(latches[1].try_launch(const { |value: &mut i32| assert_eq!(*value, 9) }).is_err());
    });
}

#[test]
fn a_cancelled_reader_leaves_the_latch() {
    in_runtime(1, || {
        let latch = entrust(Latch::new(0));
        let inside = spawn_local({
            let latch = latch.clone();
            move || latch.launch_read(|_| sleep(Duration::from_millis(5)))
        });
        let waits = spawn_local({
            let latch = latch.clone();
            move || latch.launch(|_| sleep(FOR_EVER))
        });
        waits.cancel();
        inside.join();
        assert!(waits.try_join().is_err());
    });
}
