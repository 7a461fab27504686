//! Small and large forms of values: which form a value has, and that commands cannot tell them apart.

use crate::client::{Client, request};
use crate::program::next;
use crate::servers::Server;

/// The settings for hashes, sets, sorted sets and lists, in this order.
const LIMITS: [&str; 8] = [
    "hash-max-listpack-entries",
    "zset-max-listpack-entries",
    "set-max-listpack-entries",
    "set-max-intset-entries",
    "hash-max-listpack-value",
    "zset-max-listpack-value",
    "set-max-listpack-value",
    "list-max-listpack-size",
];

/// A server where small values have at most this many elements, of at most this many bytes.
fn server(entries: usize, value: usize, chunk: i64) -> Server {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (index, name) in LIMITS.iter().enumerate() {
        let limit = [entries as i64, value as i64, chunk][if index < 4 { 0 } else { 1 + index / 7 }];
        assert_eq!(client.say(&format!("CONFIG SET {name} {limit}")), "+OK\r\n");
        assert!(client.say(&format!("CONFIG GET {name}")).ends_with(&format!("\r\n{limit}\r\n")));
    }
    server
}

/// L, S, Z and H are keys of lists, sets, sorted sets and hashes, V is an element, N a number; replies that begin with
/// a star have no order.
const TEMPLATES: [&str; 66] = [
    "RPUSH L V",
    "RPUSH L V V",
    "LPUSH L V",
    "LPUSH L V V",
    "LPOP L",
    "RPOP L 2",
    "LINSERT L BEFORE V V",
    "LINSERT L AFTER V V",
    "LSET L N V",
    "LREM L N V",
    "LTRIM L N -1",
    "LRANGE L 0 -1",
    "LRANGE L N N",
    "LINDEX L N",
    "LLEN L",
    "LPOS L V RANK -1",
    "LMOVE L L LEFT RIGHT",
    "SORT L ALPHA",
    "SADD S V",
    "SADD S V V",
    "SADD S N",
    "SADD S N N",
    "SREM S V",
    "SREM S N",
    "SISMEMBER S V",
    "SMISMEMBER S N V",
    "SCARD S",
    "*SMEMBERS S",
    "*SMEMBERS S",
    "SMOVE S S V",
    "*SINTER S S",
    "SUNIONSTORE S S S",
    "SDIFFSTORE S S S",
    "ZADD Z N V",
    "ZADD Z N V N V",
    "ZADD Z 0.1 V 1e300 V",
    "ZINCRBY Z N V",
    "ZINCRBY Z -0.7 V",
    "ZREM Z V",
    "ZSCORE Z V",
    "ZRANK Z V",
    "ZCARD Z",
    "ZRANGE Z 0 -1 WITHSCORES",
    "ZRANGE Z N N REV",
    "ZRANGEBYSCORE Z N +inf WITHSCORES",
    "ZCOUNT Z -inf (N",
    "ZPOPMIN Z",
    "ZPOPMAX Z 2",
    "ZREMRANGEBYRANK Z N N",
    "ZREMRANGEBYSCORE Z N N",
    "ZUNIONSTORE Z 2 Z Z WEIGHTS 1 N",
    "HSET H V V",
    "HSET H V V V V",
    "HGET H V",
    "HDEL H V",
    "HDEL H V V",
    "HLEN H",
    "*HGETALL H",
    "HINCRBY H count N",
    "HSETNX H V V",
    "HSTRLEN H V",
    "EXPIRE L 1000",
    "PERSIST Z",
    "COPY H H REPLACE",
    "COPY S S REPLACE",
    "RENAME Z Z",
];

fn commands(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
    let element = |state: &mut u64| {
        let number = next(state) % 30;
        // Some are too long for a length of one byte, and for small values.
        let length = [1, 1, 1, 5, 5, 19, 60, 70, 260][next(state) as usize % 9];
        format!("{number}{}", "v".repeat(length - 1))
    };
    let numbers = ["0", "1", "-1", "3", "-2", "7", "127", "-40000", "70000", "-5000000000"];
    let mut lines = Vec::new();
    for _ in 0..count {
        let template = TEMPLATES[next(&mut state) as usize % TEMPLATES.len()];
        let mut line = Vec::new();
        for word in template.split(' ') {
            line.push(match word {
                "L" | "S" | "Z" | "H" => format!("{word}{}", next(&mut state) % 3),
                "V" => element(&mut state),
                "N" => numbers[next(&mut state) as usize % numbers.len()].to_owned(),
                word => word.to_owned(),
            });
        }
        lines.push(line.join(" "));
    }
    lines
}

