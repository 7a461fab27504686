//! Stacks of fibers: their overflow, and what happens when the machine gives no more.

use crate::dig;
use gossamer::{Config, JoinHandle, Latch, Reason, Trust, Trustee, entrust};
use integration_tests::{Ended, Tally, in_child, in_runtime, workers};
use std::ops::RangeInclusive;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::time::Duration;

/// A frame much larger than a guard page.
#[inline(never)]
fn leap(depth: usize) -> usize {
    let frame = std::hint::black_box([depth as u8; 20_000]);
    if depth == usize::MAX { 0 } else { leap(depth + 1) + usize::from(frame[depth % 100]) }
}

/// Workers whose fibers have stacks of 32 KiB.
fn small(threads: usize) -> Config {
    workers(threads).stack_size(32 << 10)
}

#[track_caller]
fn assert_overflowed(ended: &Ended, lines: RangeInclusive<u32>) {
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{}", ended.errors);
    let named = |line| ended.errors.contains(&format!("spawned at {}:{line}:", file!()));
    assert!(lines.clone().any(named), "{lines:?} is not in: {}", ended.errors);
    assert!(ended.errors.contains("overflowed its stack of 32 KiB"), "{}", ended.errors);
    assert!(ended.errors.contains("Config::stack_size"), "{}", ended.errors);
}

/// Fibers that a report must not name.
fn bystanders() {
    (0..4).for_each(|_| drop(gossamer::spawn(|| gossamer::sleep(Duration::MAX))));
}

#[test]
fn the_overflow_of_a_fibers_stack_names_the_fiber_and_ends_the_process() {
    let first = line!();
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(small(2), || {
                bystanders();
                drop(gossamer::spawn(|| dig(0)));
                gossamer::sleep(Duration::MAX);
            });
        },
    );
    assert_overflowed(&ended, first..=line!());
}

#[test]
fn a_frame_larger_than_the_guard_page_does_not_leap_over_it() {
    let first = line!();
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(small(2), || {
                gossamer::spawn(|| leap(0)).join();
            });
        },
    );
    assert_overflowed(&ended, first..=line!());
}

#[test]
fn the_overflow_of_a_closure_that_runs_on_its_callers_stack_names_the_caller() {
    let first = line!();
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(small(1), || {
                let body = |()| entrust(0_usize).apply(|number| *number = dig(*number));
                Trustee::here().spawn_with(body, ()).join();
            });
        },
    );
    assert_overflowed(&ended, first..=line!());
}

#[test]
fn the_overflow_of_a_launched_closure_names_its_launch() {
    let first = line!();
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(small(2), || {
                let latch = Trustee::all()[1].entrust(Latch::new(0_usize));
                latch.launch(|number| *number = dig(*number));
            });
        },
    );
    assert_overflowed(&ended, first..=line!());
}

#[test]
fn the_overflow_of_another_threads_stack_is_reported_as_ever() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                let thread =
                    std::thread::Builder::new().name("a plain thread".into()).spawn(|| dig(0)).unwrap();
                integration_tests::wait_until(|| thread.is_finished());
            });
        },
    );
    assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{}", ended.errors);
    assert!(ended.errors.contains("thread 'a plain thread'"), "{}", ended.errors);
    assert!(ended.errors.contains("has overflowed its stack"), "{}", ended.errors);
}

#[test]
fn another_fault_is_no_overflow() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                // SAFETY: none: the fault is what is tested.
                Trustee::here().spawn(|| _ = unsafe { std::ptr::dangling::<u64>().read_volatile() }).join();
            });
        },
    );
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{}", ended.errors);
    assert!(!ended.errors.contains("overflowed"), "{}", ended.errors);
}

#[test]
fn a_larger_stack_may_be_asked_for() {
    let body = || {
        gossamer::run(workers(1).stack_size(64 << 10), || {
            #[inline(never)]
            fn half_a_mebibyte() -> u8 {
                let array = [std::hint::black_box(1_u8); 512 << 10];
                std::hint::black_box(&array)[7]
            }
            assert_eq!(Trustee::here().spawn(|| half_a_mebibyte()).join(), 1);
        });
    };
    let asked = |command: &mut Command| {
        command.env("GOSSAMER_STACK_KIB", "1024");
    };
    assert!(in_child(asked, body).status.success());
    let ended = in_child(|_| (), body);
    assert!(ended.errors.contains("overflowed its stack of 64 KiB"), "{}", ended.errors);
}

