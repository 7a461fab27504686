//! What cannot leave its node: fibers that hold such a thing start there, and an error that nobody takes is printed.

use gossamer::net::TcpListener;
use gossamer::{NoRef, Trust, Trustee, rack, spawn, spawn_many_with, spawn_with};
use integration_tests::{Counted, Tally, far, in_child, on_nodes, workers};
use std::cell::RefCell;

/// A type that has no form as bytes.
struct Descriptor(#[expect(dead_code, reason = "it is there to be sent")] u64);
// SAFETY: a number.
unsafe impl NoRef for Descriptor {}

#[derive(NoRef)]
struct Connection {
    _listener: Option<TcpListener>,
    _number: u64,
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// The workers on which this many fibers started, each holding what `make` makes.
fn homes<C: NoRef>(count: usize, make: impl Fn() -> C) -> Vec<usize> {
    let home = const { |_kept: C| Trustee::here().node().index() };
    let fibers: Vec<_> = (0..count).map(|_| spawn_with(home, make())).collect();
    fibers.into_iter().map(|fiber| fiber.join()).collect()
}

#[test]
fn a_fiber_with_what_cannot_leave_its_node_starts_on_it() {
    on_nodes(2, 2, || {
        assert_eq!(homes(8, listener), [0; 8]);
        assert_eq!(homes(8, || (String::new(), Some(listener()))), [0; 8]);
        assert_eq!(homes(8, || Connection { _listener: None, _number: 1 }), [0; 8]);
        // Only the values show whether these may leave.
        assert_eq!(homes(8, || Box::new(listener())), [0; 8]);
        assert_eq!(homes(8, || (vec![listener()], RefCell::new(listener()))), [0; 8]);
        assert_eq!(homes(8, || Descriptor(3)), [0; 8]);
        // All others are spread as usual.
        assert_eq!(homes(8, || vec![7_u8]).iter().sum::<usize>(), 4);
        assert_eq!(homes(8, Vec::<TcpListener>::new).iter().sum::<usize>(), 4);
    });
}

#[test]
fn on_another_node_too_they_stay_and_are_spread_over_its_workers() {
    on_nodes(2, 2, || {
        let seen = spawn_with(
            const {
                |()| {
                    let home = const { |_: Box<TcpListener>| Trustee::here().index() };
                    let fibers: Vec<_> = (0..16).map(|_| spawn_with(home, Box::new(listener()))).collect();
                    fibers.into_iter().map(|fiber| fiber.join()).collect::<Vec<_>>()
                }
            },
            (),
        );
        let on = |first: usize| first..first + 2;
        let seen = seen.join();
        assert!(
            [0, 2].into_iter().any(|first| seen.iter().all(|worker| on(first).contains(worker))),
            "{seen:?}"
        );
        assert!(seen.iter().any(|worker| *worker != seen[0]), "{seen:?}");
    });
}

#[test]
fn what_stays_comes_back_whole_with_the_trusts_beside_it() {
    on_nodes(2, 1, || {
        let tally = Tally::new();
        let property = gossamer::entrust(tally.value());
        let use_both = const {
            |(property, listener): (Trust<Counted>, Vec<TcpListener>)| {
                property.apply(const { |_| () });
                listener[0].local_addr().unwrap().port() > 0
            }
        };
        for _ in 0..8 {
            assert!(spawn_with(use_both, (property.clone(), vec![listener()])).join());
        }
        assert_eq!(tally.dropped(), 0);
        drop(property);
        integration_tests::wait_until(|| tally.dropped() == 1);
    });
}

#[test]
fn a_closure_that_is_no_constant_starts_on_its_own_node() {
    on_nodes(2, 2, || {
        let here = || Trustee::here().node().index();
        let fibers: Vec<_> = (0..8).map(|_| spawn(here)).collect();
        assert!(fibers.into_iter().all(|fiber| fiber.join() == 0));
    });
}

#[test]
fn the_error_of_a_fiber_whose_handle_was_dropped_is_printed_with_the_line_that_started_it() {
    let ended = in_child(
        |_| (),
        || {
            rack::run_in_process(2, workers(1), || {
                drop(far().spawn_with(const { |_: TcpListener| () }, listener()));
                drop(spawn(const { || panic!("as asked for") }));
                drop(spawn_many_with(2, const { |number, ()| assert!(number == 0, "the second") }, ()));
                // Whoever takes an error decides what happens to it.
                let taken = far().spawn_with(const { |_: TcpListener| () }, listener()).try_join();
                drop(taken.unwrap_err());
                let handle = spawn(const { || () });
                while !handle.is_finished() {
                    gossamer::yield_now();
                }
                drop(handle);
                rack::wait_all();
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    // The backtrace of a panic of another worker may end in the middle of a line.
    let printed: Vec<_> =
        ended.errors.lines().filter(|line| line.contains("gossamer: a fiber whose handle")).collect();
    assert_eq!(printed.len(), 3, "{}", ended.errors);
    for reason in ["TcpListener` cannot leave the node", "as asked for", "the second"] {
        let said = printed
            .iter()
            .filter(|line| line.contains(reason) && line.contains("(sent from tests/tests/rack/staying.rs:"));
        assert_eq!(said.count(), 1, "{reason}: {}", ended.errors);
    }
}
