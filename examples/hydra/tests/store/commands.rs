//! More than one request and one reply: lines, pieces, pipelines, scans, both kinds of sockets.

use crate::client::{Client, request};
use crate::program::next;
use crate::servers::{Directory, Server, exists, refused};
use std::collections::BTreeSet;

#[test]
fn lines_are_requests_too_and_may_have_quotations() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (line, reply) in [
        ("PING\r\n", "+PONG\r\n"),
        ("\r\n  set a  \"x y\\x41\\n\"\nGET a\r\n", "+OK\r\n"),
        ("", "$5\r\nx yA\n\r\n"),
        ("echo 'it\\'s'\r\n", "$4\r\nit's\r\n"),
    ] {
        client.send(line.as_bytes());
        assert_eq!(String::from_utf8_lossy(&client.hear()), reply, "{line:?}");
    }
}

#[test]
fn a_pipeline_is_answered_in_its_order_however_it_is_cut_into_pieces() {
    let server = Server::start(&[]);
    let mut state = 7;
    for _ in 0..20 {
        let mut client = server.client();
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for number in 0..100 {
            let (key, value) = (format!("key:{}", next(&mut state) % 50), format!("value:{number}"));
            bytes.extend(request(&[b"SET", key.as_bytes(), value.as_bytes()]));
            bytes.extend(request(&[b"GET", key.as_bytes()]));
            bytes.extend(request(&[b"EXISTS", key.as_bytes(), b"nosuch", key.as_bytes()]));
            bytes.extend(request(&[b"ECHO", value.as_bytes()]));
            let bulk = format!("${}\r\n{value}\r\n", value.len());
            expected.extend(format!("+OK\r\n{bulk}:2\r\n{bulk}").into_bytes());
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(1 + next(&mut state) as usize % 3000));
            client.send(piece);
            rest = behind;
        }
        let heard: Vec<u8> = (0..400).flat_map(|_| client.hear()).collect();
        assert!(heard == expected, "{}", String::from_utf8_lossy(&heard));
    }
}

#[test]
fn values_of_any_length_and_content_come_back() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for length in [0, 1, 1000, 1024, 1025, 16_383, 16_384, 100_000, 20_000_000] {
        let value: Vec<u8> = (0..length).map(|at: usize| (at * 7) as u8).collect();
        assert_eq!(client.ask(&[b"SET", b"\r\n\0key", &value]), b"+OK\r\n");
        let reply = client.ask(&[b"GET", b"\r\n\0key"]);
        assert!(
            reply == [format!("${length}\r\n").as_bytes(), &value, b"\r\n"].concat(),
            "of {length} bytes"
        );
    }
}

#[test]
fn a_scan_meets_all_keys_that_stay_while_others_come_and_go() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    for number in 0..2000 {
        client.ask(&[b"SET", format!("stays:{number}").as_bytes(), b"1"]);
    }
    let (mut cursor, mut found, mut step) = ("0".to_owned(), BTreeSet::new(), 0);
    loop {
        let reply = client.say(&format!("SCAN {cursor} MATCH stays:* COUNT 50"));
        let words: Vec<_> = reply.split("\r\n").collect();
        found.extend(words.iter().filter(|word| word.starts_with("stays:")).map(|word| (*word).to_owned()));
        cursor = words[2].to_owned();
        if cursor == "0" {
            break;
        }
        step += 1;
        other.say(&format!("SET goes:{step} 1"));
        other.say(&format!("DEL goes:{}", step / 2));
    }
    assert_eq!(found.len(), 2000);
    assert!(step > 20, "in many steps");
    assert_eq!(client.say("SCAN 0 TYPE list"), client.say("SCAN 0 MATCH nosuch"));
}

#[test]
fn a_unix_socket_serves_the_same_keys_and_is_gone_at_the_end() {
    let directory = Directory::new();
    let path = directory.0.join("socket");
    let server = Server::start(&["--unixsocket", path.to_str().unwrap()]);
    let mut tcp = server.client();
    assert_eq!(tcp.say("SET a 1"), "+OK\r\n");
    while !exists(&path) {
        std::thread::yield_now();
    }
    let mut unix = Client::connect_unix(path.to_str().unwrap());
    assert_eq!(unix.say("INCR a"), ":2\r\n");
    assert_eq!(tcp.say("GET a"), "$1\r\n2\r\n");
    assert!(server.end().success());
    assert!(!exists(&path));
}

#[test]
fn a_port_in_use_is_reported_and_a_path_too() {
    let directory = Directory::new();
    let path = directory.0.join("socket");
    let path = path.to_str().unwrap();
    let mut server = Server::start(&["--unixsocket", path]);
    assert_eq!(server.line(), format!("listening on {path}\n"));
    let port = server.address.rsplit(':').next().unwrap();
    let report = refused(&["--port", port]);
    assert!(report.contains(&format!("cannot listen at 127.0.0.1:{port}: ")), "{report}");
    let report = refused(&["--port", "0", "--unixsocket", path]);
    assert!(report.contains(&format!("cannot listen at {path}: ")), "{report}");
    assert_eq!(server.client().say("PING"), "+PONG\r\n");
}

#[test]
fn every_node_of_a_rack_serves_every_key() {
    let server = Server::start_rack(2);
    // The nodes share the port: some of these connections go to one node, some to the other.
    let mut clients: Vec<_> = (0..24).map(|_| server.client()).collect();
    for number in 0..clients.len() {
        let key = format!("key:{number}");
        assert_eq!(clients[number].say(&format!("SET {key} {number}")), "+OK\r\n");
        let expected = format!("${}\r\n{number}\r\n", number.to_string().len());
        clients.iter_mut().for_each(|client| assert_eq!(client.say(&format!("GET {key}")), expected));
    }
    assert_eq!(clients[0].say("MSET a 1 b 2 c 3 d 4 e 5"), "+OK\r\n");
    assert_eq!(clients[1].say("RENAME a z"), "+OK\r\n");
    assert_eq!(clients[2].say("DEL z b c d e nosuch"), ":5\r\n");
    assert_eq!(clients[3].say("DBSIZE"), ":24\r\n");
    assert_eq!(clients[4].say("CONFIG SET requirepass secret"), "+OK\r\n");
    let report = "-NOAUTH Authentication required.\r\n";
    (0..12).for_each(|_| assert_eq!(server.client().say("GET a"), report));
}
