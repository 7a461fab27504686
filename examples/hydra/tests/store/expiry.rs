//! Keys that expire.

use crate::client::{Client, request};
use crate::servers::Server;

#[test]
fn keys_expire_when_they_are_asked_for_and_when_nobody_does() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for number in 0..1000 {
        client.say(&format!("SET key:{number} 1 PX 50"));
    }
    client.say("SET stays 1");
    client.say("SET later 1 EX 1000");
    while client.say("GET key:999") != "$-1\r\n" {}
    // DBSIZE counts every key, expired or not.
    while client.say("DBSIZE") != ":2\r\n" {}
    assert!(client.say("INFO stats").contains("expired_keys:1000\r\n"));
    assert!(client.say("INFO keyspace").contains("db0:keys=2,expires=1,"));
    // Earlier than what is waited for.
    client.say("SET sooner:1 1 PX 30");
    client.say("SET sooner:2 1");
    client.say("PEXPIRE sooner:2 40");
    while client.say("DBSIZE") != ":2\r\n" {}
    assert_eq!(client.say("EXPIRE later 0"), ":1\r\n");
    assert_eq!(client.say("KEYS *"), "*1\r\n$5\r\nstays\r\n");
}

/// Sends 20,000 requests at once, and hears the replies.
fn many(client: &mut Client, words: impl Fn(usize) -> Vec<String>) {
    let one = |number| request(&words(number).iter().map(String::as_bytes).collect::<Vec<_>>());
    let requests: Vec<u8> = (0..20_000).flat_map(one).collect();
    client.send(&requests);
    (0..20_000).for_each(|_| assert!(!client.hear().starts_with(b"-")));
}

/// Bytes of memory that the server says its keys take.
fn memory(client: &mut Client) -> u64 {
    let info = client.say("INFO memory");
    info.split("used_memory:").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap()
}

#[test]
fn a_key_that_gets_a_new_time_again_and_again_takes_no_more_memory() {
    let server = Server::start(&[]);
    let mut client = server.client();
    (0..10_000).for_each(|_| client.send(b"SET a 1 EX 1000\r\n"));
    (0..10_000).for_each(|_| assert_eq!(client.hear(), b"+OK\r\n"));
    let used = memory(&mut client);
    assert!(used < 10_000, "{used} bytes");
}

#[test]
fn what_is_removed_or_stays_before_its_time_leaves_no_time_in_memory() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let key = |number| format!("key:{number}");
    many(&mut client, |number| vec!["SET".into(), key(number), "1".into()]);
    let plain = memory(&mut client);
    many(&mut client, |number| vec!["EXPIRE".into(), key(number), "1000".into()]);
    many(&mut client, |number| vec!["PERSIST".into(), key(number)]);
    let used = memory(&mut client);
    assert!(used < plain + 10_000, "{used} bytes instead of {plain}");
    many(&mut client, |number| vec!["EXPIRE".into(), key(number), "1000".into()]);
    many(&mut client, |number| vec!["DEL".into(), key(number)]);
    let used = memory(&mut client);
    assert!(used < 10_000, "{used} bytes without a key");
}

#[test]
fn keys_with_a_time_make_room_when_they_are_removed_for_lack_of_memory() {
    for policy in ["allkeys-random", "volatile-lru", "volatile-ttl"] {
        let server = Server::start(&[]);
        let mut client = server.client();
        many(&mut client, |number| {
            vec!["SET".into(), format!("key:{number}"), "1".into(), "EX".into(), "1000".into()]
        });
        // Less than the times alone take.
        assert_eq!(client.say(&format!("CONFIG SET maxmemory-policy {policy} maxmemory 200kb")), "+OK\r\n");
        for number in 0..10 {
            assert_eq!(client.say(&format!("SET new:{number} 1")), "+OK\r\n", "{policy}");
        }
        let left: usize = client.say("DBSIZE")[1..].trim_end().parse().unwrap();
        assert!((1000..4000).contains(&left), "{left} keys are left by {policy}");
    }
}

#[test]
fn a_new_time_takes_no_more_of_a_processor_if_there_are_many_other_keys() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let words =
        |number| vec!["SET".into(), "a".into(), "1".into(), "PX".into(), format!("{}", 1_000_000 + number)];
    let taken = |client: &mut Client| {
        let before = server.processor_time();
        many(client, words);
        server.processor_time() - before
    };
    let alone = taken(&mut client);
    for part in 0..20 {
        many(&mut client, |number| vec!["SET".into(), format!("other:{part}:{number}"), "1".into()]);
    }
    let among_others = taken(&mut client);
    assert!(among_others < 10 * alone + 10, "{alone} and {among_others} ticks");
}

#[test]
fn nothing_expires_between_the_commands_of_a_transaction() {
    let server = Server::start(&[]);
    let mut client = server.client();
    // To compare these takes longer than the key lives.
    let texts = ["abcdefg".repeat(1000), "fcbgade".repeat(1000)];
    client.say(&format!("MSET one {} other {}", texts[0], texts[1]));
    client.say("MULTI");
    for line in ["SET short 1 PX 20", "DBSIZE", "LCS one other LEN", "TTL short", "GET short", "DBSIZE"] {
        assert_eq!(client.say(line), "+QUEUED\r\n");
    }
    let reply = client.say("EXEC");
    assert!(
        reply.starts_with("*6\r\n+OK\r\n:3\r\n:") && reply.ends_with(":0\r\n$1\r\n1\r\n:3\r\n"),
        "{reply}"
    );
    while client.say("GET short") != "$-1\r\n" {}
}

#[test]
fn a_list_that_is_rotated_keeps_its_time() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for line in [
        "LMOVE list list LEFT RIGHT",
        "LMOVE list list RIGHT RIGHT",
        "RPOPLPUSH list list",
        "BLMOVE list list LEFT LEFT 0",
        "BRPOPLPUSH list list 0",
    ] {
        client.say("DEL list");
        client.say("RPUSH list a");
        client.say("EXPIRE list 1000");
        assert_eq!(client.say(line), "$1\r\na\r\n", "{line}");
        assert_ne!(client.say("TTL list"), ":-1\r\n", "after {line}");
        assert_eq!(client.say("LRANGE list 0 -1"), "*1\r\n$1\r\na\r\n");
    }
}

#[test]
fn an_option_that_is_unknown_is_told_byte_by_byte_in_one_line() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_eq!(client.ask(&[b"EXPIRE", b"a", b"1", b"\xffb"]), b"-ERR Unsupported option \xffb\r\n");
    assert_eq!(client.ask(&[b"EXPIRE", b"a", b"1", b"c\r\nd"]), b"-ERR Unsupported option c  d\r\n");
}
