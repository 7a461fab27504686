//! What the system around the server does to it: limits of open files, signals, files and disks.

use crate::servers::{Directory, Server, exists, misused, misused_by, output_of, refused, refused_by};
use std::fs;
use std::process::Command;

#[test]
fn a_low_limit_of_open_files_is_raised_for_the_clients() {
    let server = Server::start_by("ulimit -Sn 100; exec \"$@\"", &[]);
    let mut clients: Vec<_> = (0..300).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.say("PING"), "+PONG\r\n"));
}

#[test]
fn a_limit_that_cannot_be_raised_lowers_maxclients_and_snapshots_are_made_all_the_same() {
    let directory = Directory::new();
    let mut server = Server::start_by("ulimit -n 100; exec \"$@\"", &["--dir", directory.text()]);
    let mut client = server.client();
    // 64 files for other things than clients, and 8 of each worker.
    assert!(client.say("CONFIG GET maxclients").ends_with("$2\r\n20\r\n"));
    let mut others: Vec<_> = (0..19).map(|_| server.client()).collect();
    others.iter_mut().for_each(|client| assert_eq!(client.say("PING"), "+PONG\r\n"));
    for _ in 0..3 {
        assert_eq!(server.client().hear_to_the_end(), b"-ERR max number of clients reached\r\n");
    }
    assert_eq!(client.say("SET a 1") + &client.say("SAVE"), "+OK\r\n+OK\r\n");
    let many = client.say("CONFIG SET maxclients 21");
    assert!(
        many.starts_with("-ERR CONFIG SET failed (possibly related to argument 'maxclients') - "),
        "{many}"
    );
    assert!(many.ends_with("try with 20\r\n"), "{many}");
    assert_eq!(client.say("CONFIG SET maxclients 19"), "+OK\r\n");
    server.signal("TERM");
    assert!(server.wait().success());
    let report = server.errors();
    assert!(report.contains("maxclients is 20 and not 10000"), "{report}");
    let report = refused_by("ulimit -n 80; exec \"$@\"", &[]);
    assert!(report.contains("ulimit -n"), "{report}");
}

#[test]
fn a_terminal_that_is_closed_does_not_take_the_keys_with_it() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_eq!(client.say("SET a 1"), "+OK\r\n");
    server.signal("HUP");
    server.signal("HUP");
    (0..100).for_each(|_| assert_eq!(client.say("GET a"), "$1\r\n1\r\n"));
    assert!(server.end().success());
}

#[test]
fn a_file_that_is_no_socket_is_left_alone_and_so_is_somebody_elses_socket() {
    let directory = Directory::new();
    let path = directory.0.join("notes");
    fs::write(&path, "precious").unwrap();
    let report = refused(&["--port", "0", "--unixsocket", path.to_str().unwrap()]);
    assert!(report.contains("cannot listen at"), "{report}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");

    // Nobody may take it for a server that serves.
    assert_eq!(output_of(&["--port", "0", "--unixsocket", path.to_str().unwrap()]), "");

    let path = directory.0.join("socket");
    let mut server = Server::start(&["--unixsocket", path.to_str().unwrap()]);
    server.line();
    fs::remove_file(&path).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(server.end().success());
    assert!(exists(&path));
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    for directory in ["/nonexistent", "/dev/null"] {
        let report = refused(&["--port", "0", "--dir", directory]);
        assert!(report.contains(&format!("--dir {directory}: ")), "{report}");
    }
    let misuses = [("--dbfilename", "a/b"), ("--maxclients", "0"), ("--threads", "0"), ("--bind", "a..b")];
    for (option, value) in misuses {
        let report = misused(&["--port", "0", option, value]);
        assert!(report.contains(option), "{report}");
    }
    assert_eq!(Server::start(&["--bind", "localhost"]).client().say("PING"), "+PONG\r\n");
}

#[test]
fn a_runtime_that_cannot_be_is_refused_as_an_option_is() {
    for threads in ["5000", "abc"] {
        let report = misused_by(&format!("GOSSAMER_THREADS={threads} exec \"$@\""), &[]);
        assert!(report.starts_with("hydra: ") && report.contains(threads), "{report}");
        assert_eq!(report.lines().count(), 1, "{report}");
    }
}

#[test]
fn a_full_disk_is_reported_and_the_snapshot_before_stays() {
    let directory = Directory::new();
    let mut probe = Command::new("unshare");
    probe.args(["-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "none", directory.text()]);
    if !probe.status().is_ok_and(|status| status.success()) {
        return eprintln!("no disk can be made here: skipped");
    }
    let script =
        "exec unshare -rm sh -c 'mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"' \"$DISK\" \"$@\"";
    let script = format!("DISK='{}'; {script}", directory.text());
    let server = Server::start_by(&script, &["--dir", directory.text()]);
    let mut client = server.client();
    assert_eq!(client.say("SET a 1") + &client.say("SAVE"), "+OK\r\n+OK\r\n");
    assert_eq!(client.ask(&[b"SET", b"large", &vec![b'v'; 200_000]]), b"+OK\r\n");
    for _ in 0..2 {
        let report = client.say("SAVE");
        assert!(report.contains("No space left on device"), "{report}");
    }
    // What was written of it is gone, and all goes on.
    assert_eq!(
        client.say("DEL large") + &client.say("SET b 2") + &client.say("SAVE"),
        ":1\r\n+OK\r\n+OK\r\n"
    );
    assert_eq!(client.say("MGET a b"), "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
}
