//! Values too large for a slot, to slow trustees: their senders find the fabric busy.

use gossamer::{JoinHandle, Trust, Trustee, entrust, rack, spawn_local, spawn_on, spawn_on_with};
use integration_tests::{far, isolated, on_nodes, resident_bytes, wait_until};
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

/// Results that are asked for at the same time, and their size: 800 MB in all.
const ASKED: usize = 4000;
const RESULT: usize = 200_000;

#[gossamer::delegate]
fn ask_for_many() {
    let bytes = far().entrust(vec![7_u8; RESULT]);
    let before = resident_bytes();
    let mut fibers = Vec::new();
    for _ in 0..ASKED {
        let bytes = bytes.clone();
        fibers.push(spawn_on(Trustee::here(), move || {
            assert_eq!(bytes.apply(|bytes| bytes.clone()), vec![7; RESULT]);
            resident_bytes()
        }));
    }
    let most = fibers.into_iter().map(JoinHandle::join).max();
    let grown = most.unwrap().saturating_sub(before);
    assert!(grown < ASKED * RESULT / 2, "{grown} bytes for {ASKED} results of {RESULT}");
}

#[test]
fn results_that_are_asked_for_faster_than_they_can_be_sent_are_not_all_in_memory() {
    isolated(|| on_nodes(2, 1, ask_for_many));
}

/// Asks for results of all trustees, in a way that can wait and in one that cannot.
#[gossamer::delegate]
fn ask_all(sources: &[Trust<Vec<u8>>], arrived: &Trust<usize>) {
    for _ in 0..60 {
        for bytes in sources {
            let (bytes, arrived) = (bytes.clone(), arrived.clone());
            bytes.apply_then(
                |bytes| bytes.clone(),
                move |bytes| {
                    assert_eq!(bytes.len(), RESULT);
                    arrived.apply_unawaited(|arrived| *arrived += 1);
                },
            );
        }
    }
}

#[gossamer::delegate]
fn ask_each_other() {
    let all = Trustee::all();
    let sources: Vec<_> = all.iter().map(|there| there.entrust(vec![7_u8; RESULT])).collect();
    let arrived = entrust(0);
    for there in &all {
        let (own, others) = (sources.clone(), arrived.clone());
        let _detached = spawn_on(*there, move || ask_all(&own, &others));
        let (own, others) = (sources.clone(), arrived.clone());
        there.entrust(()).apply_then(move |()| ask_all(&own, &others), drop);
    }
    wait_until(|| arrived.apply(|arrived| *arrived) == all.len() * all.len() * 120);
}

#[test]
fn nodes_that_ask_each_other_for_more_than_they_can_send_do_not_hold_each_other_up() {
    on_nodes(2, 1, ask_each_other);
    on_nodes(2, 2, ask_each_other);
}

/// Asks this trustee for large results all the time, from many fibers, until `over`.
#[gossamer::delegate]
fn ask_until(over: &Trust<bool>, bytes: &Trust<Vec<u8>>) {
    let ask = || {
        let (over, bytes) = (over.clone(), bytes.clone());
        spawn_local(move || {
            while !over.apply(|over| *over) {
                assert_eq!(bytes.apply(|bytes| bytes.clone()).len(), RESULT);
            }
        })
    };
    let fibers: Vec<_> = (0..64).map(|_| ask()).collect();
    fibers.into_iter().for_each(JoinHandle::join);
}

#[gossamer::delegate]
fn ask_beside_another() {
    let bytes = entrust(vec![7_u8; RESULT]);
    let asking: Vec<_> = rack::nodes()[1]
        .workers()
        .into_iter()
        .map(|there| {
            let (bytes, over) = (bytes.clone(), there.entrust(false));
            let own = over.clone();
            (over, spawn_on(there, move || ask_until(&own, &bytes)))
        })
        .collect();
    // Whichever of them was first.
    for (over, fibers) in asking {
        let bytes = bytes.clone();
        spawn_on(over.trustee(), move || {
            for _ in 0..20 {
                assert_eq!(bytes.apply(|bytes| bytes.clone()).len(), RESULT);
            }
        })
        .join();
        over.apply(|over| *over = true);
        fibers.join();
    }
}

#[test]
fn a_worker_that_asks_for_results_all_the_time_does_not_keep_them_from_another_of_its_node() {
    on_nodes(2, 2, ask_beside_another);
}
