//! What nodes do together: many fibers at once, collectives, and which worker is where.

use gossamer::{NoRef, Trust, Trustee, entrust, rack, spawn_on_with};
use integration_tests::{on_nodes, panic_text, watched, workers};

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

/// It cannot be cloned on node 1.
#[derive(NoRef)]
struct ClonedAtHome;

impl Clone for ClonedAtHome {
    fn clone(&self) -> Self {
        assert!(rack::this_node().index() == 0, "no clone abroad");
        Self
    }
}

#[test]
fn a_clone_that_panics_on_another_node_is_what_its_many_fibers_report() {
    on_nodes(2, 2, || {
        let results =
            gossamer::spawn_many_with(8, const { |number, _: ClonedAtHome| number }, ClonedAtHome).try_join();
        assert_eq!(results[..4], [Ok(0), Ok(1), Ok(2), Ok(3)]);
        for result in &results[4..] {
            let error = result.as_ref().unwrap_err().to_string();
            assert!(error.contains("no clone abroad"), "{error}");
        }
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

/// A round of each kind, from one worker of each node, which changes; the order of values matters.
#[gossamer::delegate]
fn rounds_on_moving_workers(nodes: usize, workers: usize) {
    let visit = const {
        |round: usize| {
            let (me, count) = (rack::this_node().index(), rack::nodes().len());
            rack::barrier();
            let text = rack::all_reduce(format!("{me},"), |one, other| one + &other);
            assert_eq!(text, (0..count).map(|node| format!("{node},")).collect::<String>());
            assert_eq!(rack::gather(me * round), (0..count).map(|node| node * round).collect::<Vec<_>>());
            let long = (me == round % count).then(|| vec![round as u64; 20_000]);
            assert_eq!(rack::broadcast(long), vec![round as u64; 20_000]);
        }
    };
    on_nodes(nodes, workers, move || {
        for round in 0..4 {
            let there = |node: rack::Node| node.workers()[(round + node.index()) % node.workers().len()];
            let fibers: Vec<_> =
                rack::nodes().into_iter().map(|node| spawn_on_with(there(node), visit, round)).collect();
            fibers.into_iter().for_each(|fiber| fiber.join());
        }
    });
}

#[test]
fn collectives_of_any_number_of_nodes_keep_their_order_on_whichever_workers() {
    for (nodes, workers) in [(1, 2), (2, 2), (3, 2), (5, 1), (7, 2), (8, 1)] {
        rounds_on_moving_workers(nodes, workers);
    }
}

/// What each node is told about an `all_reduce` in which one of them, on its last worker, comes to a barrier instead,
/// or panics. A later round, to which all come, succeeds.
#[gossamer::delegate]
fn texts(failing: usize, panics: bool) -> Vec<String> {
    let come = const {
        |(failing, panics): (usize, bool)| {
            let text = panic_text(|| match (rack::this_node().index() == failing, panics) {
                (true, false) => rack::barrier(),
                (true, true) => drop(rack::all_reduce(1_u32, |_, _| panic!("not combined"))),
                _ => drop(rack::all_reduce(1_u32, |one, other| one + other)),
            });
            assert_eq!(rack::all_reduce(1, |one, other| one + other), rack::nodes().len());
            text
        }
    };
    let last = |node: rack::Node| node.workers().last().copied().unwrap();
    let start = |node| spawn_on_with(last(node), come, (failing, panics));
    let fibers: Vec<_> = rack::nodes().into_iter().map(start).collect();
    fibers.into_iter().map(|fiber| fiber.join()).collect()
}

#[test]
fn of_nodes_that_do_not_agree_all_are_told_which() {
    on_nodes(6, 2, || {
        for failing in 0..6 {
            for text in texts(failing, false) {
                assert!(text.contains("`rack::barrier::<()>`"), "{text}");
                assert!(text.contains("`rack::all_reduce::<u32>`"), "{text}");
                assert!(text.contains(&format!("node {failing} ")), "{text}");
            }
        }
    });
}

#[test]
fn a_node_that_panics_before_it_has_brought_what_others_need_is_named_to_them() {
    on_nodes(7, 2, || {
        // Nodes that combine values before they bring their own.
        for failing in [0, 2, 4] {
            for (node, text) in texts(failing, true).into_iter().enumerate() {
                let left = format!("node {failing} has left `rack::all_reduce`");
                assert!(text.contains(if node == failing { "not combined" } else { &left }), "{text}");
            }
        }
    });
}

#[gossamer::delegate]
#[test]
fn a_node_that_is_cancelled_before_it_has_brought_what_others_need_is_named_to_them() {
    on_nodes(6, 1, || {
        let all = Trustee::all();
        // Node 1 waits for nothing but the result; the others wait first for a node below them.
        for leaving in [1, 2, 4] {
            let cancelled = spawn_on_with(all[leaving], |()| rack::barrier(), ());
            // A fiber that is started after it runs as soon as it waits.
            spawn_on_with(all[leaving], |()| (), ()).join();
            cancelled.cancel();
            assert!(cancelled.try_join().is_err());
            let others = (0..6).filter(|node| *node != leaving);
            let others: Vec<_> =
                others.map(|node| spawn_on_with(all[node], |()| rack::barrier(), ())).collect();
            for other in others {
                let outcome = other.try_join();
                assert_eq!(outcome.is_ok(), leaving == 1);
                if let Err(error) = outcome {
                    let left = format!("node {leaving} has left `rack::barrier`");
                    assert!(error.to_string().contains(&left), "{error}");
                }
            }
        }
        rack::on_each_node(|()| rack::barrier(), ());
    });
}

#[gossamer::delegate]
#[test]
fn all_work_is_done_when_waiting_for_it_returns() {
    on_nodes(3, 1, || {
        let count = Trustee::all()[1].entrust(0_u64);
        for round in 1..=5 {
            // Fibers that start fibers elsewhere, which send requests that nobody waits for.
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
        // Several fibers may wait at once, on several nodes.
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
