//! Lists, hashes, sets and sorted sets: large ones, scans, and what is kept of them.

use crate::client::Client;
use crate::servers::{Directory, Server};
use std::collections::BTreeSet;

/// A value of each type, small and large.
fn fill(client: &mut Client) {
    for (prefix, count) in [("small", 5), ("large", 2000)] {
        for command in ["RPUSH", "SADD", "HSET", "ZADD"] {
            let words = (0..count).flat_map(|number| match command {
                "HSET" => vec![format!("field:{number}"), format!("value:{number}")],
                "ZADD" => vec![format!("{}.25", number % 100), format!("member:{number}")],
                _ => vec![format!("element:{number}")],
            });
            let words: Vec<String> =
                [command.to_owned(), format!("{prefix}:{command}")].into_iter().chain(words).collect();
            assert_eq!(client.say(&words.join(" ")), format!(":{count}\r\n"));
        }
    }
}

/// What all of them have.
fn contents(client: &mut Client) -> Vec<BTreeSet<String>> {
    let mut all = Vec::new();
    for prefix in ["small", "large"] {
        for line in
            ["LRANGE K:RPUSH 0 -1", "SMEMBERS K:SADD", "HGETALL K:HSET", "ZRANGE K:ZADD 0 -1 WITHSCORES"]
        {
            let reply = client.say(&line.replace('K', prefix));
            all.push(reply.split("\r\n").map(str::to_owned).collect());
        }
    }
    all
}

#[test]
fn values_of_all_types_come_back_from_a_snapshot_and_from_other_names() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    let server = Server::start(&arguments);
    let mut client = server.client();
    fill(&mut client);
    client.say("EXPIRE large:HSET 100000");
    let before = contents(&mut client);
    for key in ["RPUSH", "SADD", "HSET", "ZADD"] {
        assert_eq!(client.say(&format!("COPY large:{key} copy:{key}")), ":1\r\n");
        assert_eq!(client.say(&format!("RENAME copy:{key} back:{key}")), "+OK\r\n");
        client.say(&format!("RENAME back:{key} large:{key}"));
    }
    assert_eq!(contents(&mut client), before);
    assert_eq!(client.say("SAVE"), "+OK\r\n");
    client.say("FLUSHALL");
    server.kill();
    let server = Server::start(&arguments);
    let mut client = server.client();
    assert_eq!(contents(&mut client), before);
    assert!(client.say("TTL large:HSET").starts_with(":9") || client.say("TTL large:HSET") == ":100000\r\n");
    assert_eq!(client.say("DBSIZE"), ":8\r\n");
}

#[test]
fn a_snapshot_of_the_first_version_is_read() {
    let directory = Directory::new();
    // As it was written before there were other types, after `SET a 1` and `SET b 2 PXAT 99999999999999`.
    let chunk = [
        &[1, 0, 0, 0, 1, 0, 0, 0][..],
        &0_u64.to_le_bytes(),
        b"a1",
        &[1, 0, 0, 0, 1, 0, 0, 0],
        &99_999_999_999_999_u64.to_le_bytes(),
        b"b2",
    ]
    .concat();
    let count = 1_u64.to_le_bytes();
    let file = [
        b"hydra snapshot 1",
        &(chunk.len() as u64).to_le_bytes()[..],
        &checksum(&chunk).to_le_bytes(),
        &chunk,
        &0_u64.to_le_bytes(),
        &checksum(&count).to_le_bytes(),
        &count,
    ]
    .concat();
    std::fs::write(directory.0.join("dump.hydra"), file).unwrap();
    let server = Server::start(&["--dir", directory.text()]);
    let mut client = server.client();
    assert_eq!(client.say("MGET a b"), "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
    assert_eq!(client.say("PEXPIRETIME b"), ":99999999999999\r\n");
}

/// CRC-64/XZ.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |crc: u64, byte: &u8| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xc96c_5795_d787_0f42 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(u64::MAX, step)
}

#[test]
fn a_scan_of_elements_meets_all_that_stay_while_others_come_and_go() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (add, scan, remove) in
        [("SADD K E", "SSCAN", "SREM"), ("hset K E 1", "HSCAN", "HDEL"), ("ZADD K 1 E", "ZSCAN", "ZREM")]
    {
        let key = format!("key:{scan}");
        let line = |element: &str| add.replace('K', &key).replace('E', element);
        (0..2000).for_each(|number| drop(client.say(&line(&format!("stays:{number}")))));
        let (mut cursor, mut met, mut step) = ("0".to_owned(), BTreeSet::new(), 0);
        loop {
            let reply = client.say(&format!("{scan} {key} {cursor} COUNT 50 MATCH stays:*"));
            let words: Vec<_> = reply.split("\r\n").collect();
            met.extend(words.iter().filter(|word| word.starts_with("stays:")).map(|word| (*word).to_owned()));
            cursor = words[2].to_owned();
            if cursor == "0" {
                break;
            }
            step += 1;
            client.say(&line(&format!("goes:{step}")));
            client.say(&format!("{remove} {key} goes:{}", step / 2));
        }
        assert_eq!((met.len(), step > 20), (2000, true), "{scan}");
    }
}

#[test]
fn elements_count_as_memory_and_go_with_their_keys() {
    let server = Server::start(&["--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    let memory = |client: &mut Client| {
        let info = client.say("INFO memory");
        info.split("used_memory:").nth(1).unwrap().split("\r\n").next().unwrap().parse::<u64>().unwrap()
    };
    let before = memory(&mut client);
    fill(&mut client);
    assert!(memory(&mut client) > before + 300_000, "{}", memory(&mut client));
    for key in ["RPUSH", "SADD", "HSET", "ZADD"] {
        client.say(&format!("DEL small:{key} large:{key}"));
    }
    assert_eq!(memory(&mut client), before);
    for number in 0..300 {
        let reply = client.say(&format!("RPUSH list:{number} {}", "x ".repeat(2000).trim_end()));
        assert_eq!(reply, ":2000\r\n");
        let reply = client.say(&format!(
            "ZADD sorted:{number} {}",
            (0..300).map(|at| format!("{at} {at}")).collect::<Vec<_>>().join(" ")
        ));
        assert_eq!(reply, ":300\r\n");
    }
    // Room is made before a command, which then takes what it needs.
    assert!(memory(&mut client) <= (4 << 20) + 200_000, "{}", memory(&mut client));
    assert!(!client.say("INFO stats").contains("evicted_keys:0\r\n"));
}

#[test]
fn settings_that_two_clients_change_at_once_are_all_changed() {
    let server = Server::start(&[]);
    std::thread::scope(|scope| {
        for name in ["hash-max-listpack-value", "zset-max-listpack-value", "set-max-intset-entries"] {
            let mut client = server.client();
            scope.spawn(move || {
                for value in 1..60 {
                    assert_eq!(client.say(&format!("CONFIG SET {name} {value}")), "+OK\r\n");
                    let reply = client.say(&format!("CONFIG GET {name}"));
                    assert!(reply.ends_with(&format!("\r\n{value}\r\n")), "{reply}");
                }
            });
        }
    });
}
