//! Commands that are run one after another: those in a file, with redis's reply to each, and random ones.

/// `command -> reply`, as redis 7.0.15 has it.
pub const RECORDED: &str = include_str!("recorded.txt");

/// The commands of one program, which begins with an empty store.
pub fn fixed() -> Vec<String> {
    RECORDED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" -> "))
        .map(|(command, _)| command.to_owned())
        .collect()
}

/// The random number after another one (splitmix64).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// This many random commands about a few keys; their replies do not depend on the time.
pub fn random(seed: u64, count: usize) -> Vec<String> {
    let templates = [
        "GET K",
        "SET K V",
        "SET K V NX",
        "SET K V XX",
        "SET K V GET",
        "SET K V KEEPTTL",
        "SET K V EX 1000",
        "SET K V EX T",
        "SET K V NX GET",
        "SETNX K V",
        "SETEX K 1000 V",
        "PSETEX K 1000000 V",
        "GETSET K V",
        "GETDEL K",
        "GETEX K",
        "GETEX K PERSIST",
        "GETEX K EX 1000",
        "DEL K",
        "DEL K K",
        "UNLINK K K K",
        "EXISTS K K",
        "TOUCH K K",
        "INCR K",
        "DECR K",
        "INCRBY K N",
        "DECRBY K N",
        "APPEND K V",
        "STRLEN K",
        "GETRANGE K N N",
        "SETRANGE K N V",
        "GETBIT K N",
        "SETBIT K N 1",
        "BITFIELD K GET i5 N GET u63 #1",
        "BITFIELD K SET i8 3 N INCRBY i8 3 100",
        "BITFIELD K SET u5 N N",
        "BITFIELD K OVERFLOW SAT INCRBY u7 5 N SET i3 #2 -100",
        "BITFIELD K OVERFLOW FAIL INCRBY i64 0 N OVERFLOW WRAP INCRBY i64 1 N",
        "BITFIELD K GET u64 0",
        "BITFIELD_RO K GET i64 3 GET u9 N",
        "BITFIELD_RO K SET u8 0 1",
        "TYPE K",
        "EXPIRE K 1000",
        "EXPIRE K T",
        "EXPIRE K 1000 NX",
        "EXPIRE K 1000 XX",
        "PERSIST K",
        "TTL K",
        "MGET K K K",
        "MSET K V K V",
        "MSETNX K V K V",
        "RENAME K K",
        "RENAMENX K K",
        "DBSIZE",
        "SELECT D",
        "MOVE K D",
        "COPY K K DB D",
        "COPY K K DB D REPLACE",
        "SWAPDB D D",
        "FLUSHDB",
        "MULTI",
        "EXEC",
        "DISCARD",
        "WATCH K",
        "UNWATCH",
        "NOSUCH K",
        "GET",
        "SET K V EX",
    ];
    templates_of(&templates, seed, count)
}

