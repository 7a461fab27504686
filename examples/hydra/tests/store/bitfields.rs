//! BITFIELD.

use crate::servers::Server;

#[test]
fn integers_of_any_width_are_kept_at_any_bit() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (line, reply) in [
        ("BITFIELD a SET u8 #0 65 SET u8 #2 67", "*2\r\n:0\r\n:0"),
        ("GET a", "$3\r\nA\0C"),
        ("BITFIELD a SET i5 9 -3 GET i5 9 GET u5 9 GET u3 10", "*4\r\n:0\r\n:-3\r\n:29\r\n:6"),
        ("BITFIELD a INCRBY i5 9 -14", "*1\r\n:15"),
        ("BITFIELD a OVERFLOW SAT INCRBY i5 9 1 INCRBY i5 9 -100", "*2\r\n:15\r\n:-16"),
        ("BITFIELD a OVERFLOW FAIL INCRBY i5 9 -1 SET u2 9 4 GET i5 9", "*3\r\n$-1\r\n$-1\r\n:-16"),
        (
            "BITFIELD b OVERFLOW SAT SET i64 7 9223372036854775807 INCRBY i64 7 1 OVERFLOW WRAP INCRBY i64 7 1",
            "*3\r\n:0\r\n:9223372036854775807\r\n:-9223372036854775808",
        ),
        ("BITFIELD b SET u63 1 -1 GET u63 1", "*2\r\n:72057594037927936\r\n:9223372036854775807"),
        ("BITFIELD b GET u8 1000", "*1\r\n:0"),
        ("STRLEN b", ":9"),
        ("BITFIELD_RO nosuch GET u8 0", "*1\r\n:0"),
        ("EXISTS nosuch", ":0"),
        ("BITFIELD a", "*0"),
        ("BITFIELD_RO a INCRBY u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand"),
        (
            "BITFIELD a GET u64 0",
            "-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        ),
        ("BITFIELD a SET u8 4294967296 1", "-ERR bit offset is not an integer or out of range"),
        ("BITFIELD a SET u8 #9223372036854775807 1", "-ERR bit offset is not an integer or out of range"),
        ("BITFIELD a SET i64 4294967295 1", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)"),
        ("BITFIELD a OVERFLOW no", "-ERR Invalid OVERFLOW type specified"),
        ("BITFIELD a SET u8 0", "-ERR syntax error"),
        ("BITFIELD a SET u8 0 x", "-ERR value is not an integer or out of range"),
        ("RPUSH list 1", ":1"),
        ("BITFIELD list GET u8 0", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("BITFIELD list SET u8 0 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
    ] {
        assert_eq!(client.say(line), format!("{reply}\r\n"), "{line}");
    }
}
