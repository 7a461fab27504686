//! Values of several keys, brought together to be combined, and where the result goes.

use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{LIMIT_NEGATIVE, NO_INTEGER, Refusal, SYNTAX, WRONG_TYPE};
use crate::store::operation::Operation;
use crate::store::snapshot::{VERSION, entries};
use crate::store::value::{Kind, read};

/// The type and the value of a key, in the form in which it travels; nothing if there is no such key. The shards of all
/// keys that are fetched are held.
pub fn fetch(connection: &mut Connection, key: &[u8]) -> Option<(Kind, Vec<u8>)> {
    let fetched = connection.ask_now(Operation::Fetch, key, &[key]);
    entries(&fetched, VERSION).flatten().next().map(|entry| (entry.kind, entry.value.to_vec()))
}

/// The string of a key; empty if there is no such key.
pub fn fetch_string(connection: &mut Connection, key: &[u8]) -> Result<Vec<u8>, Refusal> {
    match fetch(connection, key) {
        None => Ok(Vec::new()),
        Some((Kind::String, value)) => Ok(value),
        Some(_) => Err(WRONG_TYPE),
    }
}

/// The members of a set, with scores of 1, or of a sorted set with theirs.
pub fn fetch_members(
    connection: &mut Connection,
    key: &[u8],
    may_be_sorted: bool,
) -> Result<Vec<(Vec<u8>, f64)>, Refusal> {
    let (kind, value) = match fetch(connection, key) {
        None => return Ok(Vec::new()),
        Some((Kind::SortedSet, _)) if !may_be_sorted => return Err(WRONG_TYPE),
        Some((kind @ (Kind::Set | Kind::SortedSet), value)) => (kind, value),
        Some(_) => return Err(WRONG_TYPE),
    };
    let (mut rest, mut members) = (&value[..], Vec::new());
    while !rest.is_empty() {
        let mut score = 1.0;
        if kind == Kind::SortedSet
            && let Some((bytes, behind)) = rest.split_first_chunk()
        {
            (score, rest) = (f64::from_le_bytes(*bytes), behind);
        }
        let Some(member) = read(&mut rest) else { break };
        members.push((member.to_vec(), score));
    }
    Ok(members)
}

/// Gives a key the value that a command has made from others; nothing means no value.
pub fn store(connection: &mut Connection, key: &[u8], kind: Kind, value: &[u8]) {
    connection.ask_now(Operation::Store, key, &[key, &[kind as u8], value]);
}

/// The keys that follow their number, and the arguments after them.
pub fn counted<'a, 'b>(
    arguments: &'a [&'b [u8]],
    no_keys: Refusal,
) -> Result<(&'a [&'b [u8]], &'a [&'b [u8]]), Refusal> {
    let count = number::parse(arguments[0]).ok_or(NO_INTEGER)?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(no_keys)?;
    arguments[1..].split_at_checked(count).ok_or(SYNTAX)
}

/// The LIMIT of SINTERCARD and ZINTERCARD.
pub fn limit(options: &[&[u8]]) -> Result<usize, Refusal> {
    match options {
        [] => Ok(usize::MAX),
        [option, limit, behind @ ..] if option.eq_ignore_ascii_case(b"LIMIT") => {
            let limit = number::parse(limit).and_then(|limit| usize::try_from(limit).ok());
            let limit = limit.ok_or(LIMIT_NEGATIVE)?;
            if behind.is_empty() { Ok(if limit == 0 { usize::MAX } else { limit }) } else { Err(SYNTAX) }
        }
        _ => Err(SYNTAX),
    }
}