/// The same about lists, hashes, sets and sorted sets.
pub fn random_of_elements(seed: u64, count: usize) -> Vec<String> {
    let templates = [
        "LPUSH K V V",
        "RPUSH K V N V",
        "SORT K",
        "SORT K DESC LIMIT 1 N",
        "SORT K ALPHA LIMIT N 2",
        "SORT K ALPHA DESC GET # GET nosuch",
        "SORT K BY weight_* GET K GET #",
        "SORT K ALPHA STORE K",
        "SORT K BY nosort LIMIT 0 3 STORE K",
        "SORT_RO K ALPHA",
        "SORT_RO K STORE K",
        "LPUSHX K V",
        "RPUSHX K V",
        "LPOP K",
        "RPOP K",
        "LPOP K N",
        "RPOP K N",
        "LLEN K",
        "LRANGE K N N",
        "LINDEX K N",
        "LSET K N V",
        "LINSERT K BEFORE V V",
        "LINSERT K AFTER V V",
        "LREM K N V",
        "LTRIM K N 100",
        "LTRIM K N N",
        "LPOS K V",
        "LPOS K V RANK N COUNT N",
        "LPOS K V MAXLEN N",
        "LMOVE K K LEFT RIGHT",
        "LMOVE K K RIGHT RIGHT",
        "RPOPLPUSH K K",
        "LMPOP 2 K K LEFT COUNT N",
        "LMPOP 1 K RIGHT",
        "HSET K V V",
        "HSET K V V V",
        "HSET K V V V N",
        "HMSET K V V",
        "HSETNX K V V",
        "HGET K V",
        "HMGET K V V N",
        "HDEL K V V",
        "HLEN K",
        "HSTRLEN K V",
        "HEXISTS K V",
        "HINCRBY K V N",
        "SADD K V V",
        "SADD K N",
        "SREM K V N",
        "SCARD K",
        "SISMEMBER K V",
        "SMISMEMBER K V N",
        "SMOVE K K V",
        "SINTERCARD 2 K K LIMIT N",
        "SINTERSTORE K K K",
        "SUNIONSTORE K K K",
        "SDIFFSTORE K K K",
        "ZADD K N V",
        "ZADD K 3.5 V 1 V",
        "ZADD K NX N V",
        "ZADD K XX CH N V",
        "ZADD K GT CH N V",
        "ZADD K LT N V",
        "ZADD K INCR N V",
        "ZADD K XX GT INCR 7 V",
        "ZADD K NX XX 1 V",
        "ZINCRBY K N V",
        "ZSCORE K V",
        "ZMSCORE K V N",
        "ZCARD K",
        "ZREM K V",
        "ZRANK K V",
        "ZREVRANK K V",
        "ZPOPMIN K",
        "ZPOPMAX K N",
        "ZCOUNT K N (N",
        "ZCOUNT K -inf +inf",
        "ZLEXCOUNT K - +",
        "ZLEXCOUNT K [V (V",
        "ZRANGE K N N",
        "ZRANGE K N N WITHSCORES",
        "ZRANGE K (N +inf BYSCORE LIMIT 1 N",
        "ZRANGE K N N REV",
        "ZRANGE K +inf N BYSCORE REV WITHSCORES",
        "ZRANGEBYSCORE K N (N WITHSCORES LIMIT 0 N",
        "ZREVRANGEBYSCORE K +inf -inf",
        "ZREVRANGE K N N WITHSCORES",
        "ZRANGESTORE K K 0 N",
        "ZRANGESTORE K K N +inf BYSCORE",
        "ZREMRANGEBYRANK K N N",
        "ZREMRANGEBYSCORE K N N",
        "ZUNIONSTORE K 2 K K WEIGHTS 2 N",
        "ZINTERSTORE K 2 K K AGGREGATE MAX",
        "ZDIFFSTORE K 2 K K",
        "ZUNION 2 K K WITHSCORES",
        "ZINTER 2 K K WITHSCORES AGGREGATE MIN",
        "ZDIFF 2 K K",
        "ZINTERCARD 2 K K LIMIT N",
        "ZMPOP 2 K K MIN COUNT N",
        "BLPOP K K 0.001",
        "BRPOP K 0.001",
        "BLMOVE K K LEFT LEFT 0.001",
        "BZPOPMIN K 0.001",
        "BZPOPMAX K K 0.001",
        "BLMPOP 0.001 2 K K LEFT",
        "GET K",
        "SET K V",
        "APPEND K V",
        "STRLEN K",
        "INCR K",
        "SETRANGE K 1 V",
        "GETRANGE K 0 1",
        "BITCOUNT K N N",
        "BITCOUNT K N N BIT",
        "BITPOS K 1 N",
        "BITPOS K 0 N N",
        "BITOP AND K K K",
        "BITOP NOT K K",
        "BITOP XOR K K K",
        "LCS K K",
        "LCS K K IDX WITHMATCHLEN",
        "SET K V GET",
        "GETDEL K",
        "DEL K",
        "DEL K",
        "TYPE K",
        "OBJECT ENCODING K",
        "EXPIRE K 1000",
        "TTL K",
        "PERSIST K",
        "RENAME K K",
        "RENAMENX K K",
        "COPY K K",
        "COPY K K REPLACE",
        "MGET K K K",
        "MULTI",
        "EXEC",
        "WATCH K",
    ];
    templates_of(&templates, seed, count)
}

fn templates_of(templates: &[&str], seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
    let values = [
        "1",
        "10",
        "-5",
        "abc",
        "x",
        "9223372036854775807",
        "0",
        "3.5",
        "hello-world-hello-world-hello-world-hello-world",
    ];
    let numbers = ["0", "1", "-1", "5", "-3", "100", "x", "9223372036854775807", "-9223372036854775808"];
    (0..count)
        .map(|_| {
            let template = templates[next(&mut state) as usize % templates.len()];
            let word = |word: &str| match word {
                "(N" => format!("({}", numbers[next(&mut state) as usize % numbers.len()]),
                "[V" => format!("[{}", values[next(&mut state) as usize % values.len()]),
                "(V" => format!("({}", values[next(&mut state) as usize % values.len()]),
                "K" => format!("key{}", next(&mut state) % 6),
                "V" => values[next(&mut state) as usize % values.len()].to_owned(),
                "N" => numbers[next(&mut state) as usize % numbers.len()].to_owned(),
                "D" => ["0", "1", "2", "0", "1", "2", "x", "99"][next(&mut state) as usize % 8].to_owned(),
                // No time that comes while the test runs.
                "T" => ["0", "-1", "100000", "x", "9223372036854775807"][next(&mut state) as usize % 5]
                    .to_owned(),
                word => word.to_owned(),
            };
            template.split(' ').map(word).collect::<Vec<_>>().join(" ")
        })
        // These would take half a gigabyte.
        .filter(|command| !command.contains("SETRANGE") || !command.contains("100 "))
        .collect()
}
