//! COMMAND: what commands there are, what they do, and which keys they name.

use crate::commands::catalog::COMMANDS;
use crate::commands::documentation::DOCUMENTATION;
use crate::commands::names::command as find_command;
use crate::commands::subcommands::{check, help};
use crate::commands::table::{CONTAINER, Command, FREE, Keys, WRITE};
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{
    ARGUMENT_COUNT, INVALID_ARGUMENTS, NO_KEY_ARGUMENTS, NO_SUCH_COMMAND, Refusal, SYNTAX,
};
use crate::protocol::reply::Replies;
use crate::store::glob;

pub fn command(connection: &mut Connection, arguments: &[&[u8]]) {
    let Some(subcommand) = arguments.get(1) else {
        let mut reply = connection.plan.reply();
        reply.array(COMMANDS.len());
        return COMMANDS.iter().for_each(|command| describe(command, &mut reply));
    };
    let subcommand = subcommand.to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"count", []) => connection.plan.reply().length(COMMANDS.len()),
        (b"docs", names) => document(names, &mut connection.plan.reply()),
        (b"list", []) => list(b"*", &mut connection.plan.reply()),
        (b"list", [filter, by, pattern]) if filter.eq_ignore_ascii_case(b"FILTERBY") => {
            match by.to_ascii_lowercase().as_slice() {
                b"pattern" => list(&pattern.to_ascii_lowercase(), &mut connection.plan.reply()),
                // There are no modules.
                b"module" => connection.plan.reply().array(0),
                _ => connection.refuse(&SYNTAX),
            }
        }
        (b"list", _) => connection.refuse(&SYNTAX),
        (b"info", []) => {
            let mut reply = connection.plan.reply();
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| describe(command, &mut reply));
        }
        (b"info", names) => {
            let mut reply = connection.plan.reply();
            reply.array(names.len());
            for name in names {
                match find_command(name) {
                    Some(command) => describe(command, &mut reply),
                    None => reply.null(),
                }
            }
        }
        (b"getkeys", request @ [_, _, ..]) => match keys(request) {
            Ok(keys) => {
                let mut reply = connection.plan.reply();
                reply.array(keys.len());
                keys.iter().for_each(|key| reply.bulk(key));
            }
            Err(refusal) => connection.refuse(&refusal),
        },
        (b"help", _) => help(connection, "command"),
        _ => connection.refuse_subcommand("COMMAND", arguments[1]),
    }
}

fn list(pattern: &[u8], reply: &mut Replies<'_>) {
    let names: Vec<_> = COMMANDS.iter().map(|command| command.name.as_bytes()).collect();
    let names: Vec<_> = names.into_iter().filter(|name| glob::matches(pattern, name)).collect();
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name));
}

/// What these commands do, or all commands if none is named; nothing for names of no command.
fn document(names: &[&[u8]], reply: &mut Replies<'_>) {
    let is_wanted = |name: &str| {
        names.is_empty() || names.iter().any(|other| other.eq_ignore_ascii_case(name.as_bytes()))
    };
    let rows: Vec<_> = DOCUMENTATION.iter().filter(|(name, ..)| is_wanted(name)).collect();
    reply.map(rows.len());
    for (name, group, since, summary) in rows {
        reply.bulk(name.as_bytes());
        reply.map(3);
        for (title, text) in [("summary", summary), ("since", since), ("group", group)] {
            reply.bulk(title.as_bytes());
            reply.bulk(text.as_bytes());
        }
    }
}

/// The keys of a request.
fn keys<'a>(request: &[&'a [u8]]) -> Result<Vec<&'a [u8]>, Refusal> {
    let command = find_command(request[0]).ok_or(NO_SUCH_COMMAND)?;
    if matches!(command.keys, Keys::Range(0, ..)) {
        return Err(NO_KEY_ARGUMENTS);
    }
    if !command.accepts(request.len()) {
        return Err(ARGUMENT_COUNT);
    }
    if command.has(CONTAINER) && check(command, request).is_err() {
        return Err(NO_SUCH_COMMAND);
    }
    if let Keys::Counted(at) = command.keys {
        let count = number::parse(request[at]).and_then(|count| usize::try_from(count).ok());
        count.filter(|count| (1..request.len() - at).contains(count)).ok_or(INVALID_ARGUMENTS)?;
    }
    let keys = command.keys_of(request);
    if keys.is_empty() { Err(NO_KEY_ARGUMENTS) } else { Ok(keys) }
}

/// Name, arity, flags, keys, and the fields that only access control would fill.
fn describe(command: &Command, reply: &mut Replies<'_>) {
    // Where a command counts its keys, clients ask for each request.
    let (first, last, step) = match command.keys {
        Keys::Range(first, last, step) => (first, last, step),
        Keys::Counted(_) => (0, 0, 0),
        Keys::FirstAndStored => (1, 1, 1),
    };
    let moves = !matches!(command.keys, Keys::Range(..));
    let flags = [
        ("write", command.has(WRITE)),
        ("readonly", !command.has(WRITE) && (first > 0 || moves)),
        ("denyoom", command.may_grow()),
        ("no_auth", command.has(FREE)),
        ("movablekeys", moves),
    ];
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity);
    reply.set(flags.iter().filter(|(_, has)| *has).count());
    flags.iter().filter(|(_, has)| *has).for_each(|(name, _)| reply.simple(name));
    [first, last, step].into_iter().for_each(|key| reply.integer(key));
    (0..4).for_each(|_| reply.array(0));
}
