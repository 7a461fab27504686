//! What is checked first, and in which words it is refused.

use crate::servers::{Directory, Server};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const SYNTAX: &str = "-ERR syntax error";
const NO_INTEGER: &str = "-ERR value is not an integer or out of range";
const EMPTY: &str = "*2\r\n$1\r\n0\r\n*0";
const LONG: &str =
    "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
const INT: &str = "-ERR value is out of range, value must between -2147483648 and 2147483647";

/// Commands, one after another, with redis's replies.
const RECORDED: [(&str, &str); 72] = [
    ("SET s text", "+OK"),
    ("RPUSH l a", ":1"),
    ("HSET h a 1", ":1"),
    ("HSCAN nosuch 0 COUNT 0", EMPTY),
    ("SSCAN nosuch 0 FOO", EMPTY),
    ("ZSCAN nosuch -1", EMPTY),
    ("HSCAN s x", "-ERR invalid cursor"),
    ("HSCAN s 0 COUNT 0", WRONG_TYPE),
    ("HSCAN h 0 COUNT 0", SYNTAX),
    ("HSCAN h 0 COUNT x", NO_INTEGER),
    ("HSCAN h 0 TYPE x", SYNTAX),
    ("HSCAN h -1", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\n1"),
    ("HSCAN h ", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\n1"),
    ("HSCAN h -", "-ERR invalid cursor"),
    ("HSCAN h +-1", "-ERR invalid cursor"),
    ("HSCAN h 1x", "-ERR invalid cursor"),
    ("HSCAN h 18446744073709551616", "-ERR invalid cursor"),
    ("SCAN -1 MATCH nosuch", EMPTY),
    ("SCAN \t1", "-ERR invalid cursor"),
    ("SCAN 0 COUNT 0", SYNTAX),
    ("ZRANGESTORE t nosuch (a (b BYLEX WITHSCORES", SYNTAX),
    ("ZRANGESTORE t nosuch 5 1 LIMIT 3 -2 WITHSCORES", SYNTAX),
    ("ZRANGESTORE t nosuch x 1 WITHSCORES", SYNTAX),
    ("ZRANGE nosuch 0 1 REV REV", SYNTAX),
    ("ZRANGE nosuch 0 1 BYSCORE BYSCORE", SYNTAX),
    ("ZRANGE nosuch 0 1 BYSCORE BYLEX", SYNTAX),
    ("ZADD z 1 a 2 b", ":2"),
    ("ZRANGE z 0 -1 LIMIT 1 -1", "*2\r\n$1\r\na\r\n$1\r\nb"),
    ("ZRANGE z 0 -1 LIMIT -1 -1 REV", "*2\r\n$1\r\nb\r\n$1\r\na"),
    (
        "ZRANGE z 0 1 LIMIT 1 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    ),
    ("ZRANGE z 0 9 BYSCORE LIMIT 1 -1", "*1\r\n$1\r\nb"),
    ("ZREVRANGE z 0 1 REV", SYNTAX),
    ("BLMPOP x 0 a LEFT", "-ERR numkeys should be greater than 0"),
    ("BLMPOP x 1 a MIN", SYNTAX),
    ("LMPOP 1 a LEFT COUNT 0 x", "-ERR count should be greater than 0"),
    ("LMPOP 1 a LEFT COUNT 1 COUNT", SYNTAX),
    ("SINTERCARD 1 a LIMIT -2 x", "-ERR LIMIT can't be negative"),
    ("SINTERCARD 1 a LIMIT 2 x", SYNTAX),
    ("SINTERCARD 1 a LIMIT 2 LIMIT -2", "-ERR LIMIT can't be negative"),
    ("ZINTERCARD 1 z LIMIT 0 LIMIT 1", ":1"),
    ("ZINTERCARD 1 z LIMIT 1 LIMIT 0", ":2"),
    ("BLMPOP -1 1 a LEFT COUNT 0", "-ERR count should be greater than 0"),
    ("BLMPOP -1 1 a LEFT", "-ERR timeout is negative"),
    ("BZMPOP x 2 a MIN", SYNTAX),
    ("BZMPOP x 1 a MIN", "-ERR timeout is not a float or out of range"),
    ("GETEX l EX 0", WRONG_TYPE),
    ("GETEX l EX x", WRONG_TYPE),
    ("GETEX s EX 0", "-ERR invalid expire time in 'getex' command"),
    ("SRANDMEMBER nosuch x y", SYNTAX),
    ("ZRANDMEMBER nosuch x y", NO_INTEGER),
    ("SRANDMEMBER nosuch -9223372036854775808", LONG),
    ("HRANDFIELD nosuch -9223372036854775808 FOO", LONG),
    ("ZRANDMEMBER nosuch -9223372036854775808 WITHSCORES", LONG),
    ("HRANDFIELD nosuch -4611686018427387904 WITHVALUES", "-ERR value is out of range"),
    ("HRANDFIELD nosuch 4611686018427387904 WITHVALUES", "-ERR value is out of range"),
    ("HRANDFIELD nosuch -4611686018427387903 WITHVALUES", "*0"),
    ("SRANDMEMBER nosuch -9223372036854775807", "*0"),
    ("SELECT 4294967296", INT),
    ("MOVE s 4294967296", INT),
    ("COPY s t DB 4294967296", INT),
    ("COPY s t DB x", NO_INTEGER),
    ("SELECT 99999999999999999999", NO_INTEGER),
    ("SELECT 2147483647", "-ERR DB index is out of range"),
    ("SWAPDB 4294967296 0", "-ERR invalid first DB index"),
    ("BITCOUNT s -4 -5 FOO", ":0"),
    ("BITCOUNT s 0 0 FOO", SYNTAX),
    ("BITPOS nosuch 1 0 0 1 byte", ":-1"),
    ("BITPOS s 1 0 0 1 byte", SYNTAX),
    ("BITPOS s 1 0 x FOO", SYNTAX),
    ("BITPOS s 1 x 0 FOO", NO_INTEGER),
    ("NO\0SUCH a\0b", "-ERR unknown command 'NO', with args beginning with: 'a' "),
    ("PING", "+PONG"),
];

#[test]
fn checks_come_in_redis_s_order_and_words() {
    let directory = Directory::new();
    for server in [Some(Server::start(&[])), Server::start_redis(&directory)].into_iter().flatten() {
        let mut client = server.client();
        for (command, reply) in RECORDED {
            assert_eq!(client.say(command), format!("{reply}\r\n"), "{command:?}");
        }
    }
}

#[test]
fn exec_that_is_refused_says_that_the_transaction_is_discarded() {
    let directory = Directory::new();
    for server in [Some(Server::start(&[])), Server::start_redis(&directory)].into_iter().flatten() {
        let mut client = server.client();
        let aborted = "-EXECABORT Transaction discarded because of:";
        let arity = "wrong number of arguments for 'exec' command";
        assert_eq!(client.say("EXEC x"), format!("{aborted} {arity}\r\n"));
        client.say("SUBSCRIBE a");
        assert!(
            client.say("EXEC").starts_with(&format!("{aborted} Can't execute 'exec': only (P|S)SUBSCRIBE"))
        );
        assert_eq!(server.client().say("CONFIG SET requirepass secret"), "+OK\r\n");
        let mut stranger = server.client();
        assert_eq!(stranger.say("EXEC"), format!("{aborted} NOAUTH Authentication required.\r\n"));
        assert_eq!(stranger.say("DISCARD"), "-NOAUTH Authentication required.\r\n");
    }
}

#[test]
fn a_refusal_repeats_what_was_sent_byte_for_byte_up_to_a_zero_byte() {
    let directory = Directory::new();
    for server in [Some(Server::start(&[])), Server::start_redis(&directory)].into_iter().flatten() {
        let mut client = server.client();
        let odd = b"\xff\xe9\0b";
        for (words, before, behind) in [
            (&[b"CLIENT", &odd[..]][..], &b"unknown subcommand '"[..], &b"'. Try CLIENT HELP."[..]),
            (&[b"OBJECT", odd, b"a"], b"unknown subcommand '", b"'. Try OBJECT HELP."),
            (&[b"CLIENT", b"LIST", b"TYPE", odd], b"Unknown client type '", b"'"),
            (&[b"CLIENT", b"KILL", b"USER", odd], b"No such user '", b"'"),
            (&[b"HELLO", b"3", odd], b"Syntax error in HELLO option '", b"'"),
            (&[b"EXPIRE", b"a", b"1", odd], b"Unsupported option ", b""),
        ] {
            let expected = [b"-ERR ", before, b"\xff\xe9", behind, b"\r\n"].concat();
            assert_eq!(client.ask(words), expected, "{}", words.concat().escape_ascii());
        }
    }
}
