//! When a property that other nodes have known is dropped: after everything that their workers have sent to it.

use gossamer::{Trust, Trustee, rack, spawn_on_with};
use integration_tests::{on_nodes, wait_until};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How many requests a property had been sent when it is dropped.
struct Served(usize);

static SERVED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Drop for Served {
    fn drop(&mut self) {
        SERVED.lock().unwrap().push(self.0);
    }
}

#[gossamer::delegate]
#[test]
fn requests_of_any_workers_of_many_nodes_are_served_before_their_property_is_dropped() {
    on_nodes(6, 2, || {
        let all = Trustee::all();
        SERVED.lock().unwrap().clear();
        for round in 0..24 {
            let property = all[5 * round % all.len()].entrust_with(const { |()| Served(0) }, ());
            // Few workers at first, so that most have no lane to the trustee; later more.
            let some: Vec<_> = all.iter().skip(round % 5).step_by(1 + (24 - round) / 4).collect();
            for there in &some {
                let ask = const {
                    |property: Trust<Served>| {
                        (0..20).for_each(|_| property.apply_then(|served| served.0 += 1, drop));
                    }
                };
                let _detached = spawn_on_with(**there, ask, property.clone());
            }
            drop(property);
            wait_until(|| SERVED.lock().unwrap().len() == round + 1);
            assert_eq!(SERVED.lock().unwrap()[round], 20 * some.len());
        }
    });
}

#[gossamer::delegate]
#[test]
fn requests_that_wait_for_room_are_served_though_another_worker_drops_the_last_trust() {
    /// So large that few fit in a batch, and so many that they take the trustee many turns.
    type Large = [u64; 64];
    const REQUESTS: usize = 1500;
    static LATE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    struct Slow(usize);
    impl Drop for Slow {
        fn drop(&mut self) {
            LATE.lock().unwrap().push(self.0);
        }
    }
    on_nodes(4, 2, || {
        LATE.lock().unwrap().clear();
        for node in 1..4 {
            let workers = rack::nodes()[node].workers();
            let (sender, dropper) = (workers[node % 2].entrust(()), workers[1 - node % 2].entrust(()));
            // The lane by which the last trust is given back exists before the lane of the requests, and so is served
            // first.
            let early = gossamer::entrust(0);
            dropper.apply_with(|_, early: Trust<i32>| early.apply_then(|count| *count += 1, drop), early);
            let property = Trustee::here().entrust_with(const { |()| Slow(0) }, ());
            // A delegated closure does not wait for room: its requests are queued.
            let send = const {
                |_: &mut (), (property, dropper): (Trust<Slow>, Trust<()>)| {
                    for number in 0..REQUESTS {
                        let serve = const {
                            |slow: &mut Slow, numbers: Large| {
                                let begin = Instant::now();
                                while begin.elapsed() < Duration::from_micros(10) {}
                                slow.0 += numbers.len() / 64;
                            }
                        };
                        property.apply_with_then(serve, [number as u64; 64], drop);
                    }
                    dropper.apply_with_then(|_, property: Trust<Slow>| drop(property), property, drop);
                }
            };
            sender.apply_with_then(send, (property, dropper), drop);
            wait_until(|| LATE.lock().unwrap().len() == node);
            assert_eq!(LATE.lock().unwrap()[node - 1], REQUESTS);
        }
    });
}

#[gossamer::delegate]
#[test]
fn trustees_of_all_nodes_drop_their_properties_at_the_same_time() {
    on_nodes(5, 2, || {
        let all = Trustee::all();
        let dropped = gossamer::entrust(0_usize);
        /// Reports to another property when it is dropped.
        struct Telling(Trust<usize>);
        impl Drop for Telling {
            fn drop(&mut self) {
                self.0.apply_then(|dropped| *dropped += 1, drop);
            }
        }
        for round in 1..=5 {
            let make = const { |dropped: Trust<usize>| Telling(dropped) };
            let properties: Vec<Trust<Telling>> =
                all.iter().map(|there| there.entrust_with(make, dropped.clone())).collect();
            for there in &all {
                let use_all = const {
                    |properties: Vec<Trust<Telling>>| {
                        properties.iter().for_each(|property| property.apply_then(|_| (), drop));
                    }
                };
                let _detached = spawn_on_with(*there, use_all, properties.clone());
            }
            drop(properties);
            wait_until(|| dropped.apply(|dropped| *dropped) == round * all.len());
        }
    });
}