fn replies(client: &mut Client, lines: &[String]) -> Vec<String> {
    let words = |line: &String| {
        request(&line.trim_start_matches('*').split(' ').map(str::as_bytes).collect::<Vec<_>>())
    };
    client.send(&lines.iter().flat_map(words).collect::<Vec<_>>());
    let hear = |line: &String| {
        let reply = String::from_utf8(client.hear()).unwrap();
        if !line.starts_with('*') {
            return reply;
        }
        // The fields of a hash come with their values.
        let parts: Vec<_> = reply.split("\r\n$").skip(1).collect();
        let step = if line.contains("HGETALL") { 2 } else { 1 };
        let mut elements: Vec<_> =
            parts.chunks(step).map(|part| part.join(" ").replace("\r\n", " ")).collect();
        elements.iter_mut().for_each(|element| element.truncate(element.trim_end().len()));
        elements.sort_unstable();
        elements.join(",")
    };
    lines.iter().map(hear).collect()
}

#[test]
fn commands_get_the_same_replies_whatever_the_form_of_a_value_is() {
    let large = server(0, 0, 1);
    // As in redis, only large sorted sets have a negative zero.
    let alike = |reply: &str| reply.replace("$2\r\n-0\r\n", "$1\r\n0\r\n");
    for other in [server(128, 64, -2), server(3, 18, 2), server(6, 300, 4)] {
        for seed in 0..12 {
            let mut lines = commands(seed, 1500);
            lines.insert(0, "FLUSHALL".to_owned());
            let (ours, expected) =
                (replies(&mut other.client(), &lines), replies(&mut large.client(), &lines));
            for at in 0..lines.len() {
                let (ours, expected) = (alike(&ours[at]), alike(&expected[at]));
                assert_eq!(ours, expected, "{:?} of {seed}", &lines[at.saturating_sub(20)..=at]);
            }
        }
    }
}

#[test]
fn a_value_has_the_form_that_its_limits_allow() {
    let server = server(3, 10, 3);
    let mut client = server.client();
    let short = "HSET h a 1 b 2 c 3;RPUSH l a b c;ZADD z 1 a 2 b 3 c;SADD s a b c;SADD i 1 2 30000000000";
    let forms =
        [("h", "hashtable"), ("l", "quicklist"), ("z", "skiplist"), ("s", "hashtable"), ("i", "hashtable")];
    // One element too many and, except for lists, one that is too long.
    let cases = [
        "HSET h d 4;RPUSH l d;ZADD z 4 d;SADD s d;SADD i 4",
        "HDEL h a;HSET h b 12345678901;LPUSH l d;ZREM z a;ZADD z 1 12345678901;SREM s a;SADD s 12345678901;SREM i 1;SADD i \
         12345678901x",
    ];
    for lines in cases {
        client.say("FLUSHALL");
        let say = |client: &mut Client, lines: &str| {
            lines.split(';').for_each(|line| assert!(!client.say(line).starts_with('-'), "{line}"));
        };
        let has = |client: &mut Client, key: &str, form: &str| {
            assert_eq!(
                client.say(&format!("OBJECT ENCODING {key}")),
                format!("${}\r\n{form}\r\n", form.len())
            );
        };
        say(&mut client, short);
        for (key, _) in forms {
            has(&mut client, key, if key == "i" { "intset" } else { "listpack" });
        }
        say(&mut client, lines);
        for (key, form) in forms {
            has(&mut client, key, form);
        }
    }
    // Integers among few strings are strings.
    assert_eq!(client.say("SADD few 1 2 a"), ":3\r\n");
    assert_eq!(client.say("OBJECT ENCODING few"), "$8\r\nlistpack\r\n");
    assert_eq!(client.say("SMISMEMBER few 1 2 a 3"), "*4\r\n:1\r\n:1\r\n:1\r\n:0\r\n");
}
