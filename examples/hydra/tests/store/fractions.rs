//! Numbers that are no integers: how they are read and written.

use crate::servers::{Directory, Server};

/// Commands, one after another, with redis's replies on x86-64.
const RECORDED: [(&str, &str); 74] = [
    ("ZADD z 0x10 a", ":1"),
    ("ZSCORE z a", "$16"),
    ("ZADD z 1e400 b", "-ERR value is not a valid float"),
    ("ZADD z 1e-400 b", "-ERR value is not a valid float"),
    ("ZADD z 0x1p1024 b", "-ERR value is not a valid float"),
    ("ZUNIONSTORE t 1 z WEIGHTS 1e400", "-ERR weight value is not a float"),
    ("ZCOUNT z 0x0f 1e400", ":1"),
    ("ZCOUNT z  1e400", ":1"),
    ("ZCOUNT z ( ", ":0"),
    ("ZCOUNT z 1x 2", "-ERR min or max is not a float"),
    ("ZADD z -0 b", ":1"),
    ("ZSCORE z b", "$0"),
    ("ZINCRBY z -0 c", "$-0"),
    ("ZINCRBY z -0 c", "$0"),
    ("ZADD z INCR -0.0 d", "$-0"),
    ("ZSCORE z d", "$0"),
    ("DEL z", ":1"),
    ("ZADD y 0 a", ":1"),
    ("ZUNION 1 y WEIGHTS -1 WITHSCORES", "*2 $a $-0"),
    ("ZUNIONSTORE t 1 y WEIGHTS -1", ":1"),
    ("ZSCORE t a", "$0"),
    ("ZADD three inf x 1 y 2 z", ":3"),
    ("ZADD two -inf x 1 y", ":2"),
    ("ZADD one 5 x", ":1"),
    // From the one with the fewest members to the one with the most.
    ("ZINTER 3 three two one WITHSCORES", "*2 $x $0"),
    ("ZUNION 3 three two one WITHSCORES", "*6 $x $0 $y $2 $z $2"),
    // Of an intersection only the first score counts as 0 if it is not a number; the others make the sum 0.
    ("ZADD infinite inf x", ":1"),
    ("ZINTER 2 infinite infinite WEIGHTS 1 0 WITHSCORES", "*2 $x $0"),
    ("ZINTER 2 infinite infinite WEIGHTS 0 1 WITHSCORES", "*2 $x $inf"),
    ("ZINTER 2 infinite infinite WEIGHTS 1 0 AGGREGATE MIN WITHSCORES", "*2 $x $inf"),
    ("ZUNION 2 infinite infinite WEIGHTS 1 0 AGGREGATE MIN WITHSCORES", "*2 $x $0"),
    ("SADD p 10 1e2", ":2"),
    ("SADD q 1 2 3 4 5 10", ":6"),
    ("ZINTER 3 q p p WEIGHTS 1e17 12345.678 -2.25 WITHSCORES", "*2 $10 $1.0000000000001234e+17"),
    ("CONFIG SET zset-max-listpack-entries 0", "+OK"),
    ("ZADD l -0 a", ":1"),
    ("ZADD l 0 b", ":1"),
    ("ZADD l CH -0 b", ":0"),
    ("ZRANGE l 0 0 BYSCORE WITHSCORES", "*4 $a $-0 $b $0"),
    ("ZREM l a b", ":2"),
    ("CONFIG SET zset-max-listpack-entries 128", "+OK"),
    ("ZADD s 1e17 a 123456789012345678 b 1e19 c 1.5 d", ":4"),
    ("ZSCAN s 0", "*2 $0 *8 $d $1.5 $a $100000000000000000 $b $123456789012345680 $c $1e+19"),
    ("ZRANGE s 1 1 WITHSCORES", "*2 $a $1e+17"),
    ("INCRBYFLOAT i 1e-18", "$0"),
    ("INCRBYFLOAT i 0.1", "$0.1"),
    ("INCRBYFLOAT i 0.2", "$0.3"),
    ("INCRBYFLOAT i 0x10", "$16.3"),
    ("INCRBYFLOAT i -16.3", "$0"),
    ("INCRBYFLOAT i 123456789012345.678", "$123456789012345.67800140380859375"),
    ("INCRBYFLOAT i 1e5000", "-ERR value is not a valid float"),
    ("INCRBYFLOAT i inf", "-ERR increment would produce NaN or Infinity"),
    ("INCRBYFLOAT n -1e-300", "$0"),
    ("GET n", "$0"),
    ("HINCRBYFLOAT h f 0.1", "$0.1"),
    ("HINCRBYFLOAT h f 0.2", "$0.3"),
    ("HINCRBYFLOAT h g 1e-20", "$0"),
    ("HINCRBYFLOAT h f inf", "-ERR value is NaN or Infinity"),
    ("HINCRBYFLOAT h f x", "-ERR value is not a valid float"),
    ("HSET h f x", ":0"),
    ("HINCRBYFLOAT h f 1", "-ERR hash value is not a float"),
    ("RPUSH m 0x10 2 ", ":3"),
    ("SORT m", "*3 $ $2 $0x10"),
    ("RPUSH m \t", ":4"),
    ("SORT m", "-ERR One or more scores can't be converted into double"),
    ("LSET m 3 1\0x", "+OK"),
    ("SORT m LIMIT 1 1", "*1 $1\0x"),
    ("LSET m 3 1e-310", "+OK"),
    ("SORT m LIMIT 0 0", "-ERR One or more scores can't be converted into double"),
    ("LSET m 3 1e400", "+OK"),
    ("SORT m LIMIT 9 1", "-ERR One or more scores can't be converted into double"),
    ("BLPOP nosuch 1e400", "-ERR timeout is negative"),
    ("BLPOP nosuch 9223372036854776", "-ERR timeout is negative"),
    ("BLPOP nosuch nan", "-ERR timeout is not a float or out of range"),
];

/// A reply without lengths of strings and ends of lines.
fn plain(reply: &str) -> String {
    let mut lines = reply.trim_end_matches("\r\n").split("\r\n");
    let mut words = Vec::new();
    while let Some(line) = lines.next() {
        words.push(if line.starts_with('$') {
            format!("${}", lines.next().unwrap_or("nil"))
        } else {
            line.to_owned()
        });
    }
    words.join(" ")
}

#[test]
fn fractions_are_read_and_written_as_redis_does() {
    let directory = Directory::new();
    // The last digits of sums are those of x86-64.
    let redis = if cfg!(target_arch = "x86_64") { Server::start_redis(&directory) } else { None };
    for server in [Some(Server::start(&[])), redis].into_iter().flatten() {
        let mut client = server.client();
        for (command, reply) in RECORDED {
            assert_eq!(plain(&client.say(command)), reply, "{command:?}");
        }
    }
}
