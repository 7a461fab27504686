//! Several keys of one command or transaction, while others change them.

use crate::client::Client;
use crate::servers::Server;
use std::thread;

/// So many keys that every shard has some.
const KEYS: usize = 8;

fn set_all(value: usize) -> String {
    (0..KEYS).fold("MSET".to_owned(), |command, key| format!("{command} key:{key} {value}"))
}

fn get_all() -> String {
    (0..KEYS).fold("MGET".to_owned(), |command, key| format!("{command} key:{key}"))
}

/// The one value that all keys have.
#[track_caller]
fn common_value(reply: &str) -> &str {
    let values: Vec<_> = reply.split("\r\n").skip(2).step_by(2).take(KEYS).collect();
    assert!(values.len() == KEYS && values.iter().all(|value| *value == values[0]), "all or none: {reply:?}");
    values[0]
}

#[test]
fn several_keys_are_set_and_read_at_one_moment() {
    let server = Server::start(&[]);
    server.client().say(&set_all(0));
    thread::scope(|scope| {
        for writer in 0..3 {
            let mut client = server.client();
            scope.spawn(move || {
                (0..100).for_each(|round| assert_eq!(client.say(&set_all(writer * 1000 + round)), "+OK\r\n"));
            });
        }
        let mut client = server.client();
        scope.spawn(move || (0..200).for_each(|_| drop(common_value(&client.say(&get_all())).to_owned())));
    });
}

#[test]
fn commands_of_several_keys_that_come_together_are_each_done_at_one_moment_and_in_their_order() {
    let server = Server::start(&[]);
    server.client().say(&set_all(0));
    let keys = get_all().replace("MGET", "");
    thread::scope(|scope| {
        for writer in 1..4 {
            let (mut client, keys) = (server.client(), &keys);
            scope.spawn(move || {
                for round in 0..20 {
                    let mut lines = String::new();
                    let mut expected = Vec::new();
                    for number in 0..40 {
                        lines += &(set_all(writer * 1000 + round) + "\r\n");
                        expected.push("+OK\r\n".to_owned());
                        // Commands that share no hold, in between.
                        if number % 11 == 0 {
                            lines +=
                                &format!("EXISTS{keys}\r\nMSET a\r\nEXISTS a{keys}\r\nINCR own:{writer}\r\n");
                            expected.push(format!(":{KEYS}\r\n"));
                            expected.push("-ERR wrong number of arguments for 'mset' command\r\n".to_owned());
                            expected.push(format!(":{KEYS}\r\n"));
                            expected.push(format!(":{}\r\n", round * 4 + number / 11 + 1));
                        }
                    }
                    client.send(lines.as_bytes());
                    for reply in expected {
                        assert_eq!(String::from_utf8_lossy(&client.hear()), reply);
                    }
                }
            });
        }
        let mut client = server.client();
        scope.spawn(move || (0..200).for_each(|_| drop(common_value(&client.say(&get_all())).to_owned())));
    });
}

#[test]
fn what_is_between_multi_and_exec_is_done_at_one_moment() {
    let server = Server::start(&[]);
    server.client().say(&set_all(0));
    let increments = (0..KEYS)
        .fold("MULTI\r\n".to_owned(), |lines, key| format!("{lines}INCR key:{key}\r\n"))
        + "EXEC\r\n";
    thread::scope(|scope| {
        for _ in 0..3 {
            let (mut client, increments) = (server.client(), &increments);
            scope.spawn(move || {
                for _ in 0..50 {
                    client.send(increments.as_bytes());
                    let replies: Vec<_> = (0..KEYS + 2).map(|_| client.hear()).collect();
                    assert!(replies[KEYS + 1].starts_with(b"*8\r\n:"), "{replies:?}");
                }
            });
        }
        let mut client = server.client();
        scope.spawn(move || (0..150).for_each(|_| drop(common_value(&client.say(&get_all())).to_owned())));
    });
    assert_eq!(common_value(&server.client().say(&get_all())), "150");
}

#[test]
fn exec_does_nothing_if_a_watched_key_was_changed_by_anybody() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    for change in ["SET w 1", "DEL w", "APPEND w x", "EXPIRE w 100", "MSET w 1 v 2", "RENAME v w", "FLUSHALL"]
    {
        other.say("MSET w 0 v 0");
        assert_eq!(client.say("WATCH other w"), "+OK\r\n");
        other.say(change);
        assert_eq!(client.say("MULTI") + &client.say("SET w mine"), "+OK\r\n+QUEUED\r\n");
        assert_eq!(client.say("EXEC"), "*-1\r\n", "after {change}");
        assert_eq!(
            client.say("WATCH w") + &client.say("MULTI") + &client.say("SET w mine"),
            "+OK\r\n+OK\r\n+QUEUED\r\n"
        );
        other.say("GET w");
        assert_eq!(client.say("EXEC"), "*1\r\n+OK\r\n");
    }
}

#[test]
fn exec_with_arguments_ends_what_is_watched_whether_or_not_there_was_a_multi() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for begin in ["PING", "MULTI"] {
        client.say("WATCH w");
        client.say("SET w 1");
        client.say(begin);
        assert!(client.say("EXEC x").starts_with("-EXECABORT"), "after {begin}");
        assert_eq!(client.say("MULTI") + &client.say("EXEC"), "+OK\r\n*0\r\n", "after {begin}");
    }
}

#[test]
fn bits_that_are_set_to_what_they_were_are_no_change_of_a_watched_key() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    for (change, is_none) in [
        ("SETBIT w 0 0", true),
        ("SETBIT w 7 1", true),
        ("BITFIELD w SET u8 0 1", true),
        ("BITFIELD w OVERFLOW FAIL INCRBY u8 0 255", true),
        ("SETBIT w 0 1", false),
        ("SETBIT w 8 0", false),
        ("BITFIELD w GET u8 0 SET u8 0 2 SET u8 0 1", false),
        ("BITFIELD w SET u8 8 0", false),
    ] {
        other.ask(&[b"SET", b"w", b"\x01"]);
        client.say("WATCH w");
        assert!(!other.say(change).starts_with('-'));
        client.say("MULTI");
        assert_eq!(client.say("EXEC"), if is_none { "*0\r\n" } else { "*-1\r\n" }, "after {change}");
    }
}

#[test]
fn counters_by_watch_and_exec_lose_nothing() {
    let server = Server::start(&[]);
    let add = |mut client: Client| {
        let mut done = 0;
        while done < 30 {
            client.say("WATCH count");
            let reply = client.say("GET count");
            let count: u64 = reply.split("\r\n").nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
            client.say("MULTI");
            client.say(&format!("SET count {}", count + 1));
            done += usize::from(client.say("EXEC") == "*1\r\n+OK\r\n");
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(|| add(server.client())))));
    assert_eq!(server.client().say("GET count"), "$2\r\n90\r\n");
}

#[test]
fn who_goes_in_the_middle_of_a_transaction_leaves_nothing_behind() {
    let server = Server::start(&[]);
    for _ in 0..20 {
        let mut client = server.client();
        client.say("WATCH a b c");
        client.say("MULTI");
        client.say("SET a 1");
    }
    let mut client = server.client();
    assert_eq!(client.say("MGET a b c"), "*3\r\n$-1\r\n$-1\r\n$-1\r\n");
    assert_eq!(client.say("MSET a 1 b 2 c 3"), "+OK\r\n");
}
