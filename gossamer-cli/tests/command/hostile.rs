//! Peers that want to harm a daemon. Its applications must not notice, and it must stay reachable and small.

use crate::common::rack::Rack;
use crate::common::{WATCHDOG, eventually, finish, read_numbers, start};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

fn connect(rack: &Rack) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", rack.machines[0].1)).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    stream
}

/// Waits until the daemon has closed the connection, and returns what it said before.
fn closed(mut stream: TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    match stream.read_to_end(&mut said) {
        Ok(_) => said,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => said,
        Err(error) => panic!("the daemon keeps the connection: {error}"),
    }
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn resident_kibibytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Checks that the daemon has written no more than a line about refusals in ten seconds since it began.
fn assert_few_refusals(rack: &Rack, begun: Instant) {
    let log = rack.daemons[0].log();
    assert!(log.matches("refused").count() <= 1 + begun.elapsed().as_secs() as usize / 10, "{log}");
}

/// Does harm while an application runs, which must end well and print everything.
fn while_an_application_runs(rack: &Rack, harm: impl FnOnce()) {
    let script = "while read line; do echo $line; done; echo end";
    let mut started = start(rack.launch(1, script).stdin(Stdio::piped()));
    let mut input = started.child().stdin.take().unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut written = 0;
        while stopped.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
            if writeln!(input, "{written}").is_err() {
                // It has ended; its output is checked below.
                break;
            }
            written += 1;
        }
        written
    });
    harm();
    drop(stop);
    let written: usize = writer.join().unwrap();
    let finished = started.finish();
    finished.ended_with(0).was_quiet();
    assert_eq!(finished.out.lines().count(), written + 1);
}

