//! Values that get another key: RENAME, COPY, ZRANGESTORE.

use crate::commands::databases::number;
use crate::commands::moves::bulk;
use crate::connection::Connection;
use crate::protocol::refusal::{NO_SUCH_KEY, Refusal, SAME_OBJECT, SYNTAX};
use crate::store::operation::Operation;
use crate::store::value::Kind;

/// What happens to the old name of a value that gets another one.
enum Outcome {
    NotThere,
    Refused,
    Done,
}

/// Takes or copies the value of one key, and stores it under another key, or in another database.
fn transfer(
    connection: &mut Connection,
    operation: Operation,
    keys: [&[u8]; 2],
    target: u16,
    if_absent: bool,
) -> Outcome {
    let hold = connection.hold_all(&keys);
    let [from, to] = keys;
    let source = connection.plan.database;
    let is_there = |connection: &mut Connection, database, key| {
        connection.ask_now_in(database, Operation::Exists, key, &[key]) != b":0\r\n"
    };
    let outcome = if !is_there(connection, source, from) {
        Outcome::NotThere
    } else if if_absent && is_there(connection, target, to) {
        Outcome::Refused
    } else {
        if (source, from) != (target, to) {
            let taken = connection.ask_now(operation, from, &[from]);
            connection.ask_now_in(target, Operation::Put, to, &[to, &taken]);
        }
        Outcome::Done
    };
    connection.let_go(hold);
    outcome
}

pub fn rename(connection: &mut Connection, arguments: &[&[u8]]) {
    let database = connection.plan.database;
    match transfer(connection, Operation::Take, [arguments[1], arguments[2]], database, false) {
        Outcome::NotThere => connection.refuse(&NO_SUCH_KEY),
        _ => connection.plan.reply().ok(),
    }
}

pub fn rename_if_absent(connection: &mut Connection, arguments: &[&[u8]]) {
    let database = connection.plan.database;
    match transfer(connection, Operation::Take, [arguments[1], arguments[2]], database, true) {
        Outcome::NotThere => connection.refuse(&NO_SUCH_KEY),
        Outcome::Refused => connection.plan.reply().integer(0),
        Outcome::Done => connection.plan.reply().integer(1),
    }
}

pub fn copy(connection: &mut Connection, arguments: &[&[u8]]) {
    match copy_options(connection, arguments) {
        Err(refusal) => connection.refuse(&refusal),
        Ok((database, replaces)) => {
            let keys = [arguments[1], arguments[2]];
            let outcome = transfer(connection, Operation::Fetch, keys, database, !replaces);
            connection.plan.reply().integer(i64::from(matches!(outcome, Outcome::Done)));
        }
    }
}

/// The target database, and whether to replace what is there.
fn copy_options(connection: &Connection, arguments: &[&[u8]]) -> Result<(u16, bool), Refusal> {
    let (mut target, mut replaces, mut rest) = (connection.plan.database, false, &arguments[3..]);
    while let [option, behind @ ..] = rest {
        rest = match behind {
            _ if option.eq_ignore_ascii_case(b"REPLACE") => {
                replaces = true;
                behind
            }
            [database, behind @ ..] if option.eq_ignore_ascii_case(b"DB") => {
                target = number(connection, database)?;
                behind
            }
            _ => return Err(SYNTAX),
        };
    }
    let is_same = arguments[1] == arguments[2] && target == connection.plan.database;
    if is_same { Err(SAME_OBJECT) } else { Ok((target, replaces)) }
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
