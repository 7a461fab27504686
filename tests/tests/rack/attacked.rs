//! What an attack on the rack found, each find as a test.

use gossamer::{
    DelegationError, Encoder, Latch, NoRef, Reason, Trust, Trustee, entrust, rack, spawn_on_with,
};
use integration_tests::{fabrics, far, on_nodes, panic_text, wait_until, watched, workers};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[gossamer::delegate]
#[test]
fn collectives_are_called_on_any_worker() {
    watched(|| gossamer::run(workers(2), || spawn_on_with(far(), |()| rack::barrier(), ()).join()));
    on_nodes(2, 3, || {
        let meet = const { |me: usize| rack::gather(me) };
        let second = Trustee::all()[1];
        let (one, other) = (spawn_on_with(second, meet, 1), spawn_on_with(far(), meet, 5));
        assert_eq!((one.join(), other.join()), (vec![1, 5], vec![1, 5]));
    });
}

#[gossamer::delegate]
#[test]
fn trusts_that_are_gathered_or_broadcast_are_each_node_s_own() {
    watched(|| {
        gossamer::run(workers(1), || {
            let trusts = rack::gather(entrust(5_u64));
            assert_eq!(trusts[0].apply(|number| *number), 5);
        });
    });
    on_nodes(3, 1, || {
        let counts = rack::on_each_node(
            |()| {
                let own = entrust(rack::this_node().index());
                let all = rack::gather(own);
                let first = rack::broadcast(Some(entrust(String::from("shared"))));
                rack::barrier();
                // The other nodes drop theirs at different times.
                gossamer::sleep(Duration::from_millis(5 * rack::this_node().index() as u64));
                let sum: usize = all.iter().map(|number| number.apply(|number| *number)).sum();
                (sum, first.apply(|text| text.len()))
            },
            (),
        );
        assert_eq!(counts, [(3, 6); 3]);
    });
}

#[gossamer::delegate]
#[test]
fn nodes_that_come_to_different_collectives_are_told() {
    on_nodes(2, 1, || {
        let texts = rack::on_each_node(
            |()| match rack::this_node().index() {
                0 => panic_text(|| rack::gather(7_u8)),
                _ => panic_text(|| rack::gather(true)),
            },
            (),
        );
        for text in texts {
            assert!(text.contains("rack::gather::<u8>") && text.contains("rack::gather::<bool>"), "{text}");
        }
    });
}

#[gossamer::delegate]
#[test]
fn main_ends_while_a_node_waits_in_a_barrier_that_others_never_come_to() {
    on_nodes(2, 1, || {
        let _detached = spawn_on_with(far(), |()| rack::barrier(), ());
        gossamer::sleep(Duration::from_millis(20));
    });
}

#[gossamer::delegate]
#[test]
fn a_property_is_not_dropped_while_a_request_of_a_thread_of_another_node_is_on_its_way() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    on_nodes(2, 2, || {
        for _ in 0..300 {
            let before = SERVED.load(SeqCst);
            let here = entrust(String::from("the one"));
            let there = rack::nodes()[1].workers();
            let from_a_thread = const {
                |trust: Trust<String>| {
                    let again = trust.clone();
                    std::thread::spawn(move || {
                        let _unawaited = again.apply_async(|text| {
                            assert_eq!(text, "the one");
                            SERVED.fetch_add(1, SeqCst);
                        });
                    });
                    drop(trust);
                }
            };
            spawn_on_with(there[1], from_a_thread, here).join();
            // Takes the index if it is free.
            let _other = entrust(String::from("another"));
            wait_until(|| SERVED.load(SeqCst) > before);
        }
    });
}

/// Panics when it is encoded.
struct Unencodable;

// SAFETY: it holds nothing.
unsafe impl NoRef for Unencodable {
    fn encode(self, _to: &mut Encoder) {
        panic!("not to be encoded");
    }
}

/// Cannot be compared, and so cannot be a key of a map that is decoded.
#[derive(NoRef, Debug, PartialEq, Eq)]
struct Incomparable(u8);

impl PartialOrd for Incomparable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Incomparable {
    fn cmp(&self, _other: &Self) -> Ordering {
        panic!("not to be compared");
    }
}

fn is_panic(error: &DelegationError, text: &str) -> bool {
    matches!(error.reason(), Reason::Panicked { .. }) && error.to_string().contains(text)
}

#[gossamer::delegate]
#[test]
fn code_of_the_program_that_panics_while_values_are_encoded_or_decoded_is_heard_of() {
    on_nodes(2, 1, || {
        let there = far().entrust(0_u8);
        let error = spawn_on_with(far(), |()| Unencodable, ()).try_join().map(|_| ()).unwrap_err();
        assert!(is_panic(&error, "not to be encoded"), "{error}");
        let error = there.try_apply(|_| Unencodable).map(|_| ()).unwrap_err();
        assert!(is_panic(&error, "not to be encoded"), "{error}");
        // A vector of pairs has the same bytes as a map; decoding a map compares two keys.
        let incomparable = const {
            |_: &mut u8| {
                let mut map = BTreeMap::new();
                map.insert(Incomparable(1), [0_u8; 500]);
                map
            }
        };
        assert_eq!(there.try_apply(incomparable).unwrap().len(), 1);
        let many = gossamer::spawn_many_with(4, |_, ()| Unencodable, ()).try_join();
        assert!(many.iter().any(|result| result.is_err()));
        there.apply(|_| ());
    });
}

