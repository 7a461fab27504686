//! The subcommands of CLIENT, CONFIG and the like: how many arguments they have, and what HELP tells about them.

use crate::commands::table::{Command, accepts};
use crate::connection::Connection;
use crate::protocol::refusal::{Refusal, arity, quoting};

struct Subcommand {
    name: &'static str,
    /// As of a command, whose name counts, too.
    arity: i64,
    /// How it is used, and what for; nothing for names that only redis's cluster has.
    help: &'static [&'static str],
}

const fn new(name: &'static str, arity: i64, help: &'static [&'static str]) -> Subcommand {
    Subcommand { name, arity, help }
}

const HELP: Subcommand = new("help", 2, &["HELP", "    Prints this help."]);

static CLIENT: &[Subcommand] = &[
    new("getname", 2, &["GETNAME", "    Return the name of this connection."]),
    new("getredir", 2, &["GETREDIR", "    Return -1: keys are not tracked for clients."]),
    new("id", 2, &["ID", "    Return the number of this connection."]),
    new("info", 2, &["INFO", "    Return what is known about this connection."]),
    new(
        "kill",
        -3,
        &[
            "KILL <ip:port>",
            "    End the connection from this address.",
            "KILL <option> <value> [<option> <value> [...]]",
            "    End connections. Options are:",
            "    * ADDR <ip:port>",
            "      From this address.",
            "    * LADDR <ip:port>",
            "      To this address of the server.",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Of this type.",
            "    * USER <username>",
            "      Of this user.",
            "    * ID <number>",
            "      With this number.",
            "    * SKIPME (YES|NO)",
            "      Whether to spare this connection (default: yes).",
        ],
    ),
    new(
        "list",
        -2,
        &[
            "LIST [options ...]",
            "    Return what is known about connections of this node. Options:",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Those of this type.",
            "    * ID <number> [<number> ...]",
            "      Those with these numbers.",
        ],
    ),
    new("no-evict", 3, &["NO-EVICT (ON|OFF)", "    Accepted, without effect: clients are not evicted."]),
    new("no-touch", 3, &["NO-TOUCH (ON|OFF)", "    Accepted, without effect."]),
    new("setinfo", 4, &["SETINFO <attribute> <value>", "    Accepted, without effect."]),
    new("setname", 3, &["SETNAME <name>", "    Give this connection a name."]),
    new("unblock", -3, &["UNBLOCK <clientid> [TIMEOUT|ERROR]", "    End the wait of a client."]),
    HELP,
];

static CLUSTER: &[Subcommand] = &[
    new("addslots", -3, &[]),
    new("addslotsrange", -4, &[]),
    new("bumpepoch", 2, &[]),
    new("count-failure-reports", 3, &[]),
    new("countkeysinslot", 3, &[]),
    new("delslots", -3, &[]),
    new("delslotsrange", -4, &[]),
    new("failover", -2, &[]),
    new("flushslots", 2, &[]),
    new("forget", 3, &[]),
    new("getkeysinslot", 4, &[]),
    new("help", 2, &[]),
    new("info", 2, &[]),
    new("keyslot", 3, &[]),
    new("links", 2, &[]),
    new("meet", -4, &[]),
    new("myid", 2, &[]),
    new("nodes", 2, &[]),
    new("replicas", 3, &[]),
    new("replicate", 3, &[]),
    new("reset", -2, &[]),
    new("saveconfig", 2, &[]),
    new("set-config-epoch", 3, &[]),
    new("setslot", -4, &[]),
    new("shards", 2, &[]),
    new("slaves", 3, &[]),
    new("slots", 2, &[]),
];

static COMMAND: &[Subcommand] = &[
    new(
        "count",
        2,
        &["(no subcommand)", "    Describe all commands.", "COUNT", "    Return how many there are."],
    ),
    new("docs", -2, &["DOCS [<command-name> ...]", "    Return what these commands do, or all of them."]),
    new("getkeys", -4, &["GETKEYS <full-command>", "    Return the keys of a command."]),
    new("info", -2, &["INFO [<command-name> ...]", "    Describe these commands, or all of them."]),
    new(
        "list",
        -2,
        &[
            "LIST [FILTERBY (PATTERN <pattern>|MODULE <name>)]",
            "    Return the names of these commands, or of all.",
        ],
    ),
    HELP,
];

static CONFIG: &[Subcommand] = &[
    new(
        "get",
        -3,
        &["GET <pattern> [<pattern> ...]", "    Return the settings whose names match, and their values."],
    ),
    new("set", -4, &["SET <name> <value> [<name> <value> ...]", "    Change settings, all of them or none."]),
    new("resetstat", 2, &["RESETSTAT", "    Reset statistics reported by the INFO command."]),
    HELP,
];

static MEMORY: &[Subcommand] = &[
    new(
        "usage",
        -3,
        &[
            "USAGE <key> [SAMPLES <count>]",
            "    Return how many bytes a key and its value take. All elements are counted.",
        ],
    ),
    HELP,
];

static OBJECT: &[Subcommand] = &[
    new("encoding", 3, &["ENCODING <key>", "    Return the form in which the value is stored."]),
    new("freq", 3, &["FREQ <key>", "    Return how often the key is used, as a logarithm."]),
    new("idletime", 3, &["IDLETIME <key>", "    Return how many seconds ago the key was used."]),
    new("refcount", 3, &["REFCOUNT <key>", "    Return 1: values are not shared."]),
    HELP,
];

static PUBSUB: &[Subcommand] = &[
    new(
        "channels",
        -2,
        &["CHANNELS [<pattern>]", "    Return the channels that have subscribers and match."],
    ),
    new("numpat", 2, &["NUMPAT", "    Return how many patterns have subscribers."]),
    new("numsub", -2, &["NUMSUB [<channel> ...]", "    Return how many subscribers these channels have."]),
    HELP,
];

/// The subcommands of a command that has some.
fn of(command: &str) -> &'static [Subcommand] {
    match command {
        "client" => CLIENT,
        "cluster" => CLUSTER,
        "command" => COMMAND,
        "config" => CONFIG,
        "memory" => MEMORY,
        "object" => OBJECT,
        "pubsub" => PUBSUB,
        _ => &[],
    }
}

