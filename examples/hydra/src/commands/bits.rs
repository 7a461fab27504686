//! BITOP.

use crate::commands::fetching::{fetch_string, store};
use crate::connection::Connection;
use crate::protocol::refusal::{BITOP_NOT, Refusal, SYNTAX};
use crate::store::value::Kind;

pub fn combine(connection: &mut Connection, arguments: &[&[u8]]) {
    let combine: fn(u8, u8) -> u8 = match arguments[1].to_ascii_lowercase().as_slice() {
        b"and" => |one, other| one & other,
        b"or" => |one, other| one | other,
        b"xor" => |one, other| one ^ other,
        b"not" if arguments.len() == 4 => |one, _| !one,
        b"not" => return connection.refuse(&BITOP_NOT),
        _ => return connection.refuse(&SYNTAX),
    };
    let is_not = arguments[1].eq_ignore_ascii_case(b"NOT");
    let hold = connection.hold_all(&arguments[2..]);
    match combined(connection, &arguments[3..], combine, is_not) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(value) => {
            store(connection, arguments[2], Kind::String, &value);
            connection.plan.reply().length(value.len());
        }
    }
    connection.let_go(hold);
}

/// All strings as if they were as long as the longest one: missing bytes are zeros.
fn combined(
    connection: &mut Connection,
    keys: &[&[u8]],
    combine: fn(u8, u8) -> u8,
    is_not: bool,
) -> Result<Vec<u8>, Refusal> {
    let strings = keys.iter().map(|key| fetch_string(connection, key)).collect::<Result<Vec<_>, _>>()?;
    let length = strings.iter().map(Vec::len).max().unwrap_or(0);
    let mut strings = strings.into_iter();
    let mut value = strings.next().unwrap_or_default();
    value.resize(length, 0);
    if is_not {
        value.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
    }
    for string in strings {
        let others = string.iter().chain(std::iter::repeat(&0));
        value.iter_mut().zip(others).for_each(|(byte, other)| *byte = combine(*byte, *other));
    }
    Ok(value)
}
