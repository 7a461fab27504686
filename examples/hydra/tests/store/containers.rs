//! Commands with subcommands.

use crate::servers::Server;

/// What is wrong with these requests; in redis's words.
const REFUSED: [(&str, &str); 19] = [
    ("CONFIG GET", "wrong number of arguments for 'config|get' command"),
    ("CONFIG SET a", "wrong number of arguments for 'config|set' command"),
    ("CONFIG Foo", "unknown subcommand 'Foo'. Try CONFIG HELP."),
    ("CLIENT ID x", "wrong number of arguments for 'client|id' command"),
    ("CLIENT KILL", "wrong number of arguments for 'client|kill' command"),
    ("CLIENT FOO", "unknown subcommand 'FOO'. Try CLIENT HELP."),
    ("COMMAND FOO", "unknown subcommand 'FOO'. Try COMMAND HELP."),
    ("COMMAND COUNT x", "wrong number of arguments for 'command|count' command"),
    ("COMMAND GETKEYS PING", "wrong number of arguments for 'command|getkeys' command"),
    ("OBJECT x", "unknown subcommand 'x'. Try OBJECT HELP."),
    ("OBJECT ENCODING", "wrong number of arguments for 'object|encoding' command"),
    ("MEMORY FOO", "unknown subcommand 'FOO'. Try MEMORY HELP."),
    ("MEMORY USAGE", "wrong number of arguments for 'memory|usage' command"),
    ("PUBSUB FOO", "unknown subcommand 'FOO'. Try PUBSUB HELP."),
    ("PUBSUB NUMPAT x", "wrong number of arguments for 'pubsub|numpat' command"),
    ("CLUSTER FOO", "unknown subcommand 'FOO'. Try CLUSTER HELP."),
    ("CLUSTER KEYSLOT", "wrong number of arguments for 'cluster|keyslot' command"),
    ("CLUSTER SLOTS x", "wrong number of arguments for 'cluster|slots' command"),
    ("CONFIG", "wrong number of arguments for 'config' command"),
];

#[test]
fn subcommands_are_checked_before_they_are_queued_and_outside_of_transactions() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for (line, why) in REFUSED {
        let refused = format!("-ERR {why}\r\n");
        assert_eq!(client.say(line), refused);
        client.say("MULTI");
        assert_eq!(client.say(line), refused);
        assert_eq!(client.say("EXEC"), "-EXECABORT Transaction discarded because of previous errors.\r\n");
    }
    for line in ["MULTI", "CLIENT GETREDIR", "COMMAND COUNT", "PUBSUB CHANNELS"] {
        client.say(line);
    }
    assert!(client.say("EXEC").starts_with("*3\r\n:-1\r\n:"));
    for (line, why) in [
        (
            "PUBSUB CHANNELS a b",
            "unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.",
        ),
        (
            "CLIENT UNBLOCK 1 a b",
            "unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
        ),
        ("MEMORY USAGE a SAMPLES -1", "syntax error"),
        ("MEMORY USAGE a SAMPLES x", "value is not an integer or out of range"),
        ("MEMORY USAGE a FOO", "syntax error"),
        ("CONFIG SET a b c", "syntax error"),
    ] {
        assert_eq!(client.say(line), format!("-ERR {why}\r\n"), "{line}");
    }
}

#[test]
fn help_lists_the_subcommands_that_there_are() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for name in ["CLIENT", "COMMAND", "CONFIG", "MEMORY", "OBJECT", "PUBSUB"] {
        let help = client.say(&format!("{name} help"));
        let head = format!("+{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n");
        assert!(help.contains(&head) && help.ends_with("+HELP\r\n+    Prints this help.\r\n"), "{help}");
    }
    assert!(client.say("CONFIG HELP").contains("+RESETSTAT\r\n"));
    assert_eq!(client.say("CLUSTER HELP"), "-ERR This instance has cluster support disabled\r\n");
}