fn find(command: &Command, name: &[u8]) -> Option<&'static Subcommand> {
    of(command.name).iter().find(|other| name.eq_ignore_ascii_case(other.name.as_bytes()))
}

/// Checks the subcommand of a request, and how many arguments it has.
///
/// # Errors
/// If there is no such subcommand, or its arguments are too few or too many.
pub fn check(command: &Command, arguments: &[&[u8]]) -> Result<(), Refusal> {
    let Some(name) = arguments.get(1) else { return Ok(()) };
    let Some(found) = find(command, name) else {
        let behind = format!("'. Try {} HELP.", command.name.to_uppercase());
        return Err(quoting("ERR unknown subcommand '", &name[..name.len().min(128)], &behind));
    };
    let is_accepted = accepts(found.arity, arguments.len());
    if is_accepted { Ok(()) } else { Err(arity(&format!("{}|{}", command.name, found.name))) }
}

/// The name of a command, with its subcommand if it has some.
pub fn full_name(command: &Command, arguments: &[&[u8]]) -> String {
    let found = arguments.get(1).and_then(|name| find(command, name));
    found.map_or_else(|| command.name.to_owned(), |found| format!("{}|{}", command.name, found.name))
}

/// The HELP of a command.
pub fn help(connection: &mut Connection, command: &str) {
    let lines = || of(command).iter().flat_map(|subcommand| subcommand.help);
    let mut reply = connection.plan.reply();
    reply.array(1 + lines().count());
    let name = command.to_uppercase();
    reply.simple(&format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    lines().for_each(|line| reply.simple(line));
}
