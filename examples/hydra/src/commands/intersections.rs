//! Sets of several keys: SINTER, SUNION, SDIFF, and where their results go.

use crate::commands::fetching::{fetch_each, limit, members, store};
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{MANY_KEYS, NO_KEYS, Refusal};
use crate::store::value::{Kind, write};
use std::collections::BTreeSet;

/// How sets are combined.
#[derive(Clone, Copy, PartialEq)]
enum Combination {
    Intersection,
    Union,
    /// The first set without the members of all others.
    Difference,
}

type Members = BTreeSet<Vec<u8>>;

fn combine(
    connection: &mut Connection,
    keys: &[&[u8]],
    combination: Combination,
) -> Result<Members, Refusal> {
    let mut combined: Option<Members> = None;
    fetch_each(connection, keys, |fetched| {
        let members = members(fetched, false)?.into_iter().map(|(member, _)| member);
        combined = Some(match (combined.take(), combination) {
            (None, _) => members.map(<[u8]>::to_vec).collect(),
            (Some(mut combined), Combination::Union) => {
                for member in members {
                    if !combined.contains(member) {
                        combined.insert(member.to_vec());
                    }
                }
                combined
            }
            (Some(mut combined), Combination::Difference) => {
                for member in members {
                    combined.remove(member);
                }
                combined
            }
            (Some(combined), Combination::Intersection) => {
                members.filter(|member| combined.contains(*member)).map(<[u8]>::to_vec).collect()
            }
        });
        Ok(())
    })?;
    Ok(combined.unwrap_or_default())
}

fn reply(connection: &mut Connection, keys: &[&[u8]], combination: Combination) {
    let hold = connection.hold_all(keys);
    match combine(connection, keys, combination) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(members) => {
            let mut reply = connection.plan.reply();
            reply.set(members.len());
            members.iter().for_each(|member| reply.bulk(member));
        }
    }
    connection.let_go(hold);
}

/// The first key gets the result of the others.
fn reply_stored(connection: &mut Connection, keys: &[&[u8]], combination: Combination) {
    let hold = connection.hold_all(keys);
    match combine(connection, &keys[1..], combination) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(members) => {
            let mut value = Vec::new();
            members.iter().for_each(|member| write(&mut value, member));
            store(connection, keys[0], Kind::Set, &value);
            connection.plan.reply().length(members.len());
        }
    }
    connection.let_go(hold);
}

pub fn intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, &arguments[1..], Combination::Intersection);
}

pub fn union(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, &arguments[1..], Combination::Union);
}

pub fn difference(connection: &mut Connection, arguments: &[&[u8]]) {
    reply(connection, &arguments[1..], Combination::Difference);
}

pub fn store_intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, &arguments[1..], Combination::Intersection);
}

pub fn store_union(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, &arguments[1..], Combination::Union);
}

pub fn store_difference(connection: &mut Connection, arguments: &[&[u8]]) {
    reply_stored(connection, &arguments[1..], Combination::Difference);
}

/// SINTERCARD.
pub fn count_intersection(connection: &mut Connection, arguments: &[&[u8]]) {
    let count = number::parse(arguments[1]).and_then(|count| usize::try_from(count).ok());
    let parsed = count.filter(|count| *count > 0).ok_or(NO_KEYS).and_then(|count| {
        let (keys, options) = arguments[2..].split_at_checked(count).ok_or(MANY_KEYS)?;
        Ok((keys, limit(options)?))
    });
    let (keys, limit) = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => return connection.refuse(&refusal),
    };
    let hold = connection.hold_all(keys);
    match combine(connection, keys, Combination::Intersection) {
        Err(refusal) => connection.refuse(&refusal),
        Ok(members) => connection.plan.reply().length(members.len().min(limit)),
    }
    connection.let_go(hold);
}
