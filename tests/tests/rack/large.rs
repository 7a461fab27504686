//! Values too large for a slot, to slow trustees: their senders find the fabric busy.

use gossamer::{Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{far, on_nodes, wait_until};
use std::thread;
use std::time::Duration;

/// More than any fabric keeps under way.
const LARGE: usize = 3 << 20;

fn filled(number: u8) -> Vec<u8> {
    vec![number; LARGE + usize::from(number)]
}

#[gossamer::delegate]
#[test]
fn large_values_of_many_fibers_go_to_a_slow_trustee_and_back() {
    on_nodes(2, 1, || {
        let count = far().entrust(0_u64);
        let there_and_back = |number: u8| {
            let send = |(count, number): (Trust<u64>, u8)| {
                let back = count.apply_with(
                    |count, bytes: Vec<u8>| {
                        *count += 1;
                        thread::sleep(Duration::from_millis(20));
                        bytes
                    },
                    filled(number),
                );
                assert!(back == filled(number), "{number} came back changed");
            };
            spawn_on_with(Trustee::here(), send, (count.clone(), number))
        };
        let fibers: Vec<_> = (0..6).map(there_and_back).collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        assert_eq!(count.apply(|count| *count), 6);
    });
}

#[gossamer::delegate]
#[test]
fn large_arguments_of_a_callback_keep_their_place_behind_a_slow_closure() {
    on_nodes(2, 1, || {
        let log = far().entrust(Vec::<usize>::new());
        log.apply_then(|_| thread::sleep(Duration::from_millis(200)), drop);
        let again = log.clone();
        entrust(()).apply_then(
            |()| (),
            move |()| {
                again.apply_with_then(|log, bytes: Vec<u8>| log.push(bytes.len()), filled(1), drop);
                again.apply_with_then(|log, number: usize| log.push(number), 7, drop);
                again.apply_with_then(|log, bytes: Vec<u8>| log.push(bytes.len()), filled(2), drop);
            },
        );
        wait_until(|| log.apply(|log| log.len()) == 3);
        assert_eq!(log.apply(|log| log.clone()), [LARGE + 1, 7, LARGE + 2]);
    });
}
