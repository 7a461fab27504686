//! When properties that other nodes have known are dropped: behind all that workers of these have sent.

use gossamer::{Trust, Trustee, spawn_on_with};
use integration_tests::{on_nodes, wait_until};
use std::sync::Mutex;

/// How many requests a property was sent, when it is dropped.
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
fn trustees_of_all_nodes_drop_their_properties_at_the_same_time() {
    on_nodes(5, 2, || {
        let all = Trustee::all();
        let dropped = gossamer::entrust(0_usize);
        /// Tells another that it is dropped.
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
