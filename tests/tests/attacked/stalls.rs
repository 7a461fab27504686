//! Workers whose thread is blocked by something outside of the library: they are reported.

use crate::said::until_it_says;
use gossamer::{Trust, Trustee, yield_now};
use integration_tests::workers;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_once_lock_whose_initialiser_suspends_is_named_when_it_blocks_its_worker() {
    static TABLE: OnceLock<u64> = OnceLock::new();
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let texts = &[
        "worker 0 has stood still for",
        "in the fiber spawned at tests/tests/attacked/stalls.rs:",
        "OnceLock",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(2), || {
                let number = gossamer::entrust(5_u64);
                let get = |number: Trust<u64>| {
                    ASKED.fetch_add(1, Ordering::Relaxed);
                    *TABLE.get_or_init(|| {
                        while ASKED.load(Ordering::Relaxed) < 2 {
                            yield_now();
                        }
                        number.apply(|number| *number)
                    })
                };
                let first = gossamer::spawn_on_with(Trustee::here(), get, number.clone());
                let second = gossamer::spawn_on_with(Trustee::here(), get, number);
                assert_eq!((first.join(), second.join()), (5, 5));
            });
        },
    );
}

#[test]
#[gossamer::delegate]
fn a_delegated_closure_that_blocks_a_worker_of_another_node_is_named() {
    let texts = &["worker 1 has stood still for", "in the delegated closure"];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::rack::run_in_process(2, workers(1), || {
                gossamer::rack::workers()[1].entrust(0_u64).apply(|_| -> () {
                    loop {
                        std::thread::park();
                    }
                })
            });
        },
    );
}

#[test]
fn the_join_of_a_thread_that_uses_a_trust_is_named_with_what_to_use_instead() {
    let texts = &[
        "worker 0 has stood still for",
        "the `join` of a thread",
        "Move blocking calls to `gossamer::unblock`",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(1), || {
                let number = gossamer::entrust(5_u64);
                let thread = std::thread::spawn(move || number.apply(|number| *number));
                assert_eq!(thread.join().unwrap(), 5);
            });
        },
    );
}

#[test]
#[gossamer::delegate]
fn a_fiber_that_keeps_its_worker_is_named_with_the_call_behind_which_it_does() {
    let texts = &[
        "worker 0 has been held up for",
        "by the fiber spawned at tests/tests/attacked/stalls.rs:",
        ", since its call at tests/tests/attacked/stalls.rs:",
        "gossamer::unblock",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(2), || {
                let numbers = Trustee::all()[1].entrust(Vec::<u64>::new());
                numbers.apply(|numbers| numbers.push(1));
                loop {
                    std::hint::spin_loop();
                }
            });
        },
    );
}

#[test]
#[gossamer::delegate]
fn a_loop_over_several_nodes_is_named_with_the_line_of_the_program() {
    let texts = &["worker 0 has been held up for", ", since its call at tests/tests/attacked/stalls.rs:"];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::rack::run_in_process(2, workers(1), || {
                gossamer::collections::par_for_each(0..10_000, |_| ());
                loop {
                    std::hint::spin_loop();
                }
            });
        },
    );
}

#[test]
fn a_collective_that_no_fiber_of_a_node_calls_is_told_with_its_line_and_that_node() {
    let texts = &["no progress for", "`rack::barrier` at", "stalls.rs:", "for node 1, which has no fiber"];
    for fabric in integration_tests::fabrics() {
        let said = until_it_says(
            |_| (),
            texts,
            move || {
                let config = workers(2).fabric(fabric).stalled_after(Duration::from_millis(300));
                gossamer::rack::run_in_process(3, config, || {
                    let third = gossamer::rack::nodes()[2].workers()[0];
                    let come = gossamer::spawn_on(third, const { || gossamer::rack::barrier() });
                    gossamer::rack::barrier();
                    come.join();
                });
            },
        );
        assert!(!said.contains("for node 0") && !said.contains("for node 2"), "{said}");
    }
}
