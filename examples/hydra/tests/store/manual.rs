//! COMMAND.

use crate::servers::Server;

#[test]
fn commands_are_described_counted_and_listed_alike() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let count: usize = client.say("COMMAND COUNT").trim()[1..].parse().unwrap();
    let heads = |reply: String| reply.split("\r\n").next().unwrap().to_owned();
    for line in ["COMMAND", "COMMAND INFO", "COMMAND LIST"] {
        assert_eq!(heads(client.say(line)), format!("*{count}"), "{line}");
    }
    assert_eq!(heads(client.say("COMMAND DOCS")), format!("*{}", 2 * count));
    assert_eq!(
        client.say("COMMAND DOCS nosuch Get"),
        "*2\r\n$3\r\nget\r\n*6\r\n$7\r\nsummary\r\n$15\r\nReads a string.\r\n$5\r\nsince\r\n$5\r\n1.0.0\r\n\
         $5\r\ngroup\r\n$6\r\nstring\r\n"
    );
    assert_eq!(
        client.say("COMMAND LIST FILTERBY PATTERN z*Card"),
        "*2\r\n$5\r\nzcard\r\n$10\r\nzintercard\r\n"
    );
    assert!(client.say("COMMAND INFO sort").starts_with(
        "*1\r\n*10\r\n$4\r\nsort\r\n:-2\r\n*3\r\n+write\r\n+denyoom\r\n+movablekeys\r\n:1\r\n:1\r\n:1\r\n"
    ));
}

#[test]
fn the_keys_of_a_request_are_told_without_doing_it() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (request, keys) in [
        ("get a", "a"),
        ("mset a 1 b 2", "a b"),
        ("blpop a b c 0", "a b c"),
        ("sort a by w* store x get # STORE b", "a b"),
        ("sort_ro a", "a"),
        ("zunionstore t 2 a b weights 1 2", "t a b"),
        ("bzmpop 0 2 a b min", "a b"),
        ("bitop and t a b", "t a b"),
    ] {
        let keys: Vec<_> = keys.split(' ').map(|key| format!("${}\r\n{key}\r\n", key.len())).collect();
        let reply = format!("*{}\r\n{}", keys.len(), keys.concat());
        assert_eq!(client.say(&format!("COMMAND GETKEYS {request}")), reply, "{request}");
    }
    for (request, why) in [
        ("nosuch a", "Invalid command specified"),
        ("ping a", "The command has no key arguments"),
        ("get a b", "Invalid number of arguments specified for command"),
        ("zunion 0 a", "Invalid arguments specified for command"),
        ("zunionstore d 9 a", "Invalid arguments specified for command"),
        ("lmpop x a left", "Invalid arguments specified for command"),
        ("object foo a", "Invalid command specified"),
        ("object help", "The command has no key arguments"),
    ] {
        assert_eq!(client.say(&format!("COMMAND GETKEYS {request}")), format!("-ERR {why}\r\n"), "{request}");
    }
}

#[test]
fn what_is_not_there_is_null() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_eq!(client.say("COMMAND INFO nosuch"), "*1\r\n$-1\r\n");
    for policy in ["allkeys-lru", "allkeys-lfu"] {
        client.say(&format!("CONFIG SET maxmemory-policy {policy}"));
        assert_eq!(client.say("OBJECT FREQ nosuch"), "$-1\r\n");
        assert_eq!(client.say("OBJECT IDLETIME nosuch"), "$-1\r\n");
    }
}
