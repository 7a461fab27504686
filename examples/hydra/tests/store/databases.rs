//! Several databases: what is in one is in no other, until it is moved there.

use crate::client::{Client, request};
use crate::servers::{Directory, Server, refused};
use std::fs;

/// A snapshot by the version that had one database: strings, one of which expires in a hundred years, and one key of
/// each other type.
const OLD_SNAPSHOT: &[u8] = include_bytes!("version2.snapshot");

/// The reply to each line, one after another.
#[track_caller]
fn assert_replies(client: &mut Client, lines: &[(&str, &str)]) {
    for (line, reply) in lines {
        assert_eq!(client.say(line), format!("{reply}\r\n"), "{line}");
    }
}

fn send(client: &mut Client, line: &str) {
    client.send(&request(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
}

fn wait_for_blocked(client: &mut Client, count: usize) {
    while !client.say("INFO clients").contains(&format!("blocked_clients:{count}\r\n")) {}
}

/// The keys of each database, as INFO reports them.
fn keyspace(client: &mut Client) -> Vec<String> {
    let info = client.say("INFO keyspace");
    info.lines().filter(|line| line.starts_with("db")).map(str::to_owned).collect()
}

#[test]
fn a_key_is_in_the_database_that_was_selected_and_in_no_other() {
    let server = Server::start(&["--databases", "4"]);
    let mut client = server.client();
    assert_replies(
        &mut client,
        &[
            ("SET a zero", "+OK"),
            ("SELECT 3", "+OK"),
            ("GET a", "$-1"),
            ("MSET a three b three c three", "+OK"),
            ("EXPIRE b 1000", ":1"),
            ("DBSIZE", ":3"),
            ("SELECT 4", "-ERR DB index is out of range"),
            ("SELECT -1", "-ERR DB index is out of range"),
            ("GET a", "$5\r\nthree"),
            ("CONFIG GET databases", "*2\r\n$9\r\ndatabases\r\n$1\r\n4"),
            ("SELECT 0", "+OK"),
            ("KEYS *", "*1\r\n$1\r\na"),
            ("SCAN 0 COUNT 100", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\na"),
            ("RANDOMKEY", "$1\r\na"),
            ("EXISTS a b c", ":1"),
            ("DBSIZE", ":1"),
        ],
    );
    assert_eq!(keyspace(&mut client), ["db0:keys=1,expires=0,avg_ttl=0", "db3:keys=3,expires=1,avg_ttl=0"]);
    assert!(client.say("CLIENT INFO").contains(" db=0 "));
    assert_replies(
        &mut client,
        &[("FLUSHDB", "+OK"), ("DBSIZE", ":0"), ("SELECT 3", "+OK"), ("DBSIZE", ":3")],
    );
    assert!(client.say("CLIENT INFO").contains(" db=3 "));
    assert_replies(&mut client, &[("RESET", "+RESET"), ("SET a 1", "+OK"), ("FLUSHALL", "+OK")]);
    assert!(keyspace(&mut client).is_empty());
}

#[test]
fn whoever_comes_after_one_that_has_selected_begins_in_the_first() {
    let server = Server::start(&[]);
    server.client().say("SET a 1");
    for _ in 0..10 {
        let mut client = server.client();
        assert_replies(
            &mut client,
            &[("DBSIZE", ":1"), ("SELECT 7", "+OK"), ("DBSIZE", ":0"), ("QUIT", "+OK")],
        );
        client.hear_to_the_end();
    }
}

#[test]
fn each_command_of_a_pipeline_is_about_what_was_selected_before_it() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    for round in 0..20 {
        for database in 0..5 {
            bytes.extend(request(&[b"SELECT", database.to_string().as_bytes()]));
            expected.extend(b"+OK\r\n");
            for key in ["a", "b", "c", "d"] {
                let value = format!("{database}:{round}");
                bytes.extend(request(&[b"SET", key.as_bytes(), value.as_bytes(), b"GET"]));
                let before = format!("{database}:{}", round - 1);
                let before = format!("${}\r\n{before}\r\n", before.len());
                expected.extend(if round == 0 { b"$-1\r\n".to_vec() } else { before.into_bytes() });
            }
            bytes.extend(request(&[b"MGET", b"a", b"d"]));
            let value = format!("{database}:{round}");
            let value = format!("${}\r\n{value}\r\n", value.len());
            expected.extend(format!("*2\r\n{value}{value}").into_bytes());
        }
    }
    client.send(&bytes);
    let heard: Vec<u8> = (0..20 * 5 * 6).flat_map(|_| client.hear()).collect();
    assert!(heard == expected, "{}", String::from_utf8_lossy(&heard));
}

#[test]
fn keys_go_from_one_database_to_another_with_their_time() {
    let server = Server::start(&[]);
    let mut client = server.client();
    assert_replies(
        &mut client,
        &[
            ("SET a 1 EX 1000", "+OK"),
            ("RPUSH list x y", ":2"),
            ("MOVE a 0", "-ERR source and destination objects are the same"),
            ("MOVE a 16", "-ERR DB index is out of range"),
            ("MOVE a x", "-ERR value is not an integer or out of range"),
            ("MOVE a 5", ":1"),
            ("MOVE a 5", ":0"),
            ("MOVE list 5", ":1"),
            ("RPUSH list z", ":1"),
            ("MOVE list 5", ":0"),
            ("DBSIZE", ":1"),
            ("COPY list other DB 16", "-ERR DB index is out of range"),
            ("COPY list list DB 0", "-ERR source and destination objects are the same"),
            ("COPY list list DB 5", ":0"),
            ("COPY list copied DB 6", ":1"),
            ("SELECT 5", "+OK"),
            ("LRANGE list 0 -1", "*2\r\n$1\r\nx\r\n$1\r\ny"),
            ("EXPIRE a 500 GT", ":0"),
            ("SELECT 6", "+OK"),
            ("LRANGE copied 0 -1", "*1\r\n$1\r\nz"),
            ("COPY copied list DB 5 REPLACE", ":1"),
            ("MULTI", "+OK"),
            ("SELECT 5", "+QUEUED"),
            ("LLEN list", "+QUEUED"),
            ("MOVE list 7", "+QUEUED"),
            ("SELECT 7", "+QUEUED"),
            ("LLEN list", "+QUEUED"),
            ("EXEC", "*5\r\n+OK\r\n:1\r\n:1\r\n+OK\r\n:1"),
            ("LINDEX list 0", "$1\r\nz"),
        ],
    );
}

#[test]
fn exchanged_databases_have_each_other_s_keys_on_all_nodes() {
    let server = Server::start_rack(2);
    let (mut client, mut other) = (server.client(), server.client());
    for number in 0..100 {
        client.ask(&[b"SET", format!("key:{number}").as_bytes(), b"zero"]);
    }
    assert_replies(&mut other, &[("SELECT 1", "+OK"), ("SET key:7 one EX 1000", "+OK")]);
    assert_replies(
        &mut client,
        &[
            ("SWAPDB x 1", "-ERR invalid first DB index"),
            ("SWAPDB 0 x", "-ERR invalid second DB index"),
            ("SWAPDB 0 16", "-ERR DB index is out of range"),
            ("SWAPDB 0 0", "+OK"),
            ("DBSIZE", ":100"),
            ("SWAPDB 0 1", "+OK"),
            ("DBSIZE", ":1"),
            ("GET key:7", "$3\r\none"),
        ],
    );
    assert_replies(&mut other, &[("DBSIZE", ":100"), ("GET key:7", "$4\r\nzero")]);
    assert_eq!(keyspace(&mut client), ["db0:keys=1,expires=1,avg_ttl=0", "db1:keys=100,expires=0,avg_ttl=0"]);
}

#[test]
fn a_watched_key_is_one_of_its_database() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (server.client(), server.client());
    let lines = [("MULTI", "+OK"), ("PING", "+QUEUED")];
    assert_replies(&mut client, &[("SELECT 2", "+OK"), ("WATCH a", "+OK"), ("SELECT 3", "+OK")]);
    other.say("SELECT 3");
    other.say("SET a 1");
    assert_replies(&mut client, &lines);
    assert_eq!(client.say("EXEC"), "*1\r\n+PONG\r\n", "it was another one that was changed");
    assert_replies(&mut client, &[("SELECT 2", "+OK"), ("WATCH a", "+OK")]);
    // It is moved to the database of the watched key.
    other.say("SWAPDB 2 3");
    assert_replies(&mut client, &lines);
    assert_replies(&mut client, &[("EXEC", "*-1"), ("WATCH b", "+OK")]);
    other.say("SWAPDB 2 3");
    assert_replies(&mut client, &lines);
    assert_replies(&mut client, &[("EXEC", "*1\r\n+PONG"), ("SELECT 3", "+OK"), ("WATCH a", "+OK")]);
    other.say("MOVE a 9");
    assert_replies(&mut client, &lines);
    assert_eq!(client.say("EXEC"), "*-1\r\n");
}

#[test]
fn who_waits_for_a_key_gets_it_from_its_own_database() {
    let server = Server::start(&[]);
    let (mut client, mut waiting, mut elsewhere) = (server.client(), server.client(), server.client());
    elsewhere.say("SELECT 1");
    waiting.say("SELECT 2");
    send(&mut elsewhere, "BLPOP row 0");
    send(&mut waiting, "BLPOP row 0");
    wait_for_blocked(&mut client, 2);
    assert_replies(&mut client, &[("RPUSH row moved", ":1"), ("MOVE row 2", ":1")]);
    assert_eq!(waiting.hear(), b"*2\r\n$3\r\nrow\r\n$5\r\nmoved\r\n");
    assert_replies(&mut client, &[("RPUSH row exchanged", ":1"), ("SWAPDB 0 1", "+OK")]);
    assert_eq!(elsewhere.hear(), b"*2\r\n$3\r\nrow\r\n$9\r\nexchanged\r\n");
    assert!(keyspace(&mut client).is_empty());
    send(&mut waiting, "BLPOP row 0");
    wait_for_blocked(&mut client, 1);
    // As part of a transaction: nobody is told before its end.
    let lines = ["MULTI", "SELECT 2", "RPUSH row a", "DEL row", "RPUSH row b", "SELECT 0", "EXEC"];
    lines.iter().for_each(|line| drop(client.say(line)));
    assert_eq!(waiting.hear(), b"*2\r\n$3\r\nrow\r\n$1\r\nb\r\n");
}

#[test]
fn keys_of_every_database_expire_and_nobody_asks_for_them() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for database in [0, 3, 9] {
        client.say(&format!("SELECT {database}"));
        for number in 0..50 {
            client.say(&format!("SET key:{number} 1 PX {}", 1 + number));
        }
        client.say("SET stays 1");
    }
    let line = |database| format!("db{database}:keys=1,expires=0,avg_ttl=0");
    while keyspace(&mut client) != [0, 3, 9].map(line) {}
}

