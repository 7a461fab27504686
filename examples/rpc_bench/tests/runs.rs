//! Runs `rpc_bench` as its users do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

fn command(millis: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc_bench"));
    command.args(["--threads", "2", "--millis", millis]).args(arguments);
    command
}

fn rpc_bench(millis: &str, arguments: &[&str]) -> Output {
    command(millis, arguments).output().unwrap()
}

/// The numbers of a key, one for each measurement.
fn numbers(output: &Output, key: &str) -> Vec<f64> {
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.map(|row| row[key].as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn each_measurement_is_an_object_and_its_latencies_are_in_order() {
    let output = rpc_bench(
        "50",
        &["--json", "--fibers", "1,8", "--batch", "1,4", "--bytes", "0,64", "--load", "20,60"],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (rates, bytes) = (numbers(&output, "requests_per_second"), numbers(&output, "bytes"));
    // For each number of bytes four closed loops, and two open ones.
    assert_eq!(bytes, [[0.0; 6], [64.0; 6]].concat());
    assert!(rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
    let rows = numbers(&output, "median_us").into_iter().zip(numbers(&output, "p99_us"));
    let rows = rows.zip(numbers(&output, "p999_us")).zip(numbers(&output, "longest_us"));
    for (((median, p99), p999), longest) in rows {
        assert!(
            0.0 < median && median <= p99 && p99 <= p999 && p999 <= longest,
            "{median} {p99} {p999} {longest}"
        );
    }
}

#[test]
fn an_open_loop_at_a_low_rate_is_served_at_that_rate() {
    let output = rpc_bench("500", &["--json", "--fibers", "1", "--rate", "2000"]);
    let answered = numbers(&output, "requests_per_second")[1];
    let unsent = numbers(&output, "unsent")[1];
    // Requests that are due are sent, or reported as not sent; 1000 requests at random moments are 800 to 1200.
    assert!((1600.0..2400.0).contains(&(answered + 2.0 * unsent)), "{answered} {unsent}");
}

#[test]
fn a_rate_that_nobody_can_send_ends_in_time_and_says_how_much_was_not_sent() {
    let output = rpc_bench("50", &["--json", "--fibers", "1", "--rate", "1000000000000000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(numbers(&output, "unsent")[1] > 1e12);
    // All that was sent was due at the very beginning, and answered as fast as servers can.
    assert!(numbers(&output, "requests_per_second")[1] > 0.0);
    // Nearly all have waited since they were due, which is half of the time on average.
    let median = numbers(&output, "median_us")[1];
    assert!((20_000.0..35_000.0).contains(&median), "{median}");
}

#[test]
fn a_table_says_who_asked_whom_and_wrong_options_are_named() {
    let output = rpc_bench("50", &["--fibers", "2", "--load", "50", "--servers", "1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("nodes: 1, servers: 1, clients: 1;"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 3, "{text}");
    let endless =
        Command::new(env!("CARGO_BIN_EXE_rpc_bench")).args(["--millis", "18446744073709551615"]).output();
    let endless = endless.unwrap();
    let errors = String::from_utf8_lossy(&endless.stderr);
    assert!(endless.status.code() == Some(2) && errors.contains("which is a day"), "{errors}");
    for (arguments, expected) in [
        (["--bytes", "7"], "--bytes 7: a request captures one of"),
        (["--fibers", "0"], "--fibers 0: at least 1"),
        (["--fibers", "100001"], "--fibers 100001: at most 100000"),
        (["--fibers", "18446744073709551615"], "at most 100000"),
        (["--batch", "5000"], "--batch 5000: at most 3906, since 256 fibers"),
        (["--batch", "18446744073709551615"], "at most 3906"),
        (["--servers", "3"], "there are 2 workers"),
        (["--load", "0"], "measures nothing"),
    ] {
        let output = rpc_bench("50", &arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn each_measurement_is_printed_as_soon_as_it_is_made() {
    // The others take so long that a busy machine sees the first one before they are made.
    let fibers = ["1"; 100].join(",");
    for form in [&[][..], &["--json"]] {
        let mut command = command("300", &["--fibers", &fibers]);
        let mut child = command.args(form).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut rows = lines.map(Result::unwrap).filter(|line| line.contains("fiber"));
        let (first, ended) = (rows.next(), child.try_wait().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(first.is_some() && ended.is_none(), "{form:?}: {first:?}, {ended:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_a_reader_that_has_seen_enough_is_none() {
    for arguments in [&["--fibers", "1"][..], &["--fibers", "1", "--json"]] {
        let full = File::create("/dev/full").unwrap();
        let output = command("10", arguments).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with("rpc_bench: standard output: No space left"), "{errors}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command("10", arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    }
}

#[test]
fn no_workers_at_all_are_refused_whatever_the_environment_says() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rpc_bench"));
    let output = command.args(["--threads", "0"]).env("GOSSAMER_THREADS", "1").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && errors.contains("invalid value '0' for '--threads"),
        "{errors}"
    );
}

#[test]
fn a_time_in_which_nothing_is_answered_is_named() {
    let output = rpc_bench("1", &["--fibers", "100", "--batch", "10000", "--bytes", "1024"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let expected = "rpc_bench: --millis 1: no closed loop had an answer in that time";
    assert!(output.status.code() == Some(2) && errors.starts_with(expected), "{errors}");
}
