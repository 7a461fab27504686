//! CONFIG.

use crate::servers::Server;

#[test]
fn settings_are_changed_or_refused_with_the_reason() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for change in [
        "appendonly no",
        "APPENDONLY No",
        "timeout 0",
        "tcp-keepalive 0",
        "notify-keyspace-events ",
        "save ",
        "hash-max-listpack-value 1kb",
        "list-max-listpack-size -1",
        "zset-max-ziplist-entries 64",
        "MaxMemory 1gb maxmemory-samples 7",
    ] {
        assert_eq!(client.say(&format!("CONFIG SET {change}")), "+OK\r\n", "{change}");
    }
    for (change, why) in [
        ("appendonly yes", "there is no append-only file, so it stays 'no'"),
        ("save 900", "snapshots are made only when a client asks for one, so it stays ''"),
        ("timeout 5", "connections of idle clients are not closed, so it stays '0'"),
        ("tcp-keepalive 300", "connections are not probed, so it stays '0'"),
        ("notify-keyspace-events KEA", "there are no events of keys, so it stays ''"),
        ("hash-max-listpack-entries -1", "argument must be between 0 and 9223372036854775807 inclusive"),
        ("hash-max-listpack-entries x", "argument couldn't be parsed into an integer"),
        ("set-max-listpack-value x", "argument must be a memory value"),
        ("maxmemory 1x", "argument must be a memory value"),
        ("maxmemory-samples 0", "argument must be between 1 and 2147483647 inclusive"),
        ("maxclients 0", "argument must be between 1 and 4294967295 inclusive"),
        ("databases 5", "can't set immutable config"),
    ] {
        let name = change.split(' ').next().unwrap();
        let expected = format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}\r\n");
        assert_eq!(
            client.say(&format!("CONFIG SET {}", change.to_uppercase())).to_lowercase(),
            expected.to_lowercase()
        );
    }
    let unknown = "-ERR Unknown option or number of arguments for CONFIG SET - 'Foo'\r\n";
    assert_eq!(client.say("CONFIG SET Foo 1"), unknown);
}

#[test]
fn settings_are_shown_under_the_names_that_were_asked_for() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (patterns, shown) in [
        ("TimeOut", "*2\r\n$7\r\nTimeOut\r\n$1\r\n0\r\n"),
        ("TIME*", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"),
        ("t?meout TIMEOUT", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"),
        ("TIMEOUT timeout", "*2\r\n$7\r\nTIMEOUT\r\n$1\r\n0\r\n"),
        ("nosuch", "*0\r\n"),
    ] {
        assert_eq!(client.say(&format!("CONFIG GET {patterns}")), shown, "{patterns}");
    }
}

/// As redis 7.0.15 replies.
#[test]
fn names_and_values_that_are_no_text_are_refused_or_kept_byte_by_byte() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let mut set = |words: &[&[u8]]| client.ask(&[&[&b"CONFIG"[..], b"SET"], words].concat());
    let unknown = |name: &[u8]| {
        [b"-ERR Unknown option or number of arguments for CONFIG SET - '", name, b"'\r\n"].concat()
    };
    let failed = |name: &str, why: &str| {
        format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}\r\n").into_bytes()
    };
    for (words, expected) in [
        (&[&b"a\xff"[..], b"1"][..], unknown(b"a\xff")),
        (&[b"maxmemory\0x", b"1"], unknown(b"maxmemory")),
        (&[b"maxmemory", b"100\xff"], failed("maxmemory", "argument must be a memory value")),
        (&[b"maxclients", b"\xff"], failed("maxclients", "argument couldn't be parsed into an integer")),
        // Names are looked at before values, one after another.
        (&[b"a\xff", b"1", b"a\xfe", b"1"], unknown(b"a\xff")),
        (&[b"maxmemory", b"x", b"a\xfe", b"1"], unknown(b"a\xfe")),
        (&[b"Foo", b"1", b"Timeout", b"0", b"timeout", b"0"], unknown(b"Foo")),
        (&[b"timeout", b"0", b"TimeOut", b"0"], failed("TimeOut", "duplicate parameter")),
        (&[b"timeout", b"5", b"DATABASES", b"5"], failed("DATABASES", "can't set immutable config")),
        (&[b"requirepass", b"\xff\xfe"], b"+OK\r\n".to_vec()),
    ] {
        assert_eq!(
            set(words).escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{}",
            words.concat().escape_ascii()
        );
    }
    assert_eq!(
        client.ask(&[b"CONFIG", b"GET", b"requirepass"]),
        b"*2\r\n$11\r\nrequirepass\r\n$2\r\n\xff\xfe\r\n"
    );
    let mut other = server.client();
    assert!(other.ask(&[b"AUTH", b"\xff\xff"]).starts_with(b"-WRONGPASS"));
    assert_eq!(other.ask(&[b"AUTH", b"\xff\xfe"]), b"+OK\r\n");
}
