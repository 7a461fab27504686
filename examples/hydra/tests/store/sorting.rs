//! SORT.

use crate::servers::Server;
use std::thread;

fn array(words: &[&str]) -> String {
    let bulk = |word: &&str| {
        if *word == "-" { "$-1\r\n".to_owned() } else { format!("${}\r\n{word}\r\n", word.len()) }
    };
    format!("*{}\r\n{}", words.len(), words.iter().map(bulk).collect::<String>())
}

#[test]
fn elements_come_in_the_order_that_is_asked_for() {
    // On two nodes, so that what is looked up is on several shards.
    let server = Server::start_rack(2);
    let mut client = server.client();
    client.say("RPUSH list 3 10 1 2");
    for (element, weight) in [(1, "5"), (2, "-1.5"), (3, "1e3")] {
        client.say(&format!("SET weight_{element} {weight}"));
        client.say(&format!("HSET object_{element} name name:{element} weight {weight}"));
    }
    client.say("ZADD sorted 3 c 1 a 2 b");
    for (line, words) in [
        ("SORT list", &["1", "2", "3", "10"][..]),
        ("SORT list DESC", &["10", "3", "2", "1"]),
        ("SORT list ALPHA", &["1", "10", "2", "3"]),
        ("SORT list LIMIT 1 2", &["2", "3"]),
        ("SORT list LIMIT -5 9223372036854775807 DESC", &["10", "3", "2", "1"]),
        ("SORT list LIMIT 9 1", &[]),
        ("SORT list BY weight_*", &["2", "10", "1", "3"]),
        ("SORT list BY object_*->weight DESC", &["3", "1", "10", "2"]),
        ("SORT list BY weight_* ALPHA", &["10", "2", "3", "1"]),
        ("SORT list BY weight_*->no", &["1", "10", "2", "3"]),
        ("SORT list BY nosort", &["3", "10", "1", "2"]),
        ("SORT list BY nosort DESC LIMIT 0 3", &["2", "1", "10"]),
        (
            "SORT list BY weight_* LIMIT 0 2 GET # GET object_*->name GET weight_* GET none",
            &["2", "name:2", "-1.5", "-", "10", "-", "-", "-"],
        ),
        ("SORT_RO list GET object_*", &["-", "-", "-", "-"]),
        ("SORT sorted BY nosort", &["a", "b", "c"]),
        ("SORT sorted BY nosort DESC LIMIT 0 2", &["c", "b"]),
        ("SORT nosuch", &[]),
    ] {
        assert_eq!(client.say(line), array(words), "{line}");
    }
    for (line, reply) in [
        ("SORT list BY weight_* DESC GET object_*->name STORE target", ":4"),
        ("TYPE target", "+list"),
        ("LINDEX target 0", "$6\r\nname:3"),
        ("LINDEX target 2", "$0\r\n"),
        ("SORT target STORE target", "-ERR One or more scores can't be converted into double"),
        ("SORT nosuch STORE target", ":0"),
        ("EXISTS target", ":0"),
        ("SORT weight_1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("SORT list LIMIT 1", "-ERR syntax error"),
        ("SORT_RO list STORE target", "-ERR syntax error"),
    ] {
        assert_eq!(client.say(line), format!("{reply}\r\n"), "{line}");
    }
}

#[test]
fn what_is_looked_up_is_of_one_moment() {
    let server = Server::start(&[]);
    let elements: Vec<_> = (0..20).map(|element| element.to_string()).collect();
    let set_all = |value: u32| {
        elements.iter().fold("MSET".to_owned(), |line, element| format!("{line} value_{element} {value}"))
    };
    let mut client = server.client();
    client.say(&format!("SADD set {}", elements.join(" ")));
    client.say(&set_all(0));
    thread::scope(|scope| {
        let mut writer = server.client();
        scope.spawn(move || {
            for value in 1..200 {
                assert_eq!(writer.say(&set_all(value)), "+OK\r\n");
            }
        });
        for transaction in [false, true].into_iter().cycle().take(100) {
            let mut reply = String::new();
            if transaction {
                client.say("MULTI");
                client.say("SORT set GET value_*");
                reply = client.say("EXEC");
            } else {
                reply += &client.say("SORT set GET value_*");
            }
            let values: Vec<_> = reply.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).collect();
            // After the last one there is nothing.
            assert_eq!(values.len(), 21, "{reply}");
            assert!(values[..20].iter().all(|value| *value == values[0]), "{reply}");
        }
    });
}
