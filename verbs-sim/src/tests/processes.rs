//! Two processes: each has its own devices, and packets travel between them.

use super::kit::*;
use crate::types::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A second process, which runs the rest of a test, and prints where its queue pair is.
struct Other {
    process: Child,
    place: Place,
}

fn told(place: Place) -> String {
    let gid = u128::from_be_bytes(place.gid);
    format!("PLACE {} {} {gid} {} {}", place.number, place.psn, place.address, place.rkey)
}

fn heard(line: &str) -> Option<Place> {
    let numbers = line.split_once("PLACE ")?.1.split_whitespace();
    let n: Vec<u128> = numbers.map(|number| number.parse().unwrap()).collect();
    let gid = n[2].to_be_bytes();
    Some(Place { number: n[0] as u32, psn: n[1] as u32, gid, address: n[3] as u64, rkey: n[4] as u32 })
}

impl Other {
    /// Starts it and connects with it.
    fn start(test: &str, end: &End) -> Self {
        let mut command = child(test, "other");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(process.stdin.as_mut().unwrap(), "{}", told(end.place())).unwrap();
        let lines = BufReader::new(process.stdout.as_mut().unwrap()).lines();
        let place = lines.map(|line| line.unwrap()).find_map(|line| heard(&line)).unwrap();
        end.connect(place);
        Self { process, place }
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

/// The end in the second process, connected with that in the first; it serves until the first process closes the pipe.
fn other(plan: Plan, mut serve: impl FnMut(&End)) {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let peer = heard(&line).unwrap();
    let end = End::new(plan);
    assert_ne!(end.place().number, peer.number);
    end.connect(peer);
    println!("{}", told(end.place()));
    loop {
        if is_readable(0, 0) {
            return;
        }
        serve(&end);
        std::thread::yield_now();
    }
}

#[test]
fn writes_reads_and_immediates_go_between_processes() {
    if is_child("other") {
        let mut next = 1;
        return other(Plan::default(), |end| {
            while end.receive(next) == 0 {
                next += 1;
            }
            if let Some(wc) = end.poll() {
                assert_eq!(wc.status, IBV_WC_SUCCESS);
                // It is there when its completion is.
                let value = end.get(0);
                end.set(8, [value + 1]);
            }
        });
    }
    let end = End::new(Plan { timeout: 14, retries: 7, ..Plan::default() });
    let other = Other::start("tests::processes::writes_reads_and_immediates_go_between_processes", &end);
    for round in 1..200 {
        end.set(0, [round * 10; WORDS - 8]);
        end.post(&[
            Work::write(1, 0, end.words(0, WORDS - 16), other.place, 16),
            Work::immediate(2, SIGNALED, end.words(0, 1), other.place, 0, 3),
        ]);
        assert_eq!(end.statuses(1), [(2, IBV_WC_SUCCESS)]);
        wait_for(|| {
            end.post(&[Work::read(3, SIGNALED, end.words(WORDS - 1, 1), other.place, 8)]);
            assert_eq!(end.statuses(1), [(3, IBV_WC_SUCCESS)]);
            (end.get(WORDS - 1) == round * 10 + 1).then_some(())
        });
    }
    other.end();
}

#[test]
fn keys_are_checked_by_the_process_whose_memory_it_is() {
    if is_child("other") {
        return other(Plan::default(), |_| {});
    }
    let end = End::new(Plan { timeout: 14, retries: 7, ..Plan::default() });
    let other = Other::start("tests::processes::keys_are_checked_by_the_process_whose_memory_it_is", &end);
    let place = Place { rkey: other.place.rkey ^ 0xff00, ..other.place };
    end.post(&[Work::write(1, 0, end.words(0, 1), place, 0), Work::write(2, 0, end.words(0, 1), place, 0)]);
    assert_eq!(end.statuses(2), [(1, IBV_WC_REM_ACCESS_ERR), (2, IBV_WC_WR_FLUSH_ERR)]);
    let unacknowledged = other;
    unacknowledged.end();
}

#[test]
fn a_killed_process_is_a_silent_peer() {
    if is_child("other") {
        return other(Plan::default(), |_| {});
    }
    let end = End::new(Plan { timeout: 13, retries: 2, ..Plan::default() });
    let mut other = Other::start("tests::processes::a_killed_process_is_a_silent_peer", &end);
    let work = |id| Work::write(id, SIGNALED, end.words(0, 1), other.place, 0);
    end.post(&[work(1)]);
    assert_eq!(end.statuses(1), [(1, IBV_WC_SUCCESS)]);
    other.process.kill().unwrap();
    other.process.wait().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(end.poll().is_none(), "an idle queue pair does not notice");
    end.post(&[work(2), work(3)]);
    assert_eq!(end.statuses(2), [(2, IBV_WC_RETRY_EXC_ERR), (3, IBV_WC_WR_FLUSH_ERR)]);
}

#[test]
fn requests_under_way_to_a_process_that_is_killed_end_with_retry_exceeded() {
    if is_child("other") {
        return other(Plan::default(), |_| {});
    }
    let end = End::new(Plan { timeout: 13, retries: 2, ..Plan::default() });
    let test = "tests::processes::requests_under_way_to_a_process_that_is_killed_end_with_retry_exceeded";
    let mut other = Other::start(test, &end);
    // Without a receive they stay under way for ever.
    end.post(&[Work::immediate(1, SIGNALED, end.words(0, 1), other.place, 0, 0)]);
    std::thread::sleep(Duration::from_millis(20));
    other.process.kill().unwrap();
    assert_eq!(end.statuses(1), [(1, IBV_WC_RETRY_EXC_ERR)]);
    other.process.wait().unwrap();
}
