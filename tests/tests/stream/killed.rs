//! The process of one end is killed, at every stage: the other end soon gets an error.

use crate::{key, small};
use gossamer::stream::{Error, Options, Receiver, Route, Sender};
use integration_tests::watched;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LENGTH: u64 = 4 << 20;
const STAGES: [&str; 4] = ["met", "begun", "raw", "all"];

/// Where the environment asks for RDMA, only the ways that use it.
fn routes() -> Vec<Route> {
    if crate::rdma::is_asked_for() { vec![Route::Auto] } else { vec![Route::Auto, Route::Tcp] }
}

fn options(route: Route) -> Options {
    Options::from(small()).key(key()).route(route)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

/// The process that will be killed, at its stage.
#[test]
#[ignore = "the child of other tests"]
fn child() {
    let Ok(stage) = std::env::var("STAGE") else { return };
    let address: SocketAddr = variable("ADDRESS").parse().unwrap();
    let forks = std::env::var_os("FORKS").is_some();
    let options = match variable("ROUTE").as_str() {
        "Tcp" => options(Route::Tcp).connections(if forks { 2 } else { 1 }),
        _ => options(Route::Auto),
    };
    let here = || {
        if forks {
            fork_a_child_that_lives_on();
        }
        println!("here");
        std::thread::sleep(Duration::from_secs(600));
    };
    if variable("ROLE") == "sender" {
        let mut sender = Sender::connect(address, LENGTH, options).unwrap();
        match stage.as_str() {
            "begun" => sender.write_all(&[1; 300_000]).unwrap(),
            "all" => sender.write_all(&vec![1; LENGTH as usize]).unwrap(),
            "raw" => {
                let mut window = sender.into_window().unwrap();
                for block in 0..7 {
                    // SAFETY: from the front to the back.
                    unsafe { window.as_mut_ptr().wrapping_add(block << 16).write_volatile(1) };
                }
                return here();
            }
            _ => {}
        }
        here();
    } else {
        let mut receiver = Receiver::connect(address, options).unwrap();
        match stage.as_str() {
            "begun" => receiver.read_exact(&mut [0; 300_000]).unwrap(),
            // Everything is read, but not that this was everything.
            "all" => receiver.read_exact(&mut vec![0; LENGTH as usize]).unwrap(),
            "raw" => {
                let window = receiver.into_window().unwrap();
                for block in 0..7 {
                    // SAFETY: from the front to the back.
                    unsafe { window.as_ptr().wrapping_add(block << 16).read_volatile() };
                }
                return here();
            }
            _ => {}
        }
        here();
    }
}

fn fork_a_child_that_lives_on() {
    // SAFETY: the child makes system calls only.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: as above; it ends after a while, though it is asleep.
        unsafe { libc::alarm(30) };
        loop {
            // SAFETY: as above.
            unsafe { libc::pause() };
        }
    }
}

fn command(role: &str, stage: &str, route: Route, address: SocketAddr) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["killed::child", "--exact", "--ignored", "--nocapture"])
        .env("ROLE", role)
        .env("STAGE", stage)
        .env("ROUTE", format!("{route:?}"))
        .env("ADDRESS", address.to_string())
        .stdout(Stdio::piped());
    command
}

fn start(role: &str, stage: &str, route: Route, address: SocketAddr) -> Child {
    command(role, stage, route, address).spawn().unwrap()
}

/// Waits until the child is at its stage, and kills it.
fn kill_when_there(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("here")));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_receiver_hears_of_a_sender_that_was_killed() {
    watched(|| {
        for route in routes() {
            for stage in STAGES {
                let listener = Receiver::bind("127.0.0.1:0", options(route)).unwrap();
                let mut child = start("sender", stage, route, listener.local_addr().unwrap());
                let mut receiver = listener.accept().unwrap();
                // In the stage "all" the sender finishes only if this reads.
                let killing = std::thread::spawn(move || kill_when_there(&mut child));
                let mut received = Vec::new();
                let error = receiver.read_to_end(&mut received).unwrap_err().downcast::<Error>().unwrap();
                assert!(matches!(error, Error::PeerLost { .. }), "{route:?} {stage}: {error}");
                assert!(received.iter().all(|byte| *byte == 1 || stage == "raw"), "{route:?} {stage}");
                assert!(receiver.finish().is_err());
                killing.join().unwrap();
            }
        }
    });
}

#[test]
fn a_sender_hears_of_a_receiver_that_was_killed() {
    watched(|| {
        for route in routes() {
            for stage in STAGES {
                let listener = Sender::bind("127.0.0.1:0", LENGTH, options(route)).unwrap();
                let mut child = start("receiver", stage, route, listener.local_addr().unwrap());
                let mut sender = listener.accept().unwrap();
                let killing = std::thread::spawn(move || kill_when_there(&mut child));
                let outcome =
                    sender.write_everything(&vec![1; LENGTH as usize]).and_then(|()| sender.finish());
                let error = outcome.unwrap_err();
                assert!(matches!(error, Error::PeerLost { .. }), "{route:?} {stage}: {error}");
                killing.join().unwrap();
            }
        }
    });
}

#[test]
fn a_raw_reader_of_a_killed_sender_gets_an_error() {
    watched(|| {
        for route in routes() {
            for faults in crate::ways() {
                let listener = Receiver::bind("127.0.0.1:0", options(route).faults(faults)).unwrap();
                let mut child = start("sender", "begun", route, listener.local_addr().unwrap());
                let mut window = listener.accept().unwrap().into_window().unwrap();
                kill_when_there(&mut child);
                // SAFETY: in `try_with`.
                let sum =
                    window.try_with(|start| unsafe { crate::raw::read(start.cast(), LENGTH as usize / 8) });
                assert!(matches!(sum, Err(Error::PeerLost { .. })), "{sum:?}");
            }
        }
    });
}

#[test]
fn a_killed_end_is_gone_though_a_child_of_it_lives() {
    watched(|| {
        for route in routes() {
            let listener = Receiver::bind("127.0.0.1:0", options(route)).unwrap();
            let address = listener.local_addr().unwrap();
            let mut child = command("sender", "begun", route, address).env("FORKS", "1").spawn().unwrap();
            let mut receiver = listener.accept().unwrap();
            kill_when_there(&mut child);
            let error = receiver.read_to_end(&mut Vec::new()).unwrap_err().downcast::<Error>().unwrap();
            assert!(matches!(error, Error::PeerLost { .. }), "{route:?}: {error}");
        }
    });
}
