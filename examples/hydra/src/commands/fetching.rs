//! Values of several keys, brought together to be combined, and where the result goes.

use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{LIMIT_NEGATIVE, NO_INTEGER, Refusal, SYNTAX, WRONG_TYPE};
use crate::store::operation::Operation;
use crate::store::snapshot::{VERSION, entries};
use crate::store::value::{Kind, read};

/// The type and the value of a key, in the form in which it travels; nothing if there is no such key.
pub type Fetched<'a> = Option<(Kind, &'a [u8])>;

/// Has the values of several keys taken one after another, until one is refused. The shards of the keys are held, if
/// there is more than one.
pub fn fetch_each(
    connection: &mut Connection,
    keys: &[&[u8]],
    mut take: impl FnMut(Fetched<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut outcome = Ok(());
    connection.ask_each(Operation::Fetch, keys.chunks(1), |reply| {
        if outcome.is_ok() {
            let entry = entries(reply, VERSION).flatten().next();
            outcome = take(entry.map(|entry| (entry.kind, entry.value)));
        }
    });
    outcome
}

/// The string that was fetched; empty if there is no such key.
pub fn string(fetched: Fetched<'_>) -> Result<&[u8], Refusal> {
    match fetched {
        None => Ok(&[]),
        Some((Kind::String, value)) => Ok(value),
        Some(_) => Err(WRONG_TYPE),
    }
}

/// The members of a set that was fetched, with scores of 1, or of a sorted set with theirs.
pub fn members(fetched: Fetched<'_>, may_be_sorted: bool) -> Result<Vec<(&[u8], f64)>, Refusal> {
    let (kind, mut rest) = match fetched {
        None => return Ok(Vec::new()),
        Some((Kind::SortedSet, _)) if !may_be_sorted => return Err(WRONG_TYPE),
        Some((kind @ (Kind::Set | Kind::SortedSet), value)) => (kind, value),
        Some(_) => return Err(WRONG_TYPE),
    };
    let mut members = Vec::new();
    while !rest.is_empty() {
        let mut score = 1.0;
        if kind == Kind::SortedSet
            && let Some((bytes, behind)) = rest.split_first_chunk()
        {
            (score, rest) = (f64::from_le_bytes(*bytes), behind);
        }
        let Some(member) = read(&mut rest) else { break };
        members.push((member, score));
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

/// The LIMIT of SINTERCARD and ZINTERCARD; the last one, if there are several.
pub fn limit(mut options: &[&[u8]]) -> Result<usize, Refusal> {
    let mut limit = 0;
    while let [option, number, behind @ ..] = options
        && option.eq_ignore_ascii_case(b"LIMIT")
    {
        limit = number::parse(number).and_then(|limit| usize::try_from(limit).ok()).ok_or(LIMIT_NEGATIVE)?;
        options = behind;
    }
    if !options.is_empty() {
        return Err(SYNTAX);
    }
    Ok(if limit == 0 { usize::MAX } else { limit })
}