#[test]
fn a_panic_with_a_backtrace_fits_a_fibers_stack() {
    for level in ["1", "full"] {
        let ended = in_child(
            |command| {
                command.env("RUST_BACKTRACE", level);
            },
            || {
                gossamer::run(workers(1), || {
                    let error = Trustee::here()
                        .spawn(|| -> () { panic!("with a backtrace") })
                        .try_join()
                        .unwrap_err();
                    assert!(error.to_string().contains("with a backtrace"));
                });
            },
        );
        assert!(ended.status.success(), "{}", ended.errors);
        assert!(ended.errors.contains("stack backtrace"), "{}", ended.errors);
    }
}

/// How much address space a child may have, in bytes: enough for some tens of thousands of stacks.
const LIMIT: u64 = 2 << 30;

fn with_little_memory(command: &mut Command) {
    let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: LIMIT };
    let set = move || {
        // SAFETY: `limit` is a live rlimit; the call is async-signal-safe.
        match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(set) };
}

#[test]
fn a_fiber_that_can_have_no_stack_says_which_limits_to_raise_and_nothing_hangs() {
    let ended = in_child(with_little_memory, || {
        let tally = Tally::new();
        gossamer::run(workers(2), move || {
            let gate = entrust(0_u64);
            let body = |(gate, value): (Trust<u64>, _)| {
                while gate.apply(|open| *open) == 0 {
                    gossamer::sleep(Duration::from_millis(100));
                }
                drop::<integration_tests::Counted>(value);
            };
            let fibers: Vec<JoinHandle<()>> =
                (0..100_000).map(|_| gossamer::spawn_with(body, (gate.clone(), tally.value()))).collect();
            gate.apply(|open| *open = 1);
            let outcomes: Vec<_> = fibers.into_iter().map(JoinHandle::try_join).collect();
            let (good, bad): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            assert!(good.len() > 1000 && bad.len() > 1000, "{} began, {} did not", good.len(), bad.len());
            for error in bad.into_iter().filter_map(Result::err) {
                let Reason::NoStack { message, .. } = error.reason() else { panic!("{error}") };
                assert!(message.contains("mmap") && message.contains("ulimit -v"), "{message}");
                assert_eq!(error.sent_from().unwrap().file(), file!());
            }
            // The workers go on, and there are stacks again.
            assert_eq!(gossamer::spawn(|| 7).join(), 7);
            assert!(tally.is_even());
        });
    });
    assert!(ended.status.success(), "{}", ended.errors);
}

/// The part of a log line that people look for.
const LOG_LINE: &str = r"(?ix)
    ^(?<host>\S+)\s+\S+\s+(?<user>[\p{L}\d._-]+)\s+\[(?<time>\d{1,2}/\w{3}/\d{4}(?::\d{2}){3}\s[+-]\d{4})\]\s+
    \x22(?<method>GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS)\s+(?<path>(?:/[\p{L}\p{N}%._~!$&'()*+,;=:@-]*)+)
    (?:\?(?<query>[^\s\x22]*))?\s+HTTP/(?<version>\d\.\d)\x22\s+(?<status>[1-5]\d{2})\s+(?<bytes>\d+|-)
    (?:\s+\x22(?<referrer>(?:https?://(?:[\p{Alphabetic}\d-]+\.)+\p{Alphabetic}{2,}[^\x22]*)?)\x22\s+\x22(?<agent>[^\x22]*)\x22)?$";

#[test]
fn a_regular_expression_is_compiled_and_matched_on_a_default_stack() {
    in_runtime(2, || {
        let host = |()| {
            let pattern = regex::Regex::new(LOG_LINE).unwrap();
            let line =
                "example.org - zoë [10/Oct/2026:13:55:36 +0000] \"GET /index.html?q=1 HTTP/1.1\" 200 2326";
            pattern.captures(line).map(|found| (found["user"].to_owned(), found["status"].to_owned()))
        };
        let found = gossamer::spawn_on_with(Trustee::all()[1], host, ()).join();
        assert_eq!(found, Some(("zoë".to_owned(), "200".to_owned())));
        // A delegated closure runs on its worker's stack, or on that of the fiber that calls it.
        let here = entrust(false);
        assert!(here.apply(|_| regex::Regex::new(LOG_LINE).is_ok()));
    });
}

#[test]
fn json_that_is_nested_a_hundred_deep_is_read_and_written_on_a_default_stack() {
    in_runtime(2, || {
        let depth = |()| {
            let text = "{\"a\":[".repeat(50) + "1" + &"]}".repeat(50);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string_pretty(&value.clone()).unwrap().lines().count(), 2 * 100 + 1);
            assert_eq!(value.to_string(), text);
            format!("{value:?}").len() > text.len()
        };
        assert!(gossamer::spawn_on_with(Trustee::all()[1], depth, ()).join());
    });
}