#[test]
fn keys_of_every_database_go_when_there_is_no_more_memory() {
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl"] {
        let server = Server::start(&["--maxmemory", "1mb", "--maxmemory-policy", policy]);
        let mut client = server.client();
        let value = vec![b'v'; 1000];
        for database in [0, 7] {
            client.say(&format!("SELECT {database}"));
            for number in 0..2000 {
                let key = format!("key:{number}");
                assert_eq!(client.ask(&[b"SET", key.as_bytes(), &value, b"EX", b"1000"]), b"+OK\r\n");
            }
        }
        let info = client.say("INFO");
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        assert!(used.parse::<u64>().unwrap() < 1_100_000, "{policy}: {used}");
        // No key was used since then: so the older ones, of the other database, are worth less, if age counts.
        let left = keyspace(&mut client);
        assert!(left.last().unwrap().starts_with("db7:keys="), "{policy}: {left:?}");
        assert!(client.say("DBSIZE") != ":2000\r\n", "{policy}");
    }
}

#[test]
fn a_snapshot_has_all_databases_as_they_were_when_it_began() {
    let directory = Directory::new();
    let arguments = ["--dir", directory.text()];
    let server = Server::start(&arguments);
    let mut client = server.client();
    for (database, count) in [(0, 500), (5, 3000), (15, 1)] {
        client.say(&format!("SELECT {database}"));
        let sets = (0..count).map(|number| format!("SET key:{number} {database}:{number}\r\n"));
        client.send(sets.collect::<String>().as_bytes());
        (0..count).for_each(|_| assert_eq!(client.hear(), b"+OK\r\n"));
    }
    assert_eq!(client.say("BGSAVE"), "+Background saving started\r\n");
    // It begins before or after this.
    assert_eq!(client.say("SWAPDB 0 5"), "+OK\r\n");
    while client.say("SAVE") == "-ERR Background save already in progress\r\n" {}
    server.kill();
    let server = Server::start(&arguments);
    let mut client = server.client();
    let lines = ["db0:keys=3000,", "db5:keys=500,", "db15:keys=1,"];
    let found = keyspace(&mut client);
    assert!(
        found.len() == 3 && found.iter().zip(lines).all(|(line, own)| line.starts_with(own)),
        "{found:?}"
    );
    let lines = [("GET key:9", "$3\r\n5:9"), ("SELECT 5", "+OK"), ("GET key:9", "$3\r\n0:9")];
    assert_replies(&mut client, &lines);
    server.kill();
    let report = refused(&["--port", "0", "--dir", directory.text(), "--databases", "8"]);
    assert!(report.contains("there are keys of database 15: start with --databases 16"), "{report}");
}

#[test]
fn a_snapshot_of_when_there_was_one_database_is_loaded_into_the_first() {
    let directory = Directory::new();
    fs::write(directory.0.join("dump.hydra"), OLD_SNAPSHOT).unwrap();
    let server = Server::start(&["--dir", directory.text()]);
    let mut client = server.client();
    assert_eq!(keyspace(&mut client), ["db0:keys=6,expires=1,avg_ttl=0"]);
    assert_replies(
        &mut client,
        &[
            ("GET greeting", "$5\r\nhello"),
            ("GET lasting", "$5\r\nvalue"),
            ("LRANGE list 0 -1", "*2\r\n$1\r\na\r\n$1\r\nb"),
            ("HGET hash field", "$5\r\nvalue"),
            ("SISMEMBER set member", ":1"),
            ("ZSCORE sorted member", "$3\r\n1.5"),
        ],
    );
}
