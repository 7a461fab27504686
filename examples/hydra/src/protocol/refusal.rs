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

pub const SYNTAX: Refusal = constant("ERR syntax error");
pub const NO_INTEGER: Refusal = constant("ERR value is not an integer or out of range");
pub const NO_FLOAT: Refusal = constant("ERR value is not a valid float");
pub const NO_FINITE_SUM: Refusal = constant("ERR increment would produce NaN or Infinity");
pub const OVERFLOW: Refusal = constant("ERR increment or decrement would overflow");
pub const DECREMENT_OVERFLOW: Refusal = constant("ERR decrement would overflow");
pub const OFFSET: Refusal = constant("ERR offset is out of range");
pub const BIT_OFFSET: Refusal = constant("ERR bit offset is not an integer or out of range");
pub const NO_BIT: Refusal = constant("ERR bit is not an integer or out of range");
pub const TOO_LONG: Refusal = constant("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
pub const OUT_OF_MEMORY: Refusal = constant("OOM command not allowed when used memory > 'maxmemory'.");
pub const NO_SUCH_KEY: Refusal = constant("ERR no such key");
pub const CURSOR: Refusal = constant("ERR invalid cursor");
pub const CLASHING_CONDITIONS: Refusal =
    constant("ERR NX and XX, GT or LT options at the same time are not compatible");
pub const CLASHING_BOUNDS: Refusal = constant("ERR GT and LT options at the same time are not compatible");
pub const DATABASE: Refusal = constant("ERR DB index is out of range");
pub const NESTED: Refusal = constant("ERR MULTI calls can not be nested");
pub const EXEC_ALONE: Refusal = constant("ERR EXEC without MULTI");
pub const DISCARD_ALONE: Refusal = constant("ERR DISCARD without MULTI");
pub const WATCH_INSIDE: Refusal = constant("ERR WATCH inside MULTI is not allowed");
pub const NOT_INSIDE: Refusal = constant("ERR Command not allowed inside a transaction");
pub const ABORTED: Refusal = constant("EXECABORT Transaction discarded because of previous errors.");
pub const ABORTED_FOR_MEMORY: Refusal = constant(
    "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.",
);
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

pub fn arity(command: &str) -> Refusal {
    format!("ERR wrong number of arguments for '{command}' command").into()
}

pub fn expire_time(command: &str) -> Refusal {
    format!("ERR invalid expire time in '{command}' command").into()
}
