//! Why a command was refused, in redis's words.

use std::borrow::Cow;

/// The text of an error reply.
#[derive(Debug)]
pub struct Refusal(pub Cow<'static, [u8]>);

const fn constant(text: &'static str) -> Refusal {
    Refusal(Cow::Borrowed(text.as_bytes()))
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }
}

pub const WRONG_TYPE: Refusal = constant("WRONGTYPE Operation against a key holding the wrong kind of value");
pub const SYNTAX: Refusal = constant("ERR syntax error");
pub const NO_INTEGER: Refusal = constant("ERR value is not an integer or out of range");
pub const NO_FLOAT: Refusal = constant("ERR value is not a valid float");
pub const NO_FINITE_SUM: Refusal = constant("ERR increment would produce NaN or Infinity");
pub const OVERFLOW: Refusal = constant("ERR increment or decrement would overflow");
pub const DECREMENT_OVERFLOW: Refusal = constant("ERR decrement would overflow");
pub const OFFSET: Refusal = constant("ERR offset is out of range");
pub const BIT_OFFSET: Refusal = constant("ERR bit offset is not an integer or out of range");
pub const BIT_VALUE: Refusal = constant("ERR The bit argument must be 1 or 0.");
pub const FIELD_TYPE: Refusal = constant(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);
pub const FIELD_OVERFLOW: Refusal = constant("ERR Invalid OVERFLOW type specified");
pub const FIELD_READ_ONLY: Refusal = constant("ERR BITFIELD_RO only supports the GET subcommand");
pub const NO_BIT: Refusal = constant("ERR bit is not an integer or out of range");
pub const TOO_LONG: Refusal = constant("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
pub const OUT_OF_MEMORY: Refusal = constant("OOM command not allowed when used memory > 'maxmemory'.");
pub const NO_SUCH_KEY: Refusal = constant("ERR no such key");
pub const CURSOR: Refusal = constant("ERR invalid cursor");
pub const CLASHING_CONDITIONS: Refusal =
    constant("ERR NX and XX, GT or LT options at the same time are not compatible");
pub const CLASHING_BOUNDS: Refusal = constant("ERR GT and LT options at the same time are not compatible");
pub const DATABASE: Refusal = constant("ERR DB index is out of range");
pub const FIRST_DATABASE: Refusal = constant("ERR invalid first DB index");
pub const SECOND_DATABASE: Refusal = constant("ERR invalid second DB index");
pub const NESTED: Refusal = constant("ERR MULTI calls can not be nested");
pub const EXEC_ALONE: Refusal = constant("ERR EXEC without MULTI");
pub const DISCARD_ALONE: Refusal = constant("ERR DISCARD without MULTI");
pub const WATCH_INSIDE: Refusal = constant("ERR WATCH inside MULTI is not allowed");
pub const NOT_INSIDE: Refusal = constant("ERR Command not allowed inside a transaction");
pub const ABORTED: Refusal = constant("EXECABORT Transaction discarded because of previous errors.");
pub const NO_AUTHENTICATION: Refusal = constant("NOAUTH Authentication required.");
pub const NO_PASSWORD: Refusal = constant(
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
);
pub const WRONG_PASSWORD: Refusal = constant("WRONGPASS invalid username-password pair or user is disabled.");
pub const NO_PROTOCOL: Refusal = constant("NOPROTO unsupported protocol version");
pub const PROTOCOL_NUMBER: Refusal = constant("ERR Protocol version is not an integer or out of range");
pub const HELLO_FIRST: Refusal = constant(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
);
pub const NAME: Refusal = constant("ERR Client names cannot contain spaces, newlines or special characters.");
pub const SAVING: Refusal = constant("ERR Background save already in progress");

pub const INDEX: Refusal = constant("ERR index out of range");
pub const NOT_POSITIVE: Refusal = constant("ERR value is out of range, must be positive");
pub const OUT_OF_RANGE: Refusal = constant("ERR value is out of range");
pub const RANK_ZERO: Refusal = constant(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
);
pub const COUNT_NEGATIVE: Refusal = constant("ERR COUNT can't be negative");
pub const MAXLEN_NEGATIVE: Refusal = constant("ERR MAXLEN can't be negative");
pub const NO_HASH_INTEGER: Refusal = constant("ERR hash value is not an integer");
pub const NO_HASH_FLOAT: Refusal = constant("ERR hash value is not a float");
pub const NO_INFINITE: Refusal = constant("ERR value is NaN or Infinity");
pub const NX_AND_XX: Refusal = constant("ERR XX and NX options at the same time are not compatible");
pub const GT_LT_NX: Refusal = constant("ERR GT, LT, and/or NX options at the same time are not compatible");
pub const ONE_INCREMENT: Refusal = constant("ERR INCR option supports a single increment-element pair");
pub const NO_SCORE: Refusal = constant("ERR resulting score is not a number (NaN)");
pub const NO_FLOAT_BOUND: Refusal = constant("ERR min or max is not a float");
pub const NO_NAME_BOUND: Refusal = constant("ERR min or max not valid string range item");
pub const LIMIT_ALONE: Refusal =
    constant("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
pub const SCORES_BY_NAME: Refusal =
    constant("ERR syntax error, WITHSCORES not supported in combination with BYLEX");

pub const NO_IDLE_TIME: Refusal = constant(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
pub const NO_FREQUENCY: Refusal = constant(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
pub const NO_TIMEOUT: Refusal = constant("ERR timeout is not a float or out of range");
pub const NO_WHOLE_TIMEOUT: Refusal = constant("ERR timeout is not an integer or out of range");
pub const TIMEOUT_NEGATIVE: Refusal = constant("ERR timeout is negative");
pub const NO_SUCH_CLIENT: Refusal = constant("ERR No such client");
pub const UNBLOCK_HOW: Refusal = constant("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
pub const CLIENT_ID: Refusal = constant("ERR client-id should be greater than 0");
pub const NO_CLIENT_ID: Refusal = constant("ERR Invalid client ID");
pub const NO_CLUSTER: Refusal = constant("ERR This instance has cluster support disabled");
pub const NO_KEYS: Refusal = constant("ERR numkeys should be greater than 0");
pub const NO_COUNT: Refusal = constant("ERR count should be greater than 0");
pub const MANY_KEYS: Refusal = constant("ERR Number of keys can't be greater than number of args");
pub const LIMIT_NEGATIVE: Refusal = constant("ERR LIMIT can't be negative");
pub const NO_WEIGHT: Refusal = constant("ERR weight value is not a float");
pub const NO_WEIGHTS: Refusal = constant("ERR One or more scores can't be converted into double");
pub const NO_SUCH_COMMAND: Refusal = constant("ERR Invalid command specified");
pub const NO_KEY_ARGUMENTS: Refusal = constant("ERR The command has no key arguments");
pub const ARGUMENT_COUNT: Refusal = constant("ERR Invalid number of arguments specified for command");
pub const INVALID_ARGUMENTS: Refusal = constant("ERR Invalid arguments specified for command");
pub const SAME_OBJECT: Refusal = constant("ERR source and destination objects are the same");
pub const BITOP_NOT: Refusal = constant("ERR BITOP NOT must be called with a single source key.");
pub const LCS_BOTH: Refusal = constant("ERR If you want both the length and indexes, please just use IDX.");
pub const LCS_STRINGS: Refusal = constant("ERR The specified keys must contain string values");
pub const LCS_TOO_LONG: Refusal =
    constant("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");

pub fn arity(command: &str) -> Refusal {
    format!("ERR wrong number of arguments for '{command}' command").into()
}

/// A refusal that repeats what the client has sent, byte for byte; as in redis, up to a zero byte.
pub fn quoting(before: &str, text: &[u8], behind: &str) -> Refusal {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    Refusal([before.as_bytes(), text, behind.as_bytes()].concat().into())
}

/// Why EXEC ends a transaction without having executed it.
pub fn aborted(why: &Refusal) -> Refusal {
    let why = why.0.strip_prefix(b"ERR ").unwrap_or(&why.0);
    Refusal([b"EXECABORT Transaction discarded because of: ", why].concat().into())
}

pub fn out_of_bounds(least: i64, most: i64) -> Refusal {
    format!("ERR value is out of range, value must between {least} and {most}").into()
}

pub fn expire_time(command: &str) -> Refusal {
    format!("ERR invalid expire time in '{command}' command").into()
}
