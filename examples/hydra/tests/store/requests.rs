//! Commands with many keys: how many requests shards get, and that the replies are the same.

use crate::client::{Client, request};
use crate::servers::{Directory, Server};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

/// More keys than requests that a command may take.
const KEYS: usize = 4000;
const MOST_REQUESTS: u64 = 200;

/// A server, and how many requests its workers have sent to each other.
struct Counted {
    server: Server,
    directory: Directory,
}

impl Counted {
    fn start() -> Self {
        let directory = Directory::new();
        let script = format!("export GOSSAMER_METRICS=unix:{}; exec \"$@\"", directory.text());
        Self { server: Server::start_by(&script, &[]), directory }
    }

    fn requests(&self) -> u64 {
        let mut stream = UnixStream::connect(self.directory.0.join("0")).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let sent = text.lines().filter(|line| line.starts_with("gossamer_requests_sent_total{"));
        let sent: Vec<_> = sent.filter(|line| line.contains("route=\"process\"")).collect();
        assert!(!sent.is_empty(), "{text}");
        sent.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }
}

fn keys(prefix: &str) -> Vec<String> {
    (0..KEYS).map(|number| format!("{prefix}:{number}")).collect()
}

/// A command of words and keys.
fn ask(client: &mut Client, before: &str, keys: &[String], behind: &str) -> String {
    let words = before.split(' ').chain(keys.iter().map(String::as_str));
    let words = words.chain(behind.split(' ').filter(|word| !word.is_empty()));
    let words: Vec<_> = words.map(str::as_bytes).collect();
    String::from_utf8_lossy(&client.ask(&words)).into_owned()
}

#[test]
fn a_command_of_many_keys_sends_each_shard_few_requests() {
    let counted = Counted::start();
    let mut client = counted.server.client();
    let (sets, absent, new) = (keys("set"), keys("absent"), keys("new"));
    let adds = sets.iter().flat_map(|key| request(&[b"SADD", key.as_bytes(), b"all", &key.as_bytes()[..5]]));
    client.send(&adds.collect::<Vec<_>>());
    sets.iter().for_each(|_| assert_eq!(client.hear(), b":2\r\n"));
    let pairs =
        |keys: &[String]| keys.iter().flat_map(|key| [key.clone(), "1".to_owned()]).collect::<Vec<_>>();
    let number = format!("{KEYS}");
    for (before, keys, behind, expected) in [
        ("EXISTS", &sets, "", ":4000\r\n"),
        ("TOUCH", &sets, "", ":4000\r\n"),
        (&format!("LMPOP {number}"), &absent, "LEFT", "*-1\r\n"),
        (&format!("ZMPOP {number}"), &absent, "MIN", "*-1\r\n"),
        (&format!("BLMPOP 0.01 {number}"), &absent, "LEFT", "*-1\r\n"),
        ("BZPOPMIN", &absent, "0.01", "*-1\r\n"),
        ("SINTER", &sets, "", "*1\r\n$3\r\nall\r\n"),
        ("SUNIONSTORE target", &sets, "", ":11\r\n"),
        ("SDIFF", &sets, "", "*1\r\n$5\r\nset:0\r\n"),
        ("SINTERSTORE target", &sets, "", ":1\r\n"),
        (&format!("SINTERCARD {number}"), &sets, "", ":1\r\n"),
        (&format!("ZINTER {number}"), &sets, "", "*1\r\n$3\r\nall\r\n"),
        (&format!("ZDIFF {number}"), &sets, "", "*1\r\n$5\r\nset:0\r\n"),
        (&format!("ZUNIONSTORE target {number}"), &sets, "", ":11\r\n"),
        (&format!("ZINTERCARD {number}"), &sets, "", ":1\r\n"),
        ("BITOP OR target", &absent, "", ":0\r\n"),
        ("MSETNX", &pairs(&new), "", ":1\r\n"),
        ("MSETNX", &pairs(&new), "", ":0\r\n"),
        ("WATCH", &new, "", "+OK\r\n"),
        ("UNWATCH", &Vec::new(), "", "+OK\r\n"),
        ("DEL", &new, "", ":4000\r\n"),
    ] {
        let before_it = counted.requests();
        let reply = ask(&mut client, before, keys, behind);
        let sent = counted.requests() - before_it;
        assert!(sent < MOST_REQUESTS, "{before} took {sent} requests");
        assert_eq!(reply, expected, "{before}");
    }
    // What is watched is looked at together, and forgotten together.
    for is_changed in [false, true] {
        assert_eq!(ask(&mut client, "WATCH", &new, ""), "+OK\r\n");
        if is_changed {
            client.say("SET new:77 1");
        }
        let before = counted.requests();
        client.send(b"MULTI\r\nPING\r\nEXEC\r\n");
        let replies: Vec<_> = (0..3).map(|_| client.hear()).collect();
        assert_eq!(replies[2], if is_changed { &b"*-1\r\n"[..] } else { b"*1\r\n+PONG\r\n" });
        let sent = counted.requests() - before;
        assert!(sent < MOST_REQUESTS, "EXEC took {sent} requests");
    }
}

