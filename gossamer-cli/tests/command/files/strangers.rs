//! `gossamer recv` and strangers who know nothing but its port: they neither end it nor keep its sender out.

use crate::common::files::{Waiting, all_well, assert_same, noise, recv, waiting};
use crate::common::rack::Rack;
use crate::common::{Scratch, Started, eventually, finish, gossamer, start};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A file, and an empty directory for it.
fn scene(name: &str) -> (Scratch, PathBuf, PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, noise(1, 100_000)).unwrap();
    fs::create_dir(&to).unwrap();
    (scratch, from, to)
}

/// Threads of strangers, until this is dropped.
struct Strangers(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Strangers {
    /// This many strangers, each of whom does this again and again.
    fn new(count: usize, harm: impl Fn() + Clone + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|_| {
            let (stop, harm) = (Arc::clone(&stop), harm.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    harm();
                }
            })
        });
        Self(Arc::clone(&stop), threads.collect())
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Says something to the listener there, and waits until the connection ends, or for half a second.
fn hold(address: SocketAddr, says: &[u8]) {
    let Ok(mut socket) = TcpStream::connect(address) else { return thread::sleep(Duration::from_millis(1)) };
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut answer = [0; 100];
    // It may be closed before everything was said.
    let _ = socket.write_all(says).and_then(|()| socket.read(&mut answer));
}

fn address(receiver: &Waiting) -> SocketAddr {
    receiver.address.parse().unwrap()
}

#[test]
fn requests_of_another_protocol_do_not_end_the_receiver() {
    let (_scratch, from, to) = scene("strangers-http");
    let receiver = recv(&to, &[]);
    for _ in 0..30 {
        hold(address(&receiver), b"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: scanner/1.0.....\r\n\r\n");
    }
    let finished = receiver.transfer(&[&from], &[]);
    all_well(&finished);
    finished.1.said("turned away");
    assert_same(&from, &to.join("file"));
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    for count in [32, 200] {
        let (_scratch, from, to) = scene(&format!("strangers-idle-{count}"));
        let receiver = recv(&to, &[]);
        let at = address(&receiver);
        let strangers = Strangers::new(count, move || hold(at, b""));
        thread::sleep(Duration::from_millis(300));
        all_well(&receiver.transfer(&[&from], &[]));
        drop(strangers);
        assert_same(&from, &to.join("file"));
    }
}

/// `gossamer recv` and `gossamer send` with the key of a rack.
fn by_rack(rack: &Rack, command: &str, arguments: &[&str]) -> Command {
    let mut all = rack.command(0, command, &["--rack", "--json"]);
    all.args(arguments);
    all
}

#[test]
fn a_first_message_that_was_recorded_keeps_nobody_out() {
    let (_scratch, from, to) = scene("strangers-replay");
    let rack = Rack::without_daemons("strangers-replay-rack", 1);
    let (file, output) = (from.to_str().unwrap(), to.to_str().unwrap());
    // An impostor receives it in place of the receiver.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let fake = listener.local_addr().unwrap().to_string();
    let sender = start(&mut by_rack(&rack, "send", &[file, "--to", &fake]));
    let mut recorded = [0; 48];
    listener.accept().unwrap().0.read_exact(&mut recorded).unwrap();
    drop(listener);
    sender.finish().ended_with(3);
    let receive = ["--listen", "127.0.0.1:0", "--output", output];
    let receiver = waiting(&mut by_rack(&rack, "recv", &receive));
    let at = address(&receiver);
    let mut held: Vec<TcpStream> = Vec::new();
    for index in 0..70 {
        let mut socket = TcpStream::connect(at).unwrap();
        socket.write_all(&recorded).unwrap();
        // The answer tells nothing without the key, and is given once.
        assert_eq!(socket.read_exact(&mut [0; 48]).is_ok(), index == 0);
        // It is followed by a piece of a message that never ends.
        let _ = socket.write_all(&[0xff]);
        held.push(socket);
    }
    let sent = finish(&mut by_rack(&rack, "send", &[file, "--to", &receiver.address]));
    all_well(&(sent, receiver.started.finish()));
    assert_same(&from, &to.join("file"));
    drop(held);
}

#[test]
fn a_peer_that_drips_is_closed_by_one_deadline_for_all_it_says() {
    let (_scratch, _from, to) = scene("strangers-drip");
    let receiver: Started = {
        let receiver = recv(&to, &[]);
        let mut socket = TcpStream::connect(address(&receiver)).unwrap();
        socket.set_nodelay(true).unwrap();
        eventually("it is closed", || socket.write_all(&[1]).is_err());
        receiver.started
    };
    receiver.signal("TERM");
}

#[test]
fn the_port_stays_the_receivers_from_the_code_to_the_stream() {
    for round in 0..8 {
        let (_scratch, from, to) = scene(&format!("strangers-port-{round}"));
        let receiver = recv(&to, &[]);
        let at = address(&receiver);
        // Whoever gets the port keeps all who come.
        let grabbers = Strangers::new(1, move || {
            if let Ok(listener) = TcpListener::bind(at) {
                listener.set_nonblocking(true).unwrap();
                let _held: Vec<_> = (0..50)
                    .map(|_| {
                        thread::sleep(Duration::from_millis(10));
                        listener.accept().ok()
                    })
                    .collect();
            }
        });
        all_well(&receiver.transfer(&[&from], &[]));
        drop(grabbers);
        assert_same(&from, &to.join("file"));
    }
}

#[test]
fn a_transfer_by_code_speaks_of_the_code_and_one_by_the_rack_of_its_key() {
    let (_scratch, from, _to) = scene("strangers-words");
    let rack = Rack::without_daemons("strangers-words-rack", 1);
    let file = from.to_str().unwrap();
    // It answers, but not like a peer that knows the key.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let answering = thread::spawn(move || {
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().unwrap();
            socket.read_exact(&mut [0; 48]).unwrap();
            socket.write_all(&[7; 48]).unwrap();
        }
    });
    let code = ["send", file, "--to", &at, "--code", "0000-1111-2222-3333-4444"];
    let by_code = finish(&mut gossamer(&code));
    by_code.ended_with(3).said("does not accept the code");
    assert!(!by_code.err.contains("rack"), "{by_code:?}");
    let by_key = finish(&mut by_rack(&rack, "send", &[file, "--to", &at]));
    by_key.ended_with(3).said("does not accept the rack's key");
    answering.join().unwrap();
}
