//! What a fiber has started elsewhere runs while the fiber computes, and does not wait until it suspends.

use gossamer::{TeamMember, Trustee, Workers, rack, spawn, spawn_many_with, spawn_on};
use integration_tests::{in_runtime, on_nodes};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Computes, without a call that lets others run, until there are so many. All nodes are in this process.
fn compute_until(count: &AtomicUsize, most: usize) {
    let start = Instant::now();
    while count.load(Ordering::Acquire) < most {
        assert!(start.elapsed() < Duration::from_secs(60), "it has not begun");
        spin_loop();
    }
}

/// On two workers, and on two nodes of one worker each.
fn on_two(body: fn()) {
    let body = move || {
        connect();
        body();
    };
    in_runtime(2, body);
    on_nodes(2, 1, body);
}

/// Over RDMA the first request on a lane waits until the other end has said where its memory is.
fn connect() {
    Workers::all().each(const { |member: &TeamMember| member.barrier() });
}

#[test]
fn a_fiber_on_another_worker_runs_while_its_starter_computes() {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    on_two(|| {
        STARTED.store(0, Ordering::Release);
        let other = Trustee::all()[1];
        let one = spawn_on(other, const { || STARTED.fetch_add(1, Ordering::AcqRel) });
        compute_until(&STARTED, 1);
        // The other worker lets it run while the first one waits there.
        let more = [(); 3].map(|()| spawn_on(other, const { || STARTED.fetch_add(1, Ordering::AcqRel) }));
        compute_until(&STARTED, 4);
        // One of two is for this worker.
        let _detached = [(); 2].map(|()| spawn(const { || STARTED.fetch_add(1, Ordering::AcqRel) }));
        compute_until(&STARTED, 5);
        assert_eq!(one.join(), 0);
        more.into_iter().for_each(|fiber| assert!(fiber.join() > 0));
    });
}

#[test]
fn the_fibers_of_spawn_many_run_while_their_starter_computes() {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    on_two(|| {
        STARTED.store(0, Ordering::Release);
        let fibers = spawn_many_with(6, const { |_, ()| STARTED.fetch_add(1, Ordering::AcqRel) }, ());
        compute_until(&STARTED, 3);
        assert_eq!(fibers.join().len(), 6);
    });
}

#[test]
fn a_request_whose_result_is_on_its_way_is_served_while_its_sender_computes() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    on_two(|| {
        SERVED.store(0, Ordering::Release);
        let object = Trustee::all()[1].entrust(5);
        for round in 1..=10 {
            let result = object.apply_async(
                const {
                    |object: &mut i32| {
                        SERVED.fetch_add(1, Ordering::AcqRel);
                        *object
                    }
                },
            );
            compute_until(&SERVED, round);
            assert_eq!(result.wait(), 5);
        }
    });
}

#[test]
fn members_leave_a_collective_while_those_that_came_last_compute() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    on_two(|| {
        LEFT.store(0, Ordering::Release);
        Workers::all().each(
            const {
                |member: &TeamMember| {
                    for round in 0..20 {
                        member.barrier();
                        LEFT.fetch_add(1, Ordering::AcqRel);
                        compute_until(&LEFT, 6 * round + 2);
                        assert_eq!(member.all_reduce(1, |one, other| one + other), 2);
                        LEFT.fetch_add(1, Ordering::AcqRel);
                        compute_until(&LEFT, 6 * round + 4);
                        assert_eq!(member.gather(7), [7, 7]);
                        LEFT.fetch_add(1, Ordering::AcqRel);
                        compute_until(&LEFT, 6 * round + 6);
                    }
                }
            },
        );
    });
}

#[test]
fn nodes_leave_a_barrier_while_those_that_came_last_compute() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    on_nodes(3, 1, || {
        rack::on_each_node(const { |()| rack::barrier() }, ());
        LEFT.store(0, Ordering::Release);
        let come = const {
            |()| {
                for round in 1..=20 {
                    rack::barrier();
                    LEFT.fetch_add(1, Ordering::AcqRel);
                    compute_until(&LEFT, 3 * round);
                }
            }
        };
        rack::on_each_node(come, ());
    });
}
