//! Values that get another key: RENAME, COPY, ZRANGESTORE.

use crate::commands::moves::bulk;
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{DATABASE, NO_INTEGER, NO_SUCH_KEY, Refusal, SAME_OBJECT, SYNTAX};
use crate::store::operation::Operation;
use crate::store::value::Kind;

/// What becomes of a key that gets another name, too or instead.
enum Outcome {
    NotThere,
    Refused,
    Done,
}

/// Takes or fetches what one key has, and puts it under another one.
fn transfer(connection: &mut Connection, operation: Operation, keys: [&[u8]; 2], if_absent: bool) -> Outcome {
    let hold = connection.hold_all(&keys);
    let [from, to] = keys;
    let is_there =
        |connection: &mut Connection, key| connection.ask_now(Operation::Exists, key, &[key]) != b":0\r\n";
    let outcome = if !is_there(connection, from) {
        Outcome::NotThere
    } else if if_absent && is_there(connection, to) {
        Outcome::Refused
    } else {
        if from != to {
            let taken = connection.ask_now(operation, from, &[from]);
            connection.ask_now(Operation::Put, to, &[to, &taken]);
        }
        Outcome::Done
    };
    connection.let_go(hold);
    outcome
}

pub fn rename(connection: &mut Connection, arguments: &[&[u8]]) {
    match transfer(connection, Operation::Take, [arguments[1], arguments[2]], false) {
        Outcome::NotThere => connection.refuse(&NO_SUCH_KEY),
        _ => connection.plan.reply().ok(),
    }
}

pub fn rename_if_absent(connection: &mut Connection, arguments: &[&[u8]]) {
    match transfer(connection, Operation::Take, [arguments[1], arguments[2]], true) {
        Outcome::NotThere => connection.refuse(&NO_SUCH_KEY),
        Outcome::Refused => connection.plan.reply().integer(0),
        Outcome::Done => connection.plan.reply().integer(1),
    }
}

pub fn copy(connection: &mut Connection, arguments: &[&[u8]]) {
    match may_replace(arguments) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(may_replace) => {
            let keys = [arguments[1], arguments[2]];
            let outcome = transfer(connection, Operation::Fetch, keys, !may_replace);
            connection.plan.reply().integer(i64::from(matches!(outcome, Outcome::Done)));
        }
    }
}

/// The options of COPY.
fn may_replace(arguments: &[&[u8]]) -> Result<bool, Refusal> {
    let (mut replaces, mut rest) = (false, &arguments[3..]);
    while let [option, behind @ ..] = rest {
        rest = match behind {
            _ if option.eq_ignore_ascii_case(b"REPLACE") => {
                replaces = true;
                behind
            }
            [database, behind @ ..] if option.eq_ignore_ascii_case(b"DB") => {
                if number::parse(database).ok_or(NO_INTEGER)? != 0 {
                    return Err(DATABASE);
                }
                behind
            }
            _ => return Err(SYNTAX),
        };
    }
    if arguments[1] == arguments[2] { Err(SAME_OBJECT) } else { Ok(replaces) }
}

/// ZRANGESTORE.
pub fn store_range(connection: &mut Connection, arguments: &[&[u8]]) {
    let (target, source) = (arguments[1], arguments[2]);
    let hold = connection.hold_all(&arguments[1..3]);
    let encoded = connection.ask_now(Operation::SortedRangeEncoded, source, &arguments[2..]);
    if encoded.starts_with(b"-") {
        connection.plan.reply().raw(&encoded);
    } else {
        connection.ask_now(Operation::Store, target, &[target, &[Kind::SortedSet as u8], bulk(&encoded)]);
        let count = connection.ask_now(Operation::ZCard, target, &[target]);
        connection.plan.reply().raw(&count);
    }
    connection.let_go(hold);
}
