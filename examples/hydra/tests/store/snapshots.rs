//! Snapshots: what was saved comes back, completely or not at all.

use crate::client::request;
use crate::program::next;
use crate::servers::{Directory, Server, exists, refused};
use std::fs;
use std::time::Duration;

fn fill(server: &Server, value: &str) {
    let mut client = server.client();
    let requests: String = (0..5000).map(|number| format!("SET key:{number} {value}:{number}\r\n")).collect();
    client.send(requests.as_bytes());
    (0..5000).for_each(|_| assert_eq!(client.hear(), b"+OK\r\n"));
}

#[test]
fn what_was_saved_is_there_after_a_crash_and_nothing_else() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    let server = Server::start(&arguments);
    fill(&server, "first");
    let mut client = server.client();
    client.ask(&[b"SET", b"binary\r\n\0", &vec![0xff; 3_000_000], b"EX", b"100000"]);
    assert_eq!(client.say("SAVE"), "+OK\r\n");
    fill(&server, "second");
    server.kill();
    let server = Server::start(&arguments);
    let mut client = server.client();
    assert_eq!(client.say("DBSIZE"), ":5001\r\n");
    assert_eq!(client.say("GET key:77"), "$8\r\nfirst:77\r\n");
    assert_eq!(client.ask(&[b"STRLEN", b"binary\r\n\0"]), b":3000000\r\n");
    let left = client.ask(&[b"TTL", b"binary\r\n\0"]);
    assert!(left == b":100000\r\n" || left.starts_with(b":99"), "{}", String::from_utf8_lossy(&left));
}

#[test]
fn a_snapshot_is_of_one_moment_although_keys_change_while_it_is_made() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    for round in 0..5 {
        let server = Server::start(&arguments);
        let (mut client, mut other) = (server.client(), server.client());
        fill(&server, &format!("before:{round}"));
        assert_eq!(client.say("BGSAVE"), "+Background saving started\r\n");
        for number in 0..5000 {
            other.send(format!("SET key:{number} after\r\n").as_bytes());
        }
        (0..5000).for_each(|_| assert_eq!(other.hear(), b"+OK\r\n"));
        while client.say("SAVE") != "+OK\r\n" {}
        assert_eq!(client.say("BGSAVE"), "+Background saving started\r\n");
        other.say("FLUSHALL");
        // At an arbitrary moment.
        server.kill();
        let server = Server::start(&arguments);
        assert_eq!(server.client().say("DBSIZE"), ":5000\r\n");
    }
}

#[test]
fn a_server_that_is_killed_at_any_moment_comes_back_with_one_whole_snapshot() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    let keys: Vec<String> = (0..5000).map(|number| format!("key:{number}")).collect();
    let mget = format!("MGET {}", keys.join(" "));
    let of = |round: usize| {
        let values = (0..5000).map(|number| format!("round{round}:{number}"));
        let values: String = values.map(|value| format!("${}\r\n{value}\r\n", value.len())).collect();
        format!("*5000\r\n{values}")
    };
    let (mut random, mut saved) = (std::process::id().into(), 0);
    for round in 1..9 {
        let server = Server::start(&arguments);
        let mut client = server.client();
        if round > 1 {
            let found = client.say(&mget);
            saved = [saved, round - 1]
                .into_iter()
                .find(|saved| found == of(*saved))
                .expect("values of one round");
        }
        fill(&server, &format!("round{round}"));
        if round == 1 {
            assert_eq!(client.say("SAVE"), "+OK\r\n");
            saved = 1;
        } else {
            assert_eq!(client.say("BGSAVE"), "+Background saving started\r\n");
        }
        let changes: String = keys.iter().map(|key| format!("SET {key} later\r\n")).collect();
        server.client().send(changes.as_bytes());
        // It takes about 5 ms.
        std::thread::sleep(Duration::from_micros(next(&mut random) % 10_000));
        server.kill();
    }
}

#[test]
fn what_is_sent_after_or_behind_a_save_in_the_background_is_not_in_it() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    let path = directory.0.join("dump.hydra");
    let keys = ["a", "b", "c", "d"];
    let commands =
        |value: &str| keys.map(|key| request(&[b"SET", key.as_bytes(), value.as_bytes()])).concat();
    for round in 0..8 {
        let server = Server::start(&arguments);
        let mut client = server.client();
        client.send(&commands("before"));
        keys.iter().for_each(|_| assert_eq!(client.hear(), b"+OK\r\n"));
        let save = request(&[b"BGSAVE"]);
        if round % 2 == 0 {
            client.send(&[save, commands("after")].concat());
            assert_eq!(client.hear(), b"+Background saving started\r\n");
        } else {
            client.send(&save);
            assert_eq!(client.hear(), b"+Background saving started\r\n");
            client.send(&commands("after"));
        }
        keys.iter().for_each(|_| assert_eq!(client.hear(), b"+OK\r\n"));
        while !exists(&path) {
            std::thread::yield_now();
        }
        server.kill();
        let server = Server::start(&arguments);
        let saved = "*4\r\n".to_owned() + &"$6\r\nbefore\r\n".repeat(4);
        assert_eq!(server.client().say("MGET a b c d"), saved, "in round {round}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_snapshot_that_is_cut_off_or_changed_is_refused_with_its_name() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text(), "--port", "0"];
    let server = Server::start(&arguments[..2]);
    fill(&server, "value");
    server.client().say("SAVE");
    server.kill();
    let path = directory.0.join("dump.hydra");
    let whole = fs::read(&path).unwrap();
    for length in [0, 10, 16, 20, 40, whole.len() / 2, whole.len() - 30, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let report = refused(&arguments);
        assert!(
            report.contains(path.to_str().unwrap()) && report.contains("the snapshot is cut off"),
            "{report}"
        );
    }
    for at in [3, 18, 30, whole.len() / 2, whole.len() - 5] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, changed).unwrap();
        let report = refused(&arguments);
        assert!(report.contains(path.to_str().unwrap()), "{report}");
    }
    fs::write(&path, [whole.as_slice(), &whole].concat()).unwrap();
    let report = refused(&arguments);
    assert!(report.contains("there is more behind the end of the snapshot"), "{report}");
    fs::write(&path, whole).unwrap();
    assert_eq!(Server::start(&arguments[..2]).client().say("DBSIZE"), ":5000\r\n");
}

#[test]
fn a_directory_that_cannot_be_written_is_reported_and_nothing_is_lost() {
    let server = Server::start(&["--dir", "/proc"]);
    let mut client = server.client();
    client.say("SET a 1");
    let report = client.say("SAVE");
    assert!(report.starts_with("-ERR cannot save to /proc/dump.hydra: "), "{report}");
    assert_eq!(client.say("GET a"), "$1\r\n1\r\n");
    assert!(client.say("SAVE").starts_with("-ERR cannot save"), "it may be tried again");
}
