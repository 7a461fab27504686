//! The trace of one process: what is in it, that it is bounded, and when it is written.

use gossamer::{Config, Trust, Trustee, stream};
use integration_tests::{isolated, wait_until, watched, workers};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gossamer-test-{}-{name}.json", std::process::id()))
}

/// The trace in a file, if there is a complete one.
fn read(file: &PathBuf) -> Option<Value> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// The trace of a program, in a process of its own.
fn traced(name: &'static str, config: Config, body: fn(), look: fn(&Value)) {
    isolated(move || {
        let file = file(name);
        gossamer::run(config.trace(&file), body);
        let trace = read(&file);
        fs::remove_file(&file).unwrap();
        look(&trace.expect("a trace"));
    });
}

fn events(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().unwrap()
}

/// Fibers on two workers that ask one of them.
#[gossamer::delegate]
fn count_on_both() {
    let there = Trustee::all()[1].entrust(0_u64);
    let ask =
        |there: Trust<u64>| gossamer::spawn(move || (0..5).for_each(|_| there.apply(|count| *count += 1)));
    let fibers: Vec<_> = (0..4).map(|_| ask(there.clone())).collect();
    fibers.into_iter().for_each(|fiber| fiber.join());
}

#[test]
fn each_kind_of_event_is_in_a_trace() {
    let body = || {
        count_on_both();
        while gossamer::metrics().total().sleeps == 0 {
            gossamer::sleep(Duration::from_millis(20));
        }
        let (mut sender, mut receiver) = stream::pair(8_u64 << 20, stream::Options::default()).unwrap();
        let writes = std::thread::spawn(move || {
            sender.write_everything(&vec![1; 8 << 20]).unwrap();
            sender.finish().unwrap();
        });
        gossamer::unblock(move || {
            let mut bytes = Vec::new();
            receiver.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len(), 8 << 20);
            writes.join().unwrap();
        });
    };
    traced("kinds", workers(2).trace_every(1), body, |trace| {
        let names: BTreeSet<_> = events(trace).iter().map(|event| event["name"].as_str().unwrap()).collect();
        for name in [
            "send to worker 1",
            "answers of worker 1",
            "turn",
            "sleep",
            "blocks handed over",
            "blocks released",
            "phase: properties are dropped",
            "phase: workers end",
        ] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        for (kind, place) in [("serve worker 0: ", "traces.rs:"), ("fiber ", "traces.rs:")] {
            assert!(
                names.iter().any(|name| name.starts_with(kind) && name.contains(place)),
                "{kind}: {names:?}"
            );
        }
        let ids = |phase: &str| -> BTreeSet<u64> {
            let ends = events(trace).iter().filter(|event| event["ph"] == phase);
            ends.map(|event| event["id"].as_u64().unwrap()).collect()
        };
        let [sent, served, answered] = ["s", "t", "f"].map(ids);
        assert!(sent.len() >= 5 && sent == served && sent == answered, "{sent:?} {served:?} {answered:?}");
    });
}

#[test]
fn a_trace_keeps_the_last_events_and_says_how_many_it_has_lost() {
    let body = || {
        // Each turn of the fiber is a turn of its worker, and makes two events.
        (0..20_000).for_each(|_| gossamer::yield_now());
    };
    traced("bounded", workers(1).trace_every(1), body, |trace| {
        let lost = trace["otherData"]["gossamer"]["nodes"][0]["lost_events"].as_u64().unwrap();
        let slices = events(trace).iter().filter(|event| event["ph"] == "X").count();
        assert!(lost > 20_000 && slices <= 16 * 1024 && slices > 16_000, "{lost} lost, {slices} slices");
        let ends = events(trace).iter().any(|event| event["name"] == "phase: workers end");
        assert!(ends, "the last ones are kept");
    });
}

#[test]
fn one_of_many_events_is_kept_unless_something_else_is_said() {
    let body = || (0..6_400).for_each(|_| gossamer::yield_now());
    traced("sampled", workers(1), body, |trace| {
        assert_eq!(trace["otherData"]["gossamer"]["every"], 256);
        let turns = events(trace).iter().filter(|event| event["name"] == "turn").count();
        assert!((25..80).contains(&turns), "{turns} of some more than 6400 turns");
    });
}

#[test]
fn sigquit_writes_the_trace_of_a_program_that_goes_on() {
    isolated(|| {
        // A shell that has started this in the background makes it ignore the signal.
        // SAFETY: there is no handler yet.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
        let file = file("asked");
        let path = file.clone();
        gossamer::run(workers(2).trace(&file).trace_every(1), move || {
            let there = Trustee::all()[1].entrust(0_u64);
            there.apply(|count| *count += 1);
            assert!(read(&path).is_none(), "it is written later");
            let own = std::process::id().to_string();
            assert!(Command::new("kill").args(["-QUIT", &own]).status().unwrap().success());
            wait_until(|| {
                there.apply(|count| *count += 1);
                read(&path).is_some_and(|trace| events(&trace).iter().any(|event| event["ph"] == "f"))
            });
        });
        fs::remove_file(&file).unwrap();
    });
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_at_the_start() {
    watched(|| {
        let config = workers(1).trace("/no such folder/trace.json");
        let error = gossamer::try_run(config, || panic!("it has begun")).unwrap_err().to_string();
        for part in ["/no such folder/trace.json", "GOSSAMER_TRACE", "No such file"] {
            assert!(error.contains(part), "{error}");
        }
    });
}
