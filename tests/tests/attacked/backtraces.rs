//! Where waiting fibers are, frame by frame, and that looking changes nothing.

use crate::inspected::{beside, own_socket, own_socket_if_any};
use gossamer::inspect::{FiberGroup, ask_backtraces};
use gossamer::{Latch, Trustee, entrust};
use integration_tests::{isolated, workers};
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// The fibers of this process that wait, with backtraces.
fn waiting() -> Vec<FiberGroup> {
    let groups = ask_backtraces(&own_socket()).unwrap().into_iter().flat_map(|report| report.fibers);
    groups.filter(|group| group.state == "waits").collect()
}

/// Calls `wait` from deep inside.
#[inline(never)]
fn outer(wait: impl FnOnce()) {
    inner(wait);
    // So that this is not a tail call.
    black_box(());
}

#[inline(never)]
fn inner(wait: impl FnOnce()) {
    wait();
    black_box(());
}

#[test]
#[gossamer::delegate]
fn the_backtrace_of_a_fiber_that_waits_has_all_functions_from_the_innermost_on() {
    let body = || {
        let slow = Trustee::all()[1].entrust(5_u8);
        let latch = entrust(Latch::new(0_u8));
        let listener = gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let held = latch.clone();
        let all = [
            gossamer::spawn_local(|| outer(|| gossamer::sleep(Duration::from_secs(3600)))),
            gossamer::spawn_local(move || outer(|| drop(listener.accept()))),
            gossamer::spawn_local(move || {
                outer(|| held.launch(|_| gossamer::sleep(Duration::from_secs(3600))))
            }),
            gossamer::spawn_local(move || outer(|| latch.launch(|_| ()))),
            gossamer::spawn_local(move || {
                outer(|| {
                    slow.apply(|_| -> () {
                        loop {
                            thread::park();
                        }
                    });
                });
            }),
        ];
        all.into_iter().for_each(|fiber| fiber.join());
    };
    beside(body, || {
        let calls = ["sleep", "TcpListener::accept", "launch", "apply"];
        let found = loop {
            let groups = waiting();
            let of =
                |call| groups.iter().find(|group| group.wait.as_ref().is_some_and(|wait| wait.call == call));
            if let [Some(a), Some(b), Some(c), Some(d)] = calls.map(of) {
                break [a, b, c, d].map(Clone::clone);
            }
        };
        for group in found {
            let trace = &group.backtrace;
            let place = |name: &str| trace.iter().position(|frame| frame.contains(name));
            assert!(place("backtraces::inner") < place("backtraces::outer"), "{group:?}");
            assert!(place("backtraces::inner").is_some(), "{group:?}");
            // Lines are debug information, which tests may be built without.
            let has_lines = option_env!("CARGO_PROFILE_DEV_DEBUG") != Some("0");
            let of_here = if has_lines { "backtraces.rs:" } else { "attacked::backtraces::" };
            assert!(trace[0].contains(of_here), "{group:?}");
            assert!(trace.last().unwrap().contains(of_here), "{group:?}");
        }
    });
}

#[test]
#[gossamer::delegate]
fn fibers_that_are_looked_at_all_the_time_do_what_they_would_have_done() {
    isolated(|| {
        let asker = thread::spawn(|| {
            let mut seen = 0;
            while seen < 20 {
                if let Some(socket) = own_socket_if_any() {
                    // It is refused only at its end.
                    seen += ask_backtraces(&socket).map_or(20, |_| 1);
                }
            }
        });
        gossamer::run(workers(2), move || {
            let sums: Vec<_> = Trustee::all().iter().map(|trustee| trustee.entrust(0_u64)).collect();
            let mut rounds = 0_u64;
            while !asker.is_finished() {
                let add = |fiber: u64| {
                    let sums = sums.clone();
                    gossamer::spawn(move || {
                        let (sender, mut receiver) = gossamer::sync::mpsc::channel::<u64>(1);
                        let neighbour = gossamer::spawn_local(move || {
                            gossamer::sleep(Duration::from_micros(fiber));
                            sender.send(fiber).unwrap();
                        });
                        let number = receiver.recv().unwrap();
                        neighbour.join();
                        for sum in &sums {
                            sum.apply(move |sum| *sum += number);
                        }
                    })
                };
                let fibers: Vec<_> = (0..32).map(add).collect();
                fibers.into_iter().for_each(|fiber| fiber.join());
                rounds += 1;
            }
            for sum in &sums {
                assert_eq!(sum.apply(|sum| *sum), rounds * (0..32).sum::<u64>());
            }
        });
    });
}

#[test]
fn a_fiber_that_has_no_room_on_its_stack_is_left_alone() {
    isolated(|| {
        let body = || {
            let fiber = gossamer::spawn_local(|| outer(|| gossamer::sleep(Duration::from_secs(3600))));
            fiber.join();
        };
        thread::spawn(move || gossamer::run(workers(1).stack_size(16 * 1024), body));
        for _ in 0..3 {
            while waiting().iter().all(|group| group.wait.as_ref().is_none_or(|wait| wait.call != "sleep")) {}
            let groups = waiting();
            let sleeps =
                groups.iter().find(|group| group.wait.as_ref().is_some_and(|wait| wait.call == "sleep"));
            assert_eq!(sleeps.unwrap().backtrace, Vec::<String>::new());
        }
        std::process::exit(0);
    });
}
