//! Commands about all keys, and about what a key is.

use crate::commands::subcommands::help;
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{CURSOR, NO_INTEGER, Refusal, SYNTAX};
use crate::store::operation::Operation;
use crate::store::value::Kind;

/// How many bits of a cursor are a place in a shard; the others are the shard.
const PLACE_BITS: u32 = 48;
/// How many keys SCAN looks at, unless COUNT says otherwise.
const DEFAULT_COUNT: i64 = 10;

pub fn size(connection: &mut Connection, _: &[&[u8]]) {
    let sizes = connection.ask_every_shard(Operation::Size, &[]);
    let sizes = sizes.iter().filter_map(|size| number::parse(&size[1..size.len() - 2]));
    let sum = sizes.sum();
    connection.plan.reply().integer(sum);
}

/// FLUSHDB.
pub fn flush(connection: &mut Connection, arguments: &[&[u8]]) {
    flush_by(connection, arguments, Operation::Flush);
}

pub fn flush_all(connection: &mut Connection, arguments: &[&[u8]]) {
    flush_by(connection, arguments, Operation::FlushAll);
}

fn flush_by(connection: &mut Connection, arguments: &[&[u8]], operation: Operation) {
    match &arguments[1..] {
        [] => {}
        [how] if how.eq_ignore_ascii_case(b"ASYNC") || how.eq_ignore_ascii_case(b"SYNC") => {}
        _ => return connection.refuse(&SYNTAX),
    }
    let hold = connection.hold_every_shard();
    connection.ask_every_shard(operation, &[]);
    connection.let_go(hold);
    connection.plan.reply().ok();
}

/// The total of the shards' replies, and these replies.
fn counted(part: &[u8]) -> (usize, &[u8]) {
    part.split_first_chunk().map_or((0, &[]), |(count, rest)| (u64::from_le_bytes(*count) as usize, rest))
}

pub fn keys(connection: &mut Connection, arguments: &[&[u8]]) {
    let found = connection.ask_every_shard(Operation::Keys, &arguments[1..]);
    let found: Vec<_> = found.iter().map(|part| counted(part)).collect();
    let mut reply = connection.plan.reply();
    reply.array(found.iter().map(|(count, _)| count).sum());
    found.iter().for_each(|(_, keys)| reply.raw(keys));
}

pub fn random_key(connection: &mut Connection, _: &[&[u8]]) {
    // Not all shards have the same number of keys, but no key is much more likely than it should be.
    let sizes = connection.ask_every_shard(Operation::Size, &[]);
    let sizes: Vec<_> = sizes.iter().filter_map(|size| number::parse(&size[1..size.len() - 2])).collect();
    let all = sizes.iter().sum::<i64>().max(1);
    let mut wanted = (crate::store::eviction::random() % all as u64) as i64;
    let shard = sizes.iter().position(|size| {
        wanted -= size;
        wanted < 0
    });
    let reply = connection.ask_now_of(&[shard.unwrap_or(0)], Operation::RandomKey, &[]);
    connection.plan.reply().raw(&reply[0]);
}

pub fn scan(connection: &mut Connection, arguments: &[&[u8]]) {
    if let Err(refusal) = try_scan(connection, arguments) {
        connection.refuse(&refusal);
    }
}

fn try_scan(connection: &mut Connection, arguments: &[&[u8]]) -> Result<(), Refusal> {
    let cursor = number::parse_cursor(arguments[1]).ok_or(CURSOR)?;
    let (mut count, mut pattern, mut kind, mut rest) =
        (DEFAULT_COUNT, &b"*"[..], Vec::new(), &arguments[2..]);
    while let [option, behind @ ..] = rest {
        let [value, behind @ ..] = behind else { return Err(SYNTAX) };
        if option.eq_ignore_ascii_case(b"COUNT") {
            count = number::parse(value).ok_or(NO_INTEGER)?;
            if count < 1 {
                return Err(SYNTAX);
            }
        } else if option.eq_ignore_ascii_case(b"MATCH") {
            pattern = value;
        } else if option.eq_ignore_ascii_case(b"TYPE") {
            // No key has a type that does not exist.
            kind = Kind::named(value).map_or("none", Kind::name).as_bytes().to_vec();
        } else {
            return Err(SYNTAX);
        }
        rest = behind;
    }
    let (mut shard, mut place) = ((cursor >> PLACE_BITS) as usize, cursor & ((1 << PLACE_BITS) - 1));
    let (count, mut found, mut total, mut next) = (number::text(count), Vec::new(), 0, 0);
    while shard < connection.shards().len() {
        let from = number::text(place as i64);
        let part =
            connection.ask_now_of(&[shard], Operation::Scan, &[&from, &count, pattern, &kind]).remove(0);
        let (behind, rest) = part.split_first_chunk().unwrap_or((&[0xff; 8], &[]));
        let (in_part, keys) = counted(rest);
        total += in_part;
        found.extend_from_slice(keys);
        place = u64::from_le_bytes(*behind);
        if place != u64::MAX {
            next = (shard as u64) << PLACE_BITS | place;
            break;
        }
        // A shard at its end has given fewer keys than were asked for, so the next one is scanned, too.
        (shard, place) = (shard + 1, 0);
    }
    let mut reply = connection.plan.reply();
    reply.array(2);
    reply.bulk(next.to_string().as_bytes());
    reply.array(total);
    reply.raw(&found);
    Ok(())
}

/// MEMORY USAGE.
pub fn memory(connection: &mut Connection, arguments: &[&[u8]]) {
    match &arguments[1..] {
        // It counts all elements, so there are no samples.
        [subcommand, key, rest @ ..] if subcommand.eq_ignore_ascii_case(b"usage") => match rest {
            [] => connection.ask(Operation::MemoryUsage, key, &[key]),
            [option, count] if option.eq_ignore_ascii_case(b"SAMPLES") => match number::parse(count) {
                None => connection.refuse(&NO_INTEGER),
                Some(..0) => connection.refuse(&SYNTAX),
                Some(_) => connection.ask(Operation::MemoryUsage, key, &[key]),
            },
            _ => connection.refuse(&SYNTAX),
        },
        _ => help(connection, "memory"),
    }
}

pub fn object(connection: &mut Connection, arguments: &[&[u8]]) {
    let operation = match arguments[1].to_ascii_lowercase().as_slice() {
        b"encoding" => Operation::Encoding,
        b"freq" => Operation::Frequency,
        b"idletime" => Operation::IdleTime,
        b"refcount" => Operation::RefCount,
        _ => return help(connection, "object"),
    };
    let key = arguments[2];
    connection.ask(operation, key, &[key]);
}
