//! Ends that are measured, or that end the process: many runtimes one after another, `process::exit`, limits at the
//! end.

use gossamer::{Trust, Trustee, entrust};
use integration_tests::{Tally, descriptors, in_child, isolated, resident_bytes, threads, workers};
use std::panic::catch_unwind;
use std::time::Duration;

#[test]
fn a_thousand_runtimes_in_a_row_leave_nothing_behind() {
    isolated(|| {
        let tally = Tally::new();
        let figures = || (descriptors(), threads(), resident_bytes());
        let mut warm = figures();
        for round in 1..=1000_u64 {
            let sum = gossamer::run(workers(2), || {
                let numbers: Vec<_> =
                    Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
                let held = Trustee::all()[1].entrust(tally.value());
                for number in &numbers {
                    number.apply_then(|number| *number += 1, |()| ());
                    gossamer::spawn_with(|number| number.apply(|number| *number += 1), number.clone()).join();
                    drop(gossamer::spawn_with(|_held| gossamer::sleep(Duration::MAX), held.clone()));
                }
                numbers.iter().map(|number| number.apply(|number| *number)).sum::<u64>()
            });
            assert_eq!(sum, 4);
            assert_eq!(tally.dropped() as u64, round);
            if round == 100 {
                warm = figures();
            }
        }
        let cold = figures();
        assert_eq!((warm.0, warm.1), (cold.0, cold.1));
        assert!(cold.2 < warm.2 + (4 << 20), "{} bytes became {}", warm.2, cold.2);
    });
}

/// What calls `exit`, and where.
const EXITS: [fn(); 4] = [
    || std::process::exit(7),
    || drop(gossamer::spawn(|| -> () { std::process::exit(7) })),
    || Trustee::all()[1].entrust(()).apply(|()| -> () { std::process::exit(7) }),
    || entrust(()).apply_then(|()| (), |()| std::process::exit(7)),
];

#[test]
fn a_fiber_may_exit_the_process() {
    for way in 0..EXITS.len() {
        let prepare = |command: &mut std::process::Command| {
            command.env("WAY", way.to_string());
        };
        let ended = in_child(prepare, || {
            let way: usize = std::env::var("WAY").unwrap().parse().unwrap();
            gossamer::run(workers(2), move || {
                let busy = Trustee::all()[1].entrust(0_u64);
                let body = |busy: Trust<u64>| -> () {
                    loop {
                        busy.apply(|number| *number += 1);
                    }
                };
                (0..4).for_each(|_| drop(gossamer::spawn_with(body, busy.clone())));
                gossamer::sleep(Duration::from_millis(2));
                EXITS[way]();
                gossamer::sleep(Duration::MAX);
            });
        });
        assert_eq!(ended.status.code(), Some(7), "way {way}: {}", ended.errors);
    }
}

#[test]
fn a_fiber_that_never_gives_up_ends_the_process_with_a_message() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(2), || {
                drop(gossamer::spawn(|| -> () {
                    loop {
                        let _caught = catch_unwind(|| gossamer::sleep(Duration::from_secs(1)));
                    }
                }));
                gossamer::sleep(Duration::from_millis(2));
            });
        },
    );
    assert_eq!(ended.status.code(), Some(101), "{}", ended.errors);
    assert!(ended.errors.contains("keeps catching its cancellation"), "{}", ended.errors);
    assert!(ended.errors.contains(file!()), "{}", ended.errors);
}
