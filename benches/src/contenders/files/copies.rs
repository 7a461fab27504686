//! The tools that people use now.

use super::{port, timed};
use crate::measure::{Sample, Setting};
use crate::partner::Partner;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Tries to reach a receiver before it is given up.
const TRIES: usize = 200;

/// netcat.
pub fn nc(setting: &Setting) -> Sample {
    let (port, receiver) = (port(), "nc");
    timed(setting, |place, to| {
        let mut server = Command::new(receiver);
        server.args(["-l", "127.0.0.1", &port]).stdin(Stdio::null()).stdout(create(to));
        let mut client = Command::new("nc");
        client.args(["-N", "127.0.0.1", &port]);
        run(server, || {
            client.stdin(open(&place.path("file")));
            done(&mut client)
        });
    })
}

/// socat.
pub fn socat(setting: &Setting) -> Sample {
    let port = port();
    timed(setting, |place, to| {
        let mut server = Command::new("socat");
        server.args(["-u", &format!("TCP-LISTEN:{port},bind=127.0.0.1"), &format!("OPEN:{to},creat")]);
        let mut client = Command::new("socat");
        client.args(["-u", &format!("FILE:{}", place.path("file")), &format!("TCP:127.0.0.1:{port}")]);
        run(server, || done(&mut client));
    })
}

/// mbuffer, with as much memory as our ring.
pub fn mbuffer(setting: &Setting) -> Sample {
    let port = port();
    timed(setting, |place, to| {
        let mut server = Command::new("mbuffer");
        server.args(["-q", "-f", "-m", "16M", "-s", "1M", "-I", &format!("127.0.0.1:{port}"), "-o", to]);
        let mut client = Command::new("mbuffer");
        client.args(["-q", "-m", "16M", "-s", "1M", "-i", &place.path("file"), "-O"]);
        client.arg(format!("127.0.0.1:{port}"));
        run(server, || done(&mut client));
    })
}

/// rsync's daemon and its client, without comparing with what is there.
pub fn rsync(setting: &Setting) -> Sample {
    let port = port();
    let sample = timed(setting, |place, _| {
        let configuration = place.path("rsyncd.conf");
        // SAFETY: a system call without arguments.
        let user = unsafe { libc::geteuid() };
        let text = format!(
            "use chroot = no\nlog file = /dev/null\nuid = {user}\ngid = *\n[into]\npath = {}\nread only = no\n",
            place.path("into")
        );
        assert!(std::fs::write(&configuration, text).is_ok(), "no configuration");
        let mut server = Command::new("rsync");
        server.args([
            "--daemon",
            "--no-detach",
            "--address=127.0.0.1",
            "--port",
            &port,
            "--config",
            &configuration,
        ]);
        let _server = Partner::of(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        let mut client = Command::new("rsync");
        client.args(["--whole-file", &place.path("file"), &format!("rsync://127.0.0.1:{port}/into/")]);
        again(|| done(&mut client));
    });
    // The daemon's children are not ours.
    Sample::new(sample.operations, sample.seconds, f64::NAN)
}

/// Starts a receiver, and a sender as soon as the receiver is ready, and waits for both.
fn run(mut server: Command, send: impl FnMut() -> bool) {
    let server = Partner::of(server.stderr(Stdio::null()));
    again(send);
    server.join();
}

fn again(mut send: impl FnMut() -> bool) {
    let sent = (0..TRIES).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        send()
    });
    assert!(sent, "the receiver was not reached");
}

fn done(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn open(path: &str) -> File {
    File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn create(path: &str) -> File {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}
