//! The line that a message names is the user's, and its advice fits the mistake.

use gossamer::{Config, Latch, Reason, Trustee, entrust, rack, spawn, spawn_local};
use integration_tests::{in_child, in_runtime, on_nodes, panic_text, workers};
use std::panic;
use std::process::Command;
use std::rc::Rc;
use std::sync::Mutex;

/// The panic of `body`: its text, and where it was raised.
fn panic_of(body: impl FnOnce()) -> (String, String) {
    static PLACE: Mutex<String> = Mutex::new(String::new());
    panic::set_hook(Box::new(|info| {
        *PLACE.lock().unwrap() = info.location().map(ToString::to_string).unwrap_or_default();
    }));
    let text = panic_text(body);
    let _ours = panic::take_hook();
    (text, PLACE.lock().unwrap().clone())
}

#[test]
fn outside_of_a_runtime_the_callers_line_is_named_and_what_starts_one() {
    let calls: [(&str, fn()); 6] = [
        ("entrust", || drop(entrust(1))),
        ("spawn", || drop(spawn(|| ()))),
        ("spawn_many_with", || drop(gossamer::spawn_many_with(1, |_, ()| (), ()))),
        ("Trustee::here", || _ = Trustee::here()),
        ("Trustee::all", || drop(Trustee::all())),
        ("rack::nodes", || drop(rack::nodes())),
    ];
    let ended = in_child(
        |_| (),
        move || {
            for (call, body) in calls {
                let (text, place) = panic_of(body);
                assert!(text.starts_with(&format!("`{call}` on a thread")), "{text}");
                assert!(text.contains("#[gossamer::main]") && text.contains("`gossamer::run`"), "{text}");
                assert!(place.contains("words/mistakes.rs"), "{call}: {place}");
            }
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
}

#[test]
fn a_process_with_a_number_and_no_list_of_nodes_does_not_run_alone() {
    let numbered = |child: &mut Command| {
        child.env("GOSSAMER_NODE", "1").env_remove("GOSSAMER_NODES");
    };
    let ended = in_child(numbered, || {
        let error = gossamer::try_run(workers(1), || ()).unwrap_err().to_string();
        let advice = ["GOSSAMER_NODE=1 is set", "GOSSAMER_NODES is not", "addresses of all nodes", "without"];
        assert!(advice.iter().all(|part| error.contains(part)), "{error}");
    });
    assert!(ended.status.success(), "{}", ended.errors);
}

#[gossamer::delegate]
#[test]
fn a_blocking_call_in_a_delegated_closure_is_named_by_its_own_line() {
    in_runtime(2, || {
        for trustee in Trustee::all() {
            let (outer, inner) = (trustee.entrust(1_u64), entrust(2_u64));
            let latch = entrust(Latch::new(0_u64));
            let (line, twin) = (line!() + 1, inner.clone());
            let apply = outer.try_apply(move |_| twin.apply(|inner| *inner));
            let wait = outer.try_apply(move |_| inner.apply_async(|inner| *inner).wait());
            let launch = outer.try_apply(move |_| latch.launch(|inner| *inner));
            let sleep = outer.try_apply(|_| gossamer::sleep(std::time::Duration::ZERO));
            let errors = [apply.map(drop), wait.map(drop), launch.map(drop), sleep];
            for (error, line) in errors.into_iter().zip(line..) {
                let Err(error) = error else { panic!("it has blocked") };
                let Reason::Panicked { message, place, .. } = error.reason() else { panic!("{error}") };
                assert!(message.starts_with("blocking "), "{message}");
                let place = place.as_deref().unwrap();
                assert!(place.contains(&format!("words/mistakes.rs:{line}:")), "{place} is not line {line}");
            }
        }
    });
}

#[test]
fn what_is_no_send_is_entrusted_on_its_own_worker() {
    in_runtime(1, || {
        let list = entrust(Rc::new(7_u64));
        assert_eq!(list.apply(|list| **list), 7);
        let boxed = entrust(Box::new(|| 8_u64) as Box<dyn Fn() -> u64>);
        assert_eq!(boxed.apply(|boxed| boxed()), 8);
    });
}

#[test]
fn an_error_that_is_debugged_reads_as_it_is_displayed() {
    in_runtime(1, || {
        let error = entrust(0_u64).try_apply(|_| -> () { panic!("as asked for") }).unwrap_err();
        assert_eq!(format!("{error:?}"), format!("{error}"));
        assert!(error.to_string().contains("as asked for"));
    });
}

#[test]
fn a_runtime_that_cannot_start_says_why_and_nothing_else() {
    let ended = in_child(
        |command| {
            command.env("GOSSAMER_THREADS", "none").env("RUST_BACKTRACE", "1");
        },
        || {
            if panic::catch_unwind(|| gossamer::run(Config::default(), || ())).is_ok() {
                std::process::exit(9);
            }
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    let said: Vec<_> = ended.errors.lines().collect();
    assert!(said.len() == 1 && said[0].contains("gossamer: cannot start: GOSSAMER_THREADS"), "{said:?}");
}

#[test]
fn the_error_of_a_request_whose_pending_was_dropped_is_printed_once() {
    let body = || {
        gossamer::run(workers(2), || {
            for trustee in gossamer::Trustee::all() {
                let list = trustee.entrust(Vec::<u64>::new());
                drop(list.apply_async(|list| list[3]));
                let late = list.apply_async(|list| list[4]);
                assert_eq!(list.apply(|list| list.len()), 0);
                drop(late);
                assert!(list.apply_async(|list| list[5]).try_wait().is_err());
            }
        });
    };
    let ended = in_child(|_| (), body);
    assert!(ended.status.success(), "{}", ended.errors);
    for (index, times) in [("index is 3", 2), ("index is 4", 2), ("index is 5", 0)] {
        let is_told = |line: &&str| {
            line.starts_with("gossamer: a request whose `Pending` was dropped has failed: ")
                && line.contains(index)
                && line.contains("(sent from tests/tests/words/mistakes.rs:")
        };
        assert_eq!(ended.errors.lines().filter(is_told).count(), times, "{}", ended.errors);
    }
}

#[test]
fn a_panic_of_a_fiber_that_nobody_joins_is_printed_and_changes_no_exit_status() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                drop(spawn(|| {
                    let cell = std::cell::RefCell::new(1);
                    let _one = cell.borrow_mut();
                    drop(cell.borrow_mut());
                }));
                drop(spawn_local(|| assert!(Trustee::all().is_empty(), "of its own worker")));
                gossamer::yield_now();
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    for reason in ["borrowed", "of its own worker"] {
        let is_told = |line: &&str| {
            line.starts_with("gossamer: a fiber whose handle was dropped has failed: ")
                && line.contains(reason)
                && line.contains("(sent from tests/tests/words/mistakes.rs:")
        };
        assert_eq!(ended.errors.lines().filter(is_told).count(), 1, "{reason}: {}", ended.errors);
    }
}

/// The attribute macros see the call of such a macro, but not what becomes of it.
macro_rules! incremented {
    ($trust:expr) => {
        $trust.apply(|number| *number += 1)
    };
}

#[test]
fn a_closure_of_a_macro_that_cannot_leave_its_process_is_refused_with_what_helps_there() {
    #[gossamer::delegate]
    fn increment() {
        incremented!(rack::workers()[1].entrust(1_u64));
    }
    on_nodes(2, 1, || {
        let text = panic_text(increment);
        assert!(text.contains("increment") && text.contains("body of a `macro_rules!`"), "{text}");
    });
}
