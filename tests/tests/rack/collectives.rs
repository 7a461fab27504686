//! What nodes do together: many fibers at once, collectives, who is where.

use gossamer::{Trust, Trustee, entrust, rack, spawn_on_with};
use integration_tests::{on_nodes, watched, workers};

#[gossamer::delegate]
#[test]
fn many_fibers_are_spread_over_all_workers_and_their_results_keep_their_order() {
    on_nodes(3, 2, || {
        let seen = entrust(vec![0_usize; 6]);
        let spread = const {
            |number: usize, (seen, text): (Trust<Vec<usize>>, String)| {
                let worker = Trustee::here().index();
                seen.apply_with(|seen, worker| seen[worker] += 1, worker);
                (number, text)
            }
        };
        let results = gossamer::spawn_many_with(1000, spread, (seen.clone(), "text".to_owned())).join();
        assert!(results.iter().enumerate().all(|(place, (number, text))| place == *number && text == "text"));
        let counts = seen.apply(|seen| seen.clone());
        assert!(counts.iter().all(|count| (166..=167).contains(count)), "{counts:?}");
        assert!(gossamer::spawn_many_with(0, |number, ()| number, ()).join().is_empty());
    });
}

#[gossamer::delegate]
#[test]
fn of_many_fibers_those_that_panic_say_so_and_the_others_return() {
    on_nodes(2, 1, || {
        let some = const {
            |number: usize, ()| {
                assert!(!number.is_multiple_of(5), "number {number}");
                number
            }
        };
        let results = gossamer::spawn_many_with(20, some, ()).try_join();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 16);
        assert!(results[15].as_ref().unwrap_err().to_string().contains("number 15"));
    });
}

#[gossamer::delegate]
#[test]
fn nodes_know_their_workers_and_workers_their_node() {
    on_nodes(3, 2, || {
        let nodes = rack::nodes();
        assert_eq!(nodes.iter().map(|node| node.index()).collect::<Vec<_>>(), [0, 1, 2]);
        let workers: Vec<Trustee> = nodes.iter().flat_map(|node| node.workers()).collect();
        assert_eq!(workers, rack::workers());
        for node in nodes {
            for worker in node.workers() {
                let there =
                    spawn_on_with(worker, |()| (rack::this_node(), Trustee::here().index()), ()).join();
                assert_eq!(there, (node, worker.index()));
                assert_eq!(worker.node(), node);
            }
        }
    });
}

#[gossamer::delegate]
#[test]
fn collectives_combine_what_all_nodes_bring() {
    on_nodes(4, 1, || {
        let results = rack::on_each_node(
            |rounds: usize| {
                let me = rack::this_node().index();
                let mut sums = Vec::new();
                for round in 0..rounds {
                    assert_eq!(
                        rack::gather((me, round)),
                        (0..4).map(|node| (node, round)).collect::<Vec<_>>()
                    );
                    rack::barrier();
                    sums.push(rack::all_reduce(me * round, |one, other| one + other));
                    let text = rack::broadcast((me == round % 4).then(|| "x".repeat(round * 100)));
                    assert_eq!(text.len(), round * 100);
                }
                sums
            },
            30,
        );
        let expected: Vec<usize> = (0..30).map(|round| 6 * round).collect();
        assert_eq!(results, vec![expected; 4]);
    });
    watched(|| gossamer::run(workers(1), || assert_eq!(rack::gather(7), [7])));
}

#[gossamer::delegate]
#[test]
fn all_work_is_done_when_waiting_for_it_returns() {
    on_nodes(3, 1, || {
        let count = Trustee::all()[1].entrust(0_u64);
        for round in 1..=5 {
            // Fibers that start fibers elsewhere, which send what nobody waits for.
            for number in 0..60_usize {
                let more = const {
                    |(number, count): (usize, Trust<u64>)| {
                        let there = Trustee::all()[number % 3];
                        let last = const {
                            |count: Trust<u64>| {
                                gossamer::sleep(std::time::Duration::from_millis(1));
                                count.apply_then(|count| *count += 1, drop);
                            }
                        };
                        let _detached = spawn_on_with(there, last, count);
                    }
                };
                let _detached = gossamer::spawn_with(more, (number, count.clone()));
            }
            rack::wait_all();
            assert_eq!(count.apply(|count| *count), 60 * round);
        }
        // Several may wait, on several nodes.
        for there in Trustee::all() {
            let _detached = spawn_on_with(there, |()| rack::wait_all(), ());
        }
        rack::wait_all();
    });
    watched(|| {
        gossamer::run(workers(2), || {
            let count = entrust(0);
            for _ in 0..100 {
                let add = |count: Trust<u64>| count.apply_then(|count| *count += 1, drop);
                let _detached = gossamer::spawn_with(add, count.clone());
            }
            rack::wait_all();
            assert_eq!(count.apply(|count| *count), 100);
        });
    });
}
