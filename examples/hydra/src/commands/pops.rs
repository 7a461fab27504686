//! Pops from the first of several keys that has something: at once, or as soon as one has.

use crate::connection::Connection;
use crate::connection::turns::Wait;
use crate::protocol::extended::Extended;
use crate::protocol::number;
use crate::protocol::refusal::{NO_COUNT, NO_KEYS, NO_TIMEOUT, Refusal, SYNTAX, TIMEOUT_NEGATIVE};
use crate::store::operation::Operation;
use crate::store::pops::From;
use crate::store::value::Kind;
use std::time::Duration;

/// From which end, how many, and from which keys.
struct Pop<'a> {
    keys: &'a [&'a [u8]],
    from: From,
    /// None for a single element, which is replied alone.
    count: Option<i64>,
}

/// After this many seconds nobody is interested any more: as good as for ever.
const LONGEST: f64 = 1e9;
/// Every time except 0 lasts at least this long.
const SHORTEST: Duration = Duration::from_millis(1);

/// Seconds; no limit, given as 0, means for ever.
pub fn timeout(text: &[u8]) -> Result<Option<Duration>, Refusal> {
    let seconds = Extended::parse(text).ok_or(NO_TIMEOUT)?.to_double();
    // A longer time than redis can count in milliseconds is a negative one for it.
    if seconds < 0.0 || seconds * 1000.0 >= i64::MAX as f64 {
        return Err(TIMEOUT_NEGATIVE);
    }
    if seconds == 0.0 || seconds > LONGEST {
        return Ok(None);
    }
    Ok(Some(Duration::from_secs_f64(seconds).max(SHORTEST)))
}

impl<'a> Pop<'a> {
    /// The number of keys, the keys, the end, and COUNT.
    fn parse(arguments: &'a [&'a [u8]], sides: [(&str, From); 2]) -> Result<Self, Refusal> {
        let count = number::parse(arguments[0]).and_then(|count| usize::try_from(count).ok());
        let keys = count.filter(|count| *count > 0).ok_or(NO_KEYS)?;
        let rest = &arguments[1..];
        let [side, options @ ..] = rest.get(keys..).unwrap_or_default() else { return Err(SYNTAX) };
        let from = sides.into_iter().find(|(name, _)| side.eq_ignore_ascii_case(name.as_bytes()));
        let (_, from) = from.ok_or(SYNTAX)?;
        let count = match options {
            [] => 1,
            [option, count, behind @ ..] if option.eq_ignore_ascii_case(b"COUNT") => {
                let count = number::parse(count).filter(|count| *count > 0).ok_or(NO_COUNT)?;
                if behind.is_empty() { count } else { return Err(SYNTAX) }
            }
            _ => return Err(SYNTAX),
        };
        Ok(Self { keys: &rest[..keys], from, count: Some(count) })
    }

    /// The reply of the first key that has one. For a client that has waited, a key of another type is not there.
    fn attempt(&self, connection: &mut Connection, waiter: u64, has_waited: bool) -> Option<Vec<u8>> {
        let hold = if self.keys.len() > 1 { connection.hold_all(self.keys) } else { None };
        let (waiter, from) = (number::text(waiter as i64), [self.from as u8]);
        let count = self.count.map(number::text).unwrap_or_default();
        let pop = |connection: &mut Connection, key: &[u8]| {
            let reply = connection.ask_now(Operation::PopFor, key, &[key, &waiter, &from, &count]);
            let is_skipped = reply.is_empty() || has_waited && reply.starts_with(b"-WRONGTYPE");
            (!is_skipped).then_some(reply)
        };
        let [first, rest @ ..] = self.keys else { return None };
        let reply = pop(connection, first).or_else(|| {
            // Most of many keys are not there: one request for each shard tells which are.
            let kinds = connection.ask_many(Operation::Type, rest.chunks(1));
            let own = format!("+{}\r\n", self.from.kind().name()).into_bytes();
            let may_reply = |kind: &[u8]| kind == own || !has_waited && kind != b"+none\r\n";
            let keys = rest.iter().zip(&kinds).filter(|(_, kind)| may_reply(kind));
            keys.map(|(key, _)| key).find_map(|key| pop(connection, key))
        });
        connection.let_go(hold);
        reply
    }

    fn wait(&self, connection: &mut Connection, limit: Option<Duration>) {
        let for_sorted = self.from.kind() == Kind::SortedSet;
        let wait = Wait { keys: self.keys, for_sorted, limit, nothing: |to| to.null_array() };
        let mut has_waited = false;
        connection.reply_in_turn(&wait, |connection, waiter| {
            self.attempt(connection, waiter, std::mem::replace(&mut has_waited, true))
        });
    }
}

const ENDS: [(&str, From); 2] = [("LEFT", From::Left), ("RIGHT", From::Right)];
const EXTREMES: [(&str, From); 2] = [("MIN", From::Lowest), ("MAX", From::Highest)];

fn pop(connection: &mut Connection, arguments: &[&[u8]], sides: [(&str, From); 2]) {
    match Pop::parse(&arguments[1..], sides) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(pop) => match pop.attempt(connection, 0, false) {
            Some(reply) => connection.plan.reply().raw(&reply),
            None => connection.plan.reply().null_array(),
        },
    }
}

pub fn pop_of_lists(connection: &mut Connection, arguments: &[&[u8]]) {
    pop(connection, arguments, ENDS);
}

pub fn pop_of_sorted_sets(connection: &mut Connection, arguments: &[&[u8]]) {
    pop(connection, arguments, EXTREMES);
}

fn wait_and_pop(connection: &mut Connection, arguments: &[&[u8]], sides: [(&str, From); 2]) {
    let parsed = Pop::parse(&arguments[2..], sides).and_then(|pop| Ok((timeout(arguments[1])?, pop)));
    match parsed {
        Err(refusal) => connection.refuse(&refusal),
        Ok((limit, pop)) => pop.wait(connection, limit),
    }
}

pub fn wait_and_pop_of_lists(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop(connection, arguments, ENDS);
}

pub fn wait_and_pop_of_sorted_sets(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop(connection, arguments, EXTREMES);
}

/// The keys, and how long to wait.
fn wait_and_pop_one(connection: &mut Connection, arguments: &[&[u8]], from: From) {
    let (keys, limit) = (&arguments[1..arguments.len() - 1], arguments[arguments.len() - 1]);
    match timeout(limit) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(limit) => Pop { keys, from, count: None }.wait(connection, limit),
    }
}

pub fn wait_and_pop_left(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop_one(connection, arguments, From::Left);
}

pub fn wait_and_pop_right(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop_one(connection, arguments, From::Right);
}

pub fn wait_and_pop_lowest(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop_one(connection, arguments, From::Lowest);
}

pub fn wait_and_pop_highest(connection: &mut Connection, arguments: &[&[u8]]) {
    wait_and_pop_one(connection, arguments, From::Highest);
}