#[test]
fn the_first_of_many_keys_that_has_something_is_the_one_to_pop_from() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let keys = keys("list");
    let lmpop = format!("LMPOP {KEYS}");
    for at in [3999, 2000, 2, 1, 0] {
        client.say(&format!("RPUSH list:{at} a b"));
        let name = &keys[at];
        let expected = format!("*2\r\n${}\r\n{name}\r\n*1\r\n$1\r\na\r\n", name.len());
        assert_eq!(ask(&mut client, &lmpop, &keys, "LEFT"), expected);
    }
    // One that is no list is refused if no list comes before it.
    client.say("SET list:3 text");
    assert!(ask(&mut client, &lmpop, &keys, "LEFT").starts_with("*2\r\n$6\r\nlist:0\r\n"));
    client.say("DEL list:0 list:1 list:2");
    assert!(ask(&mut client, &lmpop, &keys, "LEFT").starts_with("-WRONGTYPE"));
    client.say("DEL list:3");
    assert!(ask(&mut client, &lmpop, &keys, "LEFT").starts_with("*2\r\n$9\r\nlist:2000\r\n"));
}

#[test]
fn large_values_of_several_shards_that_come_piece_by_piece_are_combined() {
    combine_large_values(&Server::start(&[]));
}

#[test]
fn large_values_of_other_nodes_are_combined() {
    combine_large_values(&Server::start_rack(2));
}

fn combine_large_values(server: &Server) {
    let mut client = server.client();
    // So large that a shard replies one or two at a time; every set has the members of the sets after it.
    let sets: Vec<_> = (0..12).map(|number| format!("set:{number}")).collect();
    let member = |number: usize| [number.to_string().as_bytes(), &[b'a'; 300_000]].concat();
    for (at, key) in sets.iter().enumerate() {
        for number in at..14 {
            assert_eq!(client.ask(&[b"SADD", key.as_bytes(), &member(number)]), b":1\r\n");
        }
        client.ask(&[b"SET", format!("text:{at}").as_bytes(), &vec![1 << (at % 8); 400_000 + at]]);
    }
    assert_eq!(ask(&mut client, "SUNIONSTORE target", &sets, ""), ":14\r\n");
    assert_eq!(ask(&mut client, "SINTERSTORE target", &sets, ""), ":3\r\n");
    assert_eq!(ask(&mut client, "SDIFFSTORE target", &sets, ""), ":1\r\n");
    assert_eq!(ask(&mut client, "SDIFFSTORE target", &[sets[0].clone(), sets[5].clone()], ""), ":5\r\n");
    assert_eq!(ask(&mut client, "ZUNIONSTORE target 12", &sets, ""), ":14\r\n");
    let score = client.ask(&[b"ZSCORE", b"target", &member(13)]);
    assert_eq!(String::from_utf8_lossy(&score), "$2\r\n12\r\n");
    let texts: Vec<_> = (0..12).map(|number| format!("text:{number}")).collect();
    assert_eq!(ask(&mut client, "BITOP OR target", &texts, ""), ":400011\r\n");
    assert_eq!(client.say("GETRANGE target 399999 399999").as_bytes(), "$1\r\n\u{fffd}\r\n".as_bytes());
    assert_eq!(client.say("BITCOUNT target 0 399999"), ":3200000\r\n");
    assert_eq!(client.say("BITCOUNT target 400010 400010"), ":1\r\n");
}

#[test]
fn large_values_that_come_piece_by_piece_are_of_one_moment() {
    let server = Server::start(&[]);
    let texts: Vec<_> = (0..8).map(|number| format!("text:{number}")).collect();
    let set_all = |client: &mut Client, value: u8| {
        let text = vec![value; 600_000];
        let pairs = texts.iter().flat_map(|key| [key.as_bytes(), &text]);
        assert_eq!(client.ask(&[&b"MSET"[..]].into_iter().chain(pairs).collect::<Vec<_>>()), b"+OK\r\n");
    };
    let (mut writer, mut reader) = (server.client(), server.client());
    set_all(&mut writer, 0);
    thread::scope(|scope| {
        scope.spawn(|| (0..40).for_each(|value| set_all(&mut writer, value)));
        for _ in 0..40 {
            assert_eq!(ask(&mut reader, "BITOP XOR target", &texts, ""), ":600000\r\n");
            assert_eq!(reader.say("BITCOUNT target"), ":0\r\n", "all texts were the same");
        }
    });
}

#[test]
fn a_sum_over_many_keys_comes_before_large_replies_of_commands_behind_it() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let keys = keys("key");
    client.ask(&[b"SET", b"large", &vec![b'a'; 2 << 20]]);
    let pairs = keys.iter().flat_map(|key| [key.clone(), "1".to_owned()]).collect::<Vec<_>>();
    assert_eq!(ask(&mut client, "MSET", &pairs, ""), "+OK\r\n");
    let get = request(&[b"GET", b"large"]);
    let delete: Vec<_> = [&b"DEL"[..]].into_iter().chain(keys.iter().map(|key| key.as_bytes())).collect();
    client.send(&[&get[..], &get, &request(&delete), &get, &get].concat());
    let lengths: Vec<_> = (0..5).map(|_| client.hear().len()).collect();
    let large = (2 << 20) + b"$2097152\r\n\r\n".len();
    assert_eq!(lengths, [large, large, b":4000\r\n".len(), large, large]);
}
