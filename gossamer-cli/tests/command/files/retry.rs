//! `gossamer send --retry` and `--timeout`: an interrupted transfer continues by itself, as often and as long as it
//! may.

use crate::common::files::{Waiting, all_well, assert_same, event, noise, recv, waiting};
use crate::common::rack::Rack;
use crate::common::{Scratch, eventually, gossamer, start};
use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

const LENGTH: usize = 24 << 20;

/// Passes connections on to a receiver, and cuts them.
struct Line {
    address: String,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(receiver: &str) -> Self {
        let (listener, receiver) = (TcpListener::bind("127.0.0.1:0").unwrap(), receiver.to_owned());
        let (address, connections) = (listener.local_addr().unwrap().to_string(), Arc::default());
        let all: Arc<Mutex<Vec<TcpStream>>> = Arc::clone(&connections);
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, Ok(far)) = (near.unwrap(), TcpStream::connect(&receiver)) else { continue };
                let clone = |stream: &TcpStream| stream.try_clone().unwrap();
                all.lock().unwrap().extend([clone(&near), clone(&far)]);
                for (mut from, mut to) in [(clone(&near), clone(&far)), (far, near)] {
                    thread::spawn(move || {
                        let _carried = io::copy(&mut from, &mut to);
                        let _ended = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        Self { address, connections }
    }

    fn cut(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            let _cut = connection.shutdown(Shutdown::Both);
        }
    }
}

/// A file to send, where it is to arrive, and how much of it is there meanwhile.
fn file(name: &str) -> (Scratch, PathBuf, PathBuf, PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to, part) = (scratch.path("file"), scratch.path("to"), scratch.path("to/file.gossamer-part"));
    fs::write(&from, noise(1, LENGTH)).unwrap();
    fs::create_dir(&to).unwrap();
    (scratch, from, to, part)
}

fn arrived(part: &Path) -> u64 {
    fs::metadata(part).map_or(0, |metadata| metadata.len())
}

#[test]
fn a_transfer_that_is_cut_goes_on_by_itself() {
    let (_scratch, from, to, part) = file("retry-cut");
    let receiver = recv(&to, &[]);
    let line = Line::to(&receiver.address);
    let through = Waiting { address: line.address.clone(), ..receiver };
    let slow = ["--retry", "--limit-rate", "8m", "--streams", "1"];
    let sender = start(&mut through.sender(&[&from], &slow));
    for wanted in [LENGTH / 4, LENGTH / 2] {
        eventually("contents arrive", || arrived(&part) >= wanted as u64);
        line.cut();
    }
    let both = (sender.finish(), through.started.finish());
    let (_, received) = all_well(&both);
    assert_same(&from, &to.join("file"));
    let (sent, again) = (event(&both.0, "retry"), event(&both.1, "waiting again"));
    assert_eq!(
        (&sent["seconds"], &sent["try"], &sent["of"]),
        (&1.into(), &1.into(), &10.into()),
        "progress counts"
    );
    assert!(sent["why"].as_str().unwrap().starts_with("the receiver"), "{sent}");
    assert!(again["seconds"].as_u64().unwrap() > 300, "{again}");
    let moved = received["moved"].as_u64().unwrap();
    assert!(moved < (LENGTH + LENGTH / 4) as u64, "{moved} bytes came, of {LENGTH}");
}

#[test]
fn a_receiver_that_was_started_again_is_found() {
    let rack = Rack::without_daemons("retry-restart", 1);
    let (_scratch, from, to, part) = file("retry-restarted");
    let config = rack.config(0);
    let receive = |listen: &str| {
        let mut command = gossamer(&["recv", "--listen", listen, "--json", "--rack", "--config"]);
        waiting(command.arg(&config).arg("--output").arg(&to))
    };
    let receiver = receive("127.0.0.1:0");
    let mut sender = gossamer(&["send", "--json", "--retry=5", "--limit-rate", "8m", "--rack", "--config"]);
    let sender = start(sender.arg(&config).args(["--to", &receiver.address]).arg(&from));
    eventually("contents arrive", || arrived(&part) >= LENGTH as u64 / 4);
    receiver.started.signal("KILL");
    receiver.started.finish();
    let before = arrived(&part);
    let both = (sender, receive(&receiver.address).started);
    let both = (both.0.finish(), both.1.finish());
    let (_, received) = all_well(&both);
    assert_eq!(received["moved"].as_u64().unwrap(), LENGTH as u64 - before, "the rest is sent");
    assert_same(&from, &to.join("file"));
}

#[test]
fn tries_come_to_an_end() {
    let (_scratch, from, to, part) = file("retry-end");
    let receiver = recv(&to, &[]);
    let sender = start(&mut receiver.sender(&[&from], &["--retry=2", "--limit-rate", "8m"]));
    eventually("contents arrive", || arrived(&part) > 0);
    receiver.started.signal("KILL");
    let finished = sender.finish();
    assert_eq!(event(&finished, "retry")["try"], 2);
    finished.ended_with(3).said("cannot send to");
    // If the receiver was never there, there is no further try.
    let finished = start(&mut receiver.sender(&[&from], &["--retry"])).finish();
    assert!(!finished.ended_with(3).err.contains("retry"), "{finished:?}");
}

#[test]
fn a_receiver_stays_for_another_sender_with_its_code_if_the_first_one_would_have_come_again() {
    let (_scratch, from, to, part) = file("retry-stays");
    let receiver = recv(&to, &[]);
    let sender = start(&mut receiver.sender(&[&from], &["--retry", "--limit-rate", "8m"]));
    eventually("contents arrive", || arrived(&part) > 0);
    sender.signal("KILL");
    sender.finish();
    let sender = start(&mut receiver.sender(&[&from], &[]));
    all_well(&(sender.finish(), receiver.started.finish()));
    assert_same(&from, &to.join("file"));
}

#[test]
fn a_transfer_ends_when_its_time_is_up() {
    let (_scratch, from, to, part) = file("timeout");
    let receiver = recv(&to, &[]);
    let sender = start(&mut receiver.sender(&[&from], &["--timeout", "4s", "--limit-rate", "1m"]));
    sender.finish().ended_with(124).said("within 4s");
    receiver.started.finish().ended_with(75);
    assert!(part.exists(), "what has arrived is kept");
    // One that was not waited for long enough to get an address is no exception.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let code = "0000-0000-0000-0000-0000";
    let sender = start(gossamer(&["send", "--to", &to, "--code", code, "--timeout", "500ms"]).arg(&from));
    sender.finish().ended_with(124);
}

#[test]
fn what_cannot_be_tried_again_is_a_mistake() {
    let arguments = ["send", "-", "--to", "127.0.0.1:1", "--code", "0000-0000-0000-0000-0000", "--retry"];
    start(&mut gossamer(&arguments)).finish().ended_with(2).said("standard input cannot be sent again");
    for wrong in ["--retry=0", "--timeout=0", "--timeout=soon"] {
        start(&mut gossamer(&["send", "file", "--to", "127.0.0.1:1", wrong])).finish().ended_with(2);
    }
}
