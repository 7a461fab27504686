//! How clients and signals end the server, and what is saved then.

use crate::client::Client;
use crate::servers::{Directory, Server};
use std::thread;
use std::time::Duration;

/// Puts this many megabytes into a server, so that a snapshot takes a while.
fn fill(client: &mut Client, megabytes: usize) {
    for number in 0..megabytes {
        let key = format!("large:{number}");
        assert_eq!(client.ask(&[b"SET", key.as_bytes(), &vec![b'v'; 1 << 20]]), b"+OK\r\n");
    }
}

/// Counts up a key until the server ends; returns the last number that was acknowledged.
fn count_up(mut client: Client, key: &str) -> u64 {
    let mut acknowledged = 0;
    while client.try_say(&format!("SET {key} {}", acknowledged + 1)) == "+OK\r\n" {
        acknowledged += 1;
    }
    acknowledged
}

#[test]
fn shutdown_ends_the_server_without_a_reply_and_saves_if_it_is_told_to() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    for (how, keys) in [("SHUTDOWN", 0), ("SHUTDOWN SAVE", 1), ("shutdown nosave", 1)] {
        let mut server = Server::start(&arguments);
        let mut client = server.client();
        if how == "SHUTDOWN SAVE" {
            assert_eq!(client.say("SET saved 1"), "+OK\r\n");
        } else {
            // As the test before has left it.
            assert_eq!(client.say("DBSIZE"), if how == "SHUTDOWN" { ":0\r\n" } else { ":1\r\n" });
            assert_eq!(client.say("SET lost 1"), "+OK\r\n");
        }
        client.send(format!("{how}\r\n").as_bytes());
        assert_eq!(client.hear_to_the_end(), b"");
        assert!(server.wait().success(), "{how}");
        let server = Server::start(&arguments);
        assert_eq!(server.client().say("DBSIZE"), format!(":{keys}\r\n"), "after {how}");
    }
}

#[test]
fn shutdown_by_any_node_ends_all_and_what_it_does_not_know_is_refused() {
    let mut server = Server::start_rack_with(2, &[]);
    let mut client = server.client();
    assert_eq!(client.say("SHUTDOWN ABORT"), "-ERR No shutdown in progress.\r\n");
    assert_eq!(client.say("SHUTDOWN SAVE NOSAVE"), "-ERR syntax error\r\n");
    assert_eq!(client.say("SHUTDOWN soon"), "-ERR syntax error\r\n");
    client.send(b"SHUTDOWN NOW\r\n");
    assert_eq!(client.hear_to_the_end(), b"");
    assert!(server.wait().success());
}

#[test]
fn a_shutdown_that_cannot_save_is_refused_unless_it_is_forced() {
    let directory = Directory::new();
    let gone = directory.0.join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut server = Server::start(&["--dir", gone.to_str().unwrap()]);
    std::fs::remove_dir(&gone).unwrap();
    let mut client = server.client();
    let refused = "-ERR Errors trying to SHUTDOWN. Check logs.\r\n";
    let writers = ["a", "b", "c", "d"].map(|key| {
        let client = server.client();
        thread::spawn(move || count_up(client, key))
    });
    for _ in 0..20 {
        assert_eq!(client.say("SHUTDOWN SAVE"), refused);
        // Those who were kept waiting are served.
        let before = client.say("MGET a b c d");
        while client.say("MGET a b c d") == before {}
    }
    client.send(b"SHUTDOWN SAVE FORCE\r\n");
    assert_eq!(client.hear_to_the_end(), b"");
    assert!(server.wait().success());
    assert!(server.errors().contains("SHUTDOWN SAVE: cannot save to"));
    writers.into_iter().for_each(|writer| assert!(writer.join().unwrap() > 0));
}

#[test]
fn what_is_acknowledged_while_a_shutdown_saves_is_in_the_snapshot() {
    for nodes in [1, 2] {
        let directory = Directory::new();
        let arguments = ["--dir", directory.text()];
        let start = || {
            if nodes == 1 { Server::start(&arguments) } else { Server::start_rack_with(nodes, &arguments) }
        };
        let mut server = start();
        let mut client = server.client();
        fill(&mut client, 32);
        let keys = ["a", "b", "c", "d", "e", "f"];
        let writers: Vec<_> = keys
            .map(|key| {
                let client = server.client();
                thread::spawn(move || count_up(client, key))
            })
            .into();
        thread::sleep(Duration::from_millis(100));
        client.send(b"SHUTDOWN SAVE\r\n");
        assert_eq!(client.hear_to_the_end(), b"");
        assert!(server.wait().success());
        let acknowledged: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        drop(server);
        let server = start();
        let mut client = server.client();
        for (key, acknowledged) in keys.iter().zip(acknowledged) {
            let saved = client.say(&format!("INCRBY {key} 0"));
            let saved: u64 = saved[1..].trim_end().parse().unwrap();
            // The last one may have had no reply.
            assert!(
                acknowledged > 0 && (acknowledged..=acknowledged + 1).contains(&saved),
                "{key} on {nodes} nodes: {saved} of {acknowledged}"
            );
        }
    }
}

#[test]
fn a_shutdown_saves_although_a_snapshot_is_being_made() {
    for how in ["SHUTDOWN SAVE", "SHUTDOWN SAVE FORCE"] {
        let directory = Directory::new();
        let arguments = ["--dir", directory.text()];
        let mut server = Server::start(&arguments);
        let mut client = server.client();
        fill(&mut client, 32);
        client.send(format!("BGSAVE\r\nSET late 1\r\n{how}\r\n").as_bytes());
        assert_eq!(client.hear_to_the_end(), b"+Background saving started\r\n+OK\r\n", "{how}");
        assert!(server.wait().success(), "{how}");
        let server = Server::start(&arguments);
        assert_eq!(server.client().say("GET late"), "$1\r\n1\r\n", "after {how}");
    }
}

#[test]
fn a_signal_to_any_node_ends_all_of_them() {
    for node in [0, 1] {
        let mut server = Server::start_rack(2);
        assert_eq!(server.client().say("SET a 1"), "+OK\r\n");
        server.signal_node(node, "TERM");
        assert!(server.wait().success());
        assert_eq!(server.line(), "ended by SIGTERM\n");
    }
}
