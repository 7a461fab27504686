//! Requests of one fiber to one trustee are served in the order in which they were sent.

use fastrand::Rng;
use gossamer::{Pending, Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{in_runtime, near_and_far, watched, workers};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

thread_local! {
    /// A property that keeps, for each sender, the number that comes next.
    static NEXT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A delegated closure that checks that the numbers of each sender come in order, over all properties of a trustee.
fn take(_: &mut u8, (sender, number): (usize, u64)) -> u64 {
    NEXT.with_borrow_mut(|next| {
        if next.len() <= sender {
            next.resize(sender + 1, 0);
        }
        assert_eq!(next[sender], number, "sender {sender}");
        next[sender] += 1;
    });
    number
}

/// Sends `count` numbers in every possible way, in a random mix.
fn send_in_every_way(properties: &[Trust<u8>], sender: usize, count: u64) {
    let mut random = Rng::with_seed(sender as u64);
    let called = Arc::new(AtomicU64::new(0));
    let mut callbacks = 0;
    let mut pending: Vec<(u64, Pending<u64>)> = Vec::new();
    for number in 0..count {
        // Properties of one trustee: the order holds for all of them together.
        let property = &properties[random.usize(..properties.len())];
        match random.u8(..10) {
            8 | 9 => property.apply_with_unawaited(|p, own| _ = take(p, own), (sender, number)),
            0 => assert_eq!(property.apply_with(take, (sender, number)), number),
            1 => assert_eq!(property.try_apply_with(take, (sender, number)), Ok(number)),
            2 | 3 => pending.push((number, property.apply_with_async(take, (sender, number)))),
            // A large argument, and one with a large result: they fill a batch early.
            4 => {
                let large = ((sender, number), [number; 30]);
                property.apply_with_then(|p, (own, _): (_, [u64; 30])| take(p, own), large, drop);
            }
            5 => property.apply_with_then(|p, own| [take(p, own); 30], (sender, number), drop),
            _ => {
                let (called, expected) = (Arc::clone(&called), callbacks);
                callbacks += 1;
                property.apply_with_then(take, (sender, number), move |result| {
                    assert_eq!(result, number);
                    // Callbacks come in order, too.
                    assert_eq!(called.fetch_add(1, Ordering::Relaxed), expected);
                });
            }
        }
        if random.u8(..50) == 0 {
            for (number, pending) in pending.drain(..) {
                assert_eq!(pending.wait(), number);
            }
            gossamer::yield_now();
        }
    }
    pending.into_iter().for_each(|(number, pending)| assert_eq!(pending.wait(), number));
    properties[0].apply(|_| ());
    assert_eq!(called.load(Ordering::Relaxed), callbacks);
}

/// Numbers of senders, which differ over all tests and their fibers.
fn new_sender() -> usize {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) as usize
}

#[test]
fn requests_of_one_fiber_to_one_trustee_are_served_in_order_however_they_are_sent() {
    near_and_far(|trustee| {
        let properties: Vec<_> = (0..3).map(|_| trustee.entrust(0_u8)).collect();
        let fibers: Vec<_> = (0..20)
            .map(|_| {
                let body = |(properties, sender): (Vec<Trust<u8>>, usize)| {
                    send_in_every_way(&properties, sender, 2000);
                };
                spawn_on_with(Trustee::here(), body, (properties.clone(), new_sender()))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
    });
}

#[test]
fn what_a_fiber_sends_without_waiting_is_served_before_what_it_waits_for() {
    near_and_far(|trustee| {
        let list = trustee.entrust(Vec::<u32>::new());
        for round in 0..100 {
            list.apply_with_then(|list, round| list.push(round), round, |()| ());
            assert_eq!(list.apply(|list| list.last().copied()), Some(round));
        }
    });
}

#[test]
fn what_nobody_waits_for_is_served_before_what_the_fiber_waits_for() {
    near_and_far(|trustee| {
        let list = trustee.entrust(Vec::<u32>::new());
        for round in 0..1000 {
            // Behind a request that goes by the lane even to the worker's own trustee.
            if round % 3 == 0 {
                list.apply_with_then(|list, round| list.push(round), round, |()| ());
            } else {
                list.apply_with_unawaited(|list, round| list.push(round), round);
            }
            if round % 10 == 9 {
                assert!(list.apply(|list| list.iter().copied().eq(0..list.len() as u32)));
                assert_eq!(list.apply(|list| list.len()), round as usize + 1);
            }
        }
    });
}

#[test]
fn what_nobody_waits_for_does_not_borrow_a_property_that_is_in_use() {
    in_runtime(1, || {
        let list = entrust(Vec::<u32>::new());
        let again = |list: &mut Vec<u32>, own: Trust<Vec<u32>>| {
            own.apply_unawaited(|list| list.push(2));
            list.push(1);
        };
        list.apply_with_unawaited(again, list.clone());
        assert_eq!(list.apply(|list| list.clone()), [1, 2]);
        list.apply_then(|_| (), {
            let list = list.clone();
            move |()| list.apply_unawaited(|list| list.push(3)) // a callback cannot wait
        });
        list.apply(|_| ());
        integration_tests::wait_until(|| {
            gossamer::yield_now();
            list.apply(|list| list.len()) == 3
        });
    });
}

#[test]
fn requests_of_one_foreign_thread_are_served_in_order() {
    in_runtime(2, || {
        let threads: Vec<_> = Trustee::all()
            .into_iter()
            .map(|trustee| {
                let list = trustee.entrust(Vec::<u64>::new());
                std::thread::spawn(move || {
                    let pending: Vec<_> = (0..2000)
                        .map(|number| list.apply_with_async(|list, number| list.push(number), number))
                        .collect();
                    assert_eq!(list.apply(|list| list.len()), 2000);
                    pending.into_iter().for_each(Pending::wait);
                    assert!(list.apply(|list| list.iter().copied().eq(0..2000)));
                })
            })
            .collect();
        integration_tests::wait_until(|| threads.iter().all(|thread| thread.is_finished()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn requests_of_callbacks_are_served_in_order() {
    near_and_far(|trustee| {
        fn next(list: Trust<Vec<u64>>, number: u64, done: mpsc::Sender<()>) {
            if number == 3000 {
                return done.send(()).unwrap();
            }
            // Three per callback, so that the lane fills and requests queue behind it.
            for number in number..number + 3 {
                list.apply_with_then(|list, number| list.push(number), number, |()| ());
            }
            let again = list.clone();
            list.apply_then(|_| (), move |()| next(again, number + 3, done));
        }
        let list = trustee.entrust(Vec::<u64>::new());
        let (done, finished) = mpsc::channel();
        next(list.clone(), 0, done);
        integration_tests::wait_until(|| finished.try_recv().is_ok());
        assert!(list.apply(|list| list.iter().copied().eq(0..3000)));
    });
}

#[test]
fn fibers_spawned_on_one_worker_start_in_order() {
    watched(|| {
        gossamer::run(workers(2), || {
            for trustee in Trustee::all() {
                let list = entrust(Vec::<u64>::new());
                let fibers: Vec<_> = (0..1000_u64)
                    .map(|number| {
                        let body = |(list, number): (Trust<Vec<u64>>, u64)| {
                            list.apply_with_then(|list, number| list.push(number), number, |()| ());
                        };
                        trustee.spawn_with(body, (list.clone(), number))
                    })
                    .collect();
                fibers.into_iter().for_each(|fiber| fiber.join());
                gossamer::sleep(std::time::Duration::from_millis(1));
                integration_tests::wait_until(|| list.apply(|list| list.len()) == 1000);
                assert!(list.apply(|list| list.iter().copied().eq(0..1000)));
            }
        });
    });
}
