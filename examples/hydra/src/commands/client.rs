//! CLIENT: what client libraries use of it.

use crate::clients::{Clients, Unblocked};
use crate::commands::subcommands::help;
use crate::connection::Connection;
use crate::connection::registry::{self, Filter, Kind};
use crate::protocol::number;
use crate::protocol::refusal::{
    CLIENT_ID, NAME, NO_CLIENT_ID, NO_INTEGER, NO_SUCH_CLIENT, Refusal, SYNTAX, UNBLOCK_HOW, quoting,
};

pub fn client(connection: &mut Connection, arguments: &[&[u8]]) {
    let subcommand = arguments[1].to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"id", []) => {
            let id = connection.registered.id;
            connection.plan.reply().integer(id as i64);
        }
        // Nothing is tracked for a client, so nothing is sent to another one.
        (b"getredir", []) => connection.plan.reply().integer(-1),
        (b"getname", []) => {
            let name = connection.registered.name();
            if name.is_empty() {
                connection.plan.reply().null();
            } else {
                connection.plan.reply().bulk(name.as_bytes());
            }
        }
        (b"setname", [name]) => set_name(connection, name),
        // This only describes the client to people.
        (b"setinfo", [_, _]) => connection.plan.reply().ok(),
        (b"info", []) => {
            let line = connection.registered.line();
            connection.plan.reply().verbatim(&line);
        }
        (b"list", filters) => match listed(filters) {
            Ok((ids, kind)) => connection.plan.reply().verbatim(&registry::list(ids.as_deref(), kind)),
            Err(refusal) => connection.refuse(&refusal),
        },
        (b"unblock", [id, rest @ ..]) if rest.len() < 2 => unblock(connection, id, rest),
        (b"kill", [_, ..]) => kill(connection, &arguments[2..]),
        (b"no-evict" | b"no-touch", [switch])
            if switch.eq_ignore_ascii_case(b"on") || switch.eq_ignore_ascii_case(b"off") =>
        {
            connection.plan.reply().ok();
        }
        (b"no-evict" | b"no-touch", [_]) => connection.refuse(&SYNTAX),
        (b"help", _) => help(connection, "client"),
        _ => connection.refuse_subcommand("CLIENT", arguments[1]),
    }
}

fn kind(name: &[u8]) -> Result<Kind, Refusal> {
    Kind::named(name).ok_or_else(|| quoting("ERR Unknown client type '", name, "'"))
}

/// The numbers, or the type, of those that CLIENT LIST is to show, if not all.
fn listed(filters: &[&[u8]]) -> Result<(Option<Vec<i64>>, Option<Kind>), Refusal> {
    match filters {
        [] => Ok((None, None)),
        [option, of] if option.eq_ignore_ascii_case(b"TYPE") => Ok((None, Some(kind(of)?))),
        [option, ids @ ..] if option.eq_ignore_ascii_case(b"ID") && !ids.is_empty() => {
            let ids = ids.iter().map(|id| number::parse(id)).collect::<Option<_>>();
            Ok((Some(ids.ok_or(NO_CLIENT_ID)?), None))
        }
        _ => Err(SYNTAX),
    }
}

fn unblock(connection: &mut Connection, id: &[u8], how: &[&[u8]]) {
    let how = match how {
        [] => Unblocked::ByTime,
        [how] if how.eq_ignore_ascii_case(b"TIMEOUT") => Unblocked::ByTime,
        [how] if how.eq_ignore_ascii_case(b"ERROR") => Unblocked::ByError,
        _ => return connection.refuse(&UNBLOCK_HOW),
    };
    let Some(id) = number::parse(id) else { return connection.refuse(&NO_INTEGER) };
    let found = registry::find(&Filter { id: Some(id as u64), ..Filter::default() });
    let workers = connection.server.clients.clone();
    let is_unblocked = found
        .iter()
        .any(|(worker, client)| workers.shards()[*worker].apply_with(Clients::unblock, (*client, how)));
    connection.plan.reply().integer(i64::from(is_unblocked));
}

/// By address, in the old form, or by filters, which reply with the number of clients.
fn kill(connection: &mut Connection, arguments: &[&[u8]]) {
    let (filter, skips_itself, is_old) = match arguments {
        [peer] => {
            let peer = Some(String::from_utf8_lossy(peer).into_owned());
            (Filter { peer, ..Filter::default() }, false, true)
        }
        filters => match filter(filters) {
            Ok((filter, skips_itself)) => (filter, skips_itself, false),
            Err(refusal) => return connection.refuse(&refusal),
        },
    };
    let own = connection.registered.id;
    let (mut killed, workers) = (0, connection.server.clients.clone());
    for (worker, client) in registry::find(&filter) {
        if client == own && !skips_itself {
            // The client that asks gets its reply first.
            connection.is_ending = true;
            killed += 1;
        } else if client != own {
            killed += usize::from(workers.shards()[worker].apply_with(Clients::kill, client));
            registry::forget(client);
        }
    }
    match (is_old, killed) {
        (true, 0) => connection.refuse(&NO_SUCH_CLIENT),
        (true, _) => connection.plan.reply().ok(),
        (false, killed) => connection.plan.reply().length(killed),
    }
}

/// What to look for, and whether the client that asks is spared.
fn filter(arguments: &[&[u8]]) -> Result<(Filter, bool), Refusal> {
    let (mut filter, mut skips_itself) = (Filter::default(), true);
    for pair in arguments.chunks(2) {
        let &[name, value] = pair else { return Err(SYNTAX) };
        let text = String::from_utf8_lossy(value).into_owned();
        match (name.to_ascii_lowercase().as_slice(), value.to_ascii_lowercase().as_slice()) {
            (b"id", _) => {
                let id = number::parse(value).filter(|id| *id > 0).ok_or(CLIENT_ID)?;
                filter.id = Some(id as u64);
            }
            (b"addr", _) => filter.peer = Some(text),
            (b"skipme", b"yes") => skips_itself = true,
            (b"skipme", b"no") => skips_itself = false,
            (b"laddr", _) => filter.local = Some(text),
            (b"type", _) => filter.kind = Some(kind(value)?),
            // There is one user.
            (b"user", b"default") => {}
            (b"user", _) => return Err(quoting("ERR No such user '", value, "'")),
            _ => return Err(SYNTAX),
        }
    }
    Ok((filter, skips_itself))
}

/// Names the client, unless the name would not fit in a line of CLIENT LIST.
pub fn set_name(connection: &mut Connection, name: &[u8]) {
    if !is_name(name) {
        return connection.refuse(&NAME);
    }
    connection.registered.set_name(String::from_utf8_lossy(name).into_owned());
    connection.plan.reply().ok();
}

pub fn is_name(name: &[u8]) -> bool {
    name.iter().all(|byte| (b'!'..=b'~').contains(byte))
}