#[gossamer::delegate]
#[test]
fn a_trust_that_did_not_leave_its_node_is_given_back() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Witness;
    impl Drop for Witness {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    struct Stays;
    // SAFETY: it holds nothing.
    unsafe impl NoRef for Stays {}
    on_nodes(2, 1, || {
        let (there, before) = (far().entrust(0_u8), DROPS.load(SeqCst));
        let refused = there.try_apply_with(|_, _: (Trust<Witness>, Stays)| (), (entrust(Witness), Stays));
        assert!(refused.is_err());
        let panicked = panic_text(|| {
            there.apply_with(|_, _: (Trust<Witness>, Unencodable)| (), (entrust(Witness), Unencodable))
        });
        assert!(panicked.contains("not to be encoded"), "{panicked}");
        let result = there.try_apply(|_| (entrust(Witness), Stays)).map(|_| ());
        assert!(result.is_err());
        wait_until(|| DROPS.load(SeqCst) == before + 3);
    });
}

#[gossamer::delegate]
#[test]
fn a_fiber_that_could_not_be_asked_for_does_not_keep_the_runtime() {
    on_nodes(2, 1, || {
        let text = panic_text(|| spawn_on_with(far(), |_: Unencodable| (), Unencodable).join());
        assert!(text.contains("not to be encoded"), "{text}");
    });
    watched(|| {
        rack::run_in_process(2, workers(1).backlog(1), || {
            let there = far().entrust(());
            there.apply_then(
                |_| (),
                |()| {
                    let start = || {
                        for _ in 0..100_000 {
                            let _detached = spawn_on_with(far(), |text: String| text.len(), "x".repeat(500));
                        }
                    };
                    assert!(panic_text(start).contains("Config::backlog"));
                },
            );
            there.apply(|_| ());
        });
    });
}

#[gossamer::delegate]
#[test]
fn fibers_that_send_without_end_are_cancelled_when_main_returns() {
    on_nodes(2, 1, || {
        let there = far().entrust(Latch::new(0_usize));
        for kind in 0..4_u8 {
            let send = |(kind, there): (u8, Trust<Latch<usize>>)| -> () {
                loop {
                    match kind {
                        0 => drop(spawn_on_with(far(), |bytes: Vec<u8>| bytes.len(), vec![0; 1 << 20])),
                        1 => there.launch_with_then(|sum, by| *sum += by, 1, drop),
                        2 => there.apply_with_then(|_, bytes| drop::<Vec<u8>>(bytes), vec![0; 1 << 20], drop),
                        _ => there.apply_with_then(|_, bytes| drop::<Vec<u8>>(bytes), vec![0; 100], drop),
                    }
                }
            };
            let _detached = spawn_on_with(Trustee::here(), send, (kind, there.clone()));
        }
        gossamer::sleep(Duration::from_millis(100));
    });
}

#[gossamer::delegate]
#[test]
fn threads_that_send_to_another_node_wait_while_there_is_no_room() {
    for fabric in fabrics() {
        watched(move || {
            rack::run_in_process(2, workers(1).backlog(4).fabric(fabric), || {
                let count = far().entrust(0_u64);
                let there = far();
                let threads: Vec<_> = (0..24)
                    .map(|_| {
                        let count = count.clone();
                        std::thread::spawn(move || {
                            for _ in 0..100 {
                                let text = "x".repeat(300);
                                count.apply_with(|count, text| *count += text.len() as u64, text);
                            }
                            there.spawn_with(|number: u64| number, 7).join()
                        })
                    })
                    .collect();
                wait_until(|| threads.iter().all(|thread| thread.is_finished()));
                let joined: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
                assert_eq!((joined, count.apply(|count| *count)), (24 * 7, 24 * 100 * 300));
            });
        });
    }
}

/// Is encoded, but never decoded.
struct OneWay;

// SAFETY: it holds nothing.
unsafe impl NoRef for OneWay {
    fn encode(self, _to: &mut Encoder) {}
}

#[gossamer::delegate]
#[test]
fn a_type_that_refuses_the_bytes_it_gets_fails_its_request_and_no_other() {
    on_nodes(2, 1, || {
        let there = far().entrust(1_u8);
        let error = there.try_apply_with(|_, _: OneWay| (), OneWay).unwrap_err();
        assert!(error.to_string().contains("OneWay"), "{error}");
        let error = there.try_apply(|_| OneWay).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("OneWay"), "{error}");
        assert_eq!(there.apply(|number| *number), 1);
    });
}

#[gossamer::delegate]
#[test]
fn main_ends_while_fibers_of_another_node_send_large_results() {
    on_nodes(2, 1, || {
        for _ in 0..200 {
            let _detached = spawn_on_with(far(), |size| vec![1_u8; size], 20_000);
        }
    });
}

/// Fibers on all workers ask others for something, and then leave them alone for about as long as it takes to fall
/// asleep: a worker that slept through a request or an answer would do so for ever.
#[gossamer::delegate]
#[test]
fn workers_that_fall_asleep_again_and_again_sleep_over_nothing() {
    on_nodes(2, 2, || {
        let counts: Vec<Trust<u64>> = Trustee::all().iter().map(|there| there.entrust(0)).collect();
        let ask = const {
            |me: usize, counts: Vec<Trust<u64>>| {
                for round in 0..100 {
                    let count = &counts[(me + round) % counts.len()];
                    count.apply(|count| *count += 1);
                    gossamer::sleep(Duration::from_micros([0, 60, 900][(me + round) % 3]));
                }
            }
        };
        gossamer::spawn_many_with(9, ask, counts.clone()).join();
        assert_eq!(counts.iter().map(|count| count.apply(|count| *count)).sum::<u64>(), 900);
    });
}
