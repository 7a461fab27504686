//! Patterns match as in redis: compared where it is installed.

use crate::client::Client;
use crate::program::next;
use crate::servers::{Directory, Server};
use std::collections::BTreeSet;

/// A text of these bytes, up to this long.
fn random(state: &mut u64, bytes: &[u8], longest: u64) -> Vec<u8> {
    let length = next(state) % (longest + 1);
    (0..length).map(|_| bytes[(next(state) % bytes.len() as u64) as usize]).collect()
}

/// The elements of an array, in an order of their own.
fn elements(reply: &[u8]) -> BTreeSet<String> {
    reply.escape_ascii().to_string().split("$").skip(1).map(str::to_owned).collect()
}

/// As redis 7.0.15 replies.
#[test]
fn patterns_of_stars_match_the_empty_key_only_if_they_are_not_looked_at() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let one = b"*1\r\n$0\r\n\r\n";
    client.ask(&[b"SET", b"", b"1"]);
    client.ask(&[b"HSET", b"hash", b"", b"value"]);
    assert_eq!(client.ask(&[b"KEYS", b""]), one);
    assert_eq!(elements(&client.say("KEYS *").into_bytes()).len(), 2);
    assert_eq!(client.say("KEYS **"), "*1\r\n$4\r\nhash\r\n");
    assert_eq!(elements(client.say("SCAN 0 COUNT 100 MATCH *").as_bytes()).len(), 3);
    assert_eq!(elements(client.say("SCAN 0 COUNT 100 MATCH **").as_bytes()).len(), 2);
    assert_eq!(elements(client.say("HSCAN hash 0 MATCH *").as_bytes()).len(), 3);
    assert_eq!(elements(client.say("HSCAN hash 0 MATCH **").as_bytes()).len(), 1);
    // A channel without a name.
    let mut subscriber = server.client();
    subscriber.ask(&[b"SUBSCRIBE", b""]);
    assert_eq!(client.say("PUBSUB CHANNELS"), "*1\r\n$0\r\n\r\n");
    assert_eq!(client.say("PUBSUB CHANNELS *"), "*0\r\n");
    assert_eq!(client.ask(&[b"PUBSUB", b"CHANNELS", b""]), one);
    subscriber.ask(&[b"PSUBSCRIBE", b"*"]);
    assert_eq!(client.ask(&[b"PUBLISH", b"", b"text"]), b":1\r\n");
    // Bytes from 0x80 on come before the others.
    client.ask(&[b"MSET", b"\xff", b"1", b"\x80", b"1", b"b", b"1"]);
    assert_eq!(client.ask(&[b"KEYS", b"[b-\xff]"]).escape_ascii().to_string().matches("$1").count(), 2);
}

#[test]
fn random_patterns_match_the_keys_that_they_match_in_redis() {
    let directory = Directory::new();
    let Some(redis) = Server::start_redis(&directory) else {
        eprintln!("redis-server is not installed: nothing to compare with");
        return;
    };
    let server = Server::start(&[]);
    let (mut state, mut clients) = (7, [server.client(), redis.client()]);
    let mut both = |words: &[&[u8]]| clients.each_mut().map(|client: &mut Client| client.ask(words));
    both(&[b"SET", b"", b"1"]);
    for _ in 0..300 {
        let key = random(&mut state, b"aab-]^[\\*?c\x80\xff", 5);
        both(&[b"SET", &key, b"1"]);
    }
    for _ in 0..3000 {
        let pattern = random(&mut state, b"**??[[]]^--\\aabc\x80\xff", 9);
        let [ours, expected] = both(&[b"KEYS", &pattern]).map(|reply| elements(&reply));
        assert_eq!(ours, expected, "{}", pattern.escape_ascii());
    }
}
