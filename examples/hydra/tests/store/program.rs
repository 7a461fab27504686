//! Commands that are run one after the other: those of a file, with what redis replied to each, and random ones.

/// `command -> reply`, as redis 7.0.15 has it.
pub const RECORDED: &str = include_str!("recorded.txt");

/// Commands of one program, which begins with an empty store.
pub fn fixed() -> Vec<String> {
    RECORDED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" -> "))
        .map(|(command, _)| command.to_owned())
        .collect()
}

/// A random number after another (splitmix64).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// As many random commands about a few keys; what they reply does not depend on the time.
pub fn random(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
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
        "MULTI",
        "EXEC",
        "DISCARD",
        "WATCH K",
        "UNWATCH",
        "NOSUCH K",
        "GET",
        "SET K V EX",
    ];
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
            let word = |word| match word {
                "K" => format!("key{}", next(&mut state) % 6),
                "V" => values[next(&mut state) as usize % values.len()].to_owned(),
                "N" => numbers[next(&mut state) as usize % numbers.len()].to_owned(),
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