#[test]
fn garbage_is_answered_by_silence() {
    let (rack, begun) = (Rack::new("garbage", 1), Instant::now());
    while_an_application_runs(&rack, || {
        for garbage in
            [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n and more than 48 bytes"[..], &[0; 48], &[0xff; 100_000]]
        {
            let mut stream = connect(&rack);
            // The daemon may close it before everything was written.
            let _ = stream.write_all(garbage);
            assert_eq!(closed(stream), b"");
        }
        let stream = connect(&rack);
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(closed(stream), b"");
    });
    rack.daemons[0].says("refused");
    assert_few_refusals(&rack, begun);
}

#[test]
fn peers_that_say_nothing_or_little_are_closed() {
    let rack = Rack::new("little", 1);
    while_an_application_runs(&rack, || {
        let silent = connect(&rack);
        let mut slow = connect(&rack);
        let mut half = connect(&rack);
        half.write_all(&[1; 47]).unwrap();
        let loris = std::thread::spawn(move || {
            while slow.write_all(&[1]).is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        assert_eq!(closed(silent), b"");
        assert_eq!(closed(half), b"");
        loris.join().unwrap();
    });
}

#[test]
fn thousands_of_connections_keep_nobody_out() {
    let (rack, begun) = (Rack::new("thousands", 1), Instant::now());
    let daemon = rack.daemons[0].process.pid();
    while_an_application_runs(&rack, || {
        let before = (open_files(daemon), resident_kibibytes(daemon));
        let mut held = Vec::new();
        for round in 0..3000 {
            let mut stream = connect(&rack);
            if round % 2 == 0 {
                let _ = stream.write_all(&[1; 20]);
            }
            if round % 10 == 0 {
                held.push(stream);
            }
            if round % 500 == 0 {
                rack.ask("status", &[]).ended_with(0);
            }
        }
        rack.ask("status", &[]).ended_with(0);
        eventually("few connections are left open", || open_files(daemon) <= before.0 + 70);
        assert!(resident_kibibytes(daemon) < before.1 + 20_000);
        drop(held);
    });
    assert_few_refusals(&rack, begun);
}

/// Passes on a connection from a port of its own, after `closed` others that it closes; returns what the client said.
/// `change` sees each piece of it.
fn proxy(
    rack: &Rack,
    closed: usize,
    mut change: impl FnMut(usize, &mut [u8]) + Send + 'static,
) -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let daemon = connect(rack);
    let passing = std::thread::spawn(move || {
        (0..closed).for_each(|_| drop(listener.accept().unwrap()));
        let (client, _) = listener.accept().unwrap();
        let (mut from_daemon, mut to_client) = (daemon.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || {
            // Either side may disconnect first.
            let _ = std::io::copy(&mut from_daemon, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });
        let (mut client, mut daemon, mut said, mut piece) = (client, daemon, Vec::new(), [0; 1000]);
        while let Ok(length @ 1..) = client.read(&mut piece) {
            change(said.len(), &mut piece[..length]);
            said.extend_from_slice(&piece[..length]);
            if daemon.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = daemon.shutdown(Shutdown::Write);
        said
    });
    (port, passing)
}

/// A configuration by which the machine is reached through another port.
fn through(rack: &Rack, port: u16) -> std::process::Command {
    let config = rack.scratch.path("through.toml");
    let text = format!("key = \"key\"\n[[machine]]\nname = \"a\"\naddress = \"127.0.0.1:{port}\"\n");
    std::fs::write(&config, text).unwrap();
    let mut command =
        crate::common::gossamer(&["run", "--config", config.to_str().unwrap(), "--", "/bin/sh", "-c"]);
    command.arg(format!("echo ran >>{}", rack.scratch.path("traces").display()));
    command
}

#[test]
fn a_recorded_launch_cannot_be_sent_again() {
    let rack = Rack::new("recorded", 1);
    let traces = || std::fs::read_to_string(rack.scratch.path("traces")).unwrap_or_default().lines().count();
    let (port, passing) = proxy(&rack, 0, |_, _| {});
    finish(&mut through(&rack, port)).ended_with(0);
    let recorded = passing.join().unwrap();
    assert_eq!(traces(), 1);
    while_an_application_runs(&rack, || {
        for _ in 0..3 {
            let mut stream = connect(&rack);
            let _ = stream.write_all(&recorded);
            // The handshake gets an answer, which tells nothing without the key.
            assert!(closed(stream).len() <= 48);
        }
    });
    assert_eq!(traces(), 1);
}

#[test]
fn a_launcher_that_is_turned_away_in_a_crowd_comes_again() {
    let rack = Rack::new("crowd", 1);
    let (port, passing) = proxy(&rack, 3, |_, _| {});
    finish(&mut through(&rack, port)).ended_with(0);
    passing.join().unwrap();
    assert!(rack.scratch.path("traces").exists());
}

#[test]
fn a_launch_that_is_changed_on_the_way_starts_nothing() {
    let rack = Rack::new("changed", 1);
    for place in [0_usize, 40, 48, 50, 60, 90, 200] {
        let (port, passing) = proxy(&rack, 0, move |begin, piece| {
            if let Some(byte) = place.checked_sub(begin).and_then(|offset: usize| piece.get_mut(offset)) {
                *byte ^= 1;
            }
        });
        finish(&mut through(&rack, port)).ended_with(3);
        passing.join().unwrap();
    }
    assert!(!rack.scratch.path("traces").exists());
    finish(&mut rack.launch(1, "true")).ended_with(0);
}

#[test]
fn a_flood_of_wrong_keys_does_not_disturb() {
    let (rack, other) = (Rack::new("flood", 1), Rack::without_daemons("flood-other", 1));
    let begun = Instant::now();
    let config = other.config(0);
    let text =
        format!("key = \"key\"\n[[machine]]\nname = \"a\"\naddress = \"127.0.0.1:{}\"\n", rack.machines[0].1);
    std::fs::write(&config, text).unwrap();
    while_an_application_runs(&rack, || {
        let started: Vec<_> = (0..40).map(|_| start(&mut other.command(0, "kill", &["00000000"]))).collect();
        for started in started {
            started.finish().ended_with(3).said("does not know the key");
        }
    });
    assert_few_refusals(&rack, begun);
}

#[test]
fn an_application_cannot_be_ended_by_one_that_crashes() {
    let rack = Rack::new("crashes", 2);
    while_an_application_runs(&rack, || {
        for signal in ["SEGV", "KILL", "ABRT"] {
            let status = match signal {
                "SEGV" => 139,
                "KILL" => 137,
                _ => 134,
            };
            finish(&mut rack.launch(2, &format!("kill -{signal} $$"))).ended_with(status);
        }
        // It kills all processes of its own group, and whatever else it may.
        let mut started = start(&mut rack.launch(2, "echo $$; kill -KILL 0; sleep 1000"));
        read_numbers(started.child(), 2);
        started.finish().ended_with(137);
    });
}
