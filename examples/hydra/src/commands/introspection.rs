//! INFO, CONFIG and COMMAND.

use crate::commands::catalog::COMMANDS;
use crate::commands::names::command as find_command;
use crate::commands::server::REDIS_VERSION;
use crate::commands::table::{Command, Keys, WRITE};
use crate::connection::{Connection, registry};
use crate::protocol::refusal::{SYNTAX, arity};
use crate::protocol::reply::Replies;
use crate::store::{STATISTICS, Shard, glob};
use std::fmt::Write;

pub fn info(connection: &mut Connection, arguments: &[&[u8]]) {
    connection.finish_pending();
    let wanted: Vec<_> = arguments[1..].iter().map(|section| section.to_ascii_lowercase()).collect();
    let is_wanted = |section: &str| {
        wanted.is_empty()
            || wanted.iter().any(|other| {
                [section.as_bytes(), b"all", b"default", b"everything"].contains(&other.as_slice())
            })
    };
    let mut sums = [0_u64; STATISTICS.len()];
    for own in connection.server.store.map_all(Shard::statistics) {
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let settings = connection.server.settings.read();
    let shards = connection.shards().len();
    let sections = [
        (
            "Server",
            format!(
                "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nhydra_version:{}\r\nhydra_shards:{shards}\r\nprocess_id:{}\r\ntcp_port:{}\r\nuptime_in_seconds:{}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id(),
                settings.port,
                connection.server.uptime().as_secs(),
            ),
        ),
        (
            "Clients",
            format!(
                "connected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:{}\r\n",
                registry::count(),
                settings.most_clients,
                registry::blocked()
            ),
        ),
        (
            "Memory",
            format!(
                "used_memory:{}\r\nmaxmemory:{}\r\nmaxmemory_policy:{}\r\n",
                sums[2],
                settings.maxmemory,
                settings.policy.name()
            ),
        ),
        ("Persistence", format!("loading:0\r\nrdb_last_save_time:{}\r\n", connection.server.last_save())),
        (
            "Stats",
            (3..STATISTICS.len()).fold(String::new(), |mut text, at| {
                let _ = write!(text, "{}:{}\r\n", STATISTICS[at], sums[at]);
                text
            }),
        ),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        (
            "Keyspace",
            match sums[0] {
                0 => String::new(),
                keys => format!("db0:keys={keys},expires={},avg_ttl=0\r\n", sums[1]),
            },
        ),
    ];
    drop(settings);
    let texts = sections.iter().filter(|(name, _)| is_wanted(&name.to_lowercase()));
    let texts: Vec<_> = texts.map(|(name, text)| format!("# {name}\r\n{text}")).collect();
    connection.plan.reply().verbatim(&texts.join("\r\n"));
}

pub fn config(connection: &mut Connection, arguments: &[&[u8]]) {
    let subcommand = arguments[1].to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"get", patterns @ [_, ..]) => {
            let all = connection.server.settings.read().all();
            let is_wanted = |name: &str| {
                patterns.iter().any(|pattern| glob::matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
            };
            let found: Vec<_> = all.into_iter().filter(|(name, _)| is_wanted(name)).collect();
            let mut reply = connection.plan.reply();
            reply.map(found.len());
            for (name, value) in found {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        }
        (b"set", pairs @ [_, _, ..]) if pairs.len().is_multiple_of(2) => {
            connection.finish_pending();
            let mut changes: Vec<(String, String)> = Vec::new();
            for pair in pairs.chunks_exact(2) {
                let [name, value] = [pair[0], pair[1]].map(|text| String::from_utf8_lossy(text).into_owned());
                if changes.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                    let why = "CONFIG SET failed (possibly related to argument";
                    return connection.refuse(&format!("ERR {why} '{name}') - duplicate parameter").into());
                }
                changes.push((name, value));
            }
            match connection.server.change_settings(changes) {
                None => connection.plan.reply().ok(),
                Some(why) => connection.refuse(&why.into()),
            }
        }
        (b"resetstat", []) => connection.plan.reply().ok(),
        (b"set", [_, _, ..]) => connection.refuse(&SYNTAX),
        (b"get" | b"set" | b"resetstat", _) => {
            connection.refuse(&arity(&format!("config|{}", String::from_utf8_lossy(&subcommand))));
        }
        _ => connection.refuse_subcommand("CONFIG", arguments[1]),
    }
}

pub fn command(connection: &mut Connection, arguments: &[&[u8]]) {
    let Some(subcommand) = arguments.get(1) else {
        let mut reply = connection.plan.reply();
        reply.array(COMMANDS.len());
        return COMMANDS.iter().for_each(|command| describe(command, &mut reply));
    };
    match (subcommand.to_ascii_lowercase().as_slice(), &arguments[2..]) {
        (b"count", []) => connection.plan.reply().length(COMMANDS.len()),
        // There is a manual, but not here.
        (b"docs", _) => connection.plan.reply().map(0),
        (b"list", []) => {
            let mut reply = connection.plan.reply();
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| reply.bulk(command.name.as_bytes()));
        }
        (b"info", names) => {
            let mut reply = connection.plan.reply();
            reply.array(names.len());
            for name in names {
                match find_command(name) {
                    Some(command) => describe(command, &mut reply),
                    None => reply.null_array(),
                }
            }
        }
        _ => connection.refuse_subcommand("COMMAND", subcommand),
    }
}

/// Name, arity, flags, keys, and what only access control would have.
fn describe(command: &Command, reply: &mut Replies<'_>) {
    // Where they are counted, clients ask for each command.
    let (first, last, step) = match command.keys {
        Keys::Range(first, last, step) => (first, last, step),
        Keys::Counted(_) => (0, 0, 0),
    };
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity);
    reply.array(1);
    reply.simple(if command.has(WRITE) { "write" } else { "readonly" });
    [first, last, step].into_iter().for_each(|key| reply.integer(key));
    (0..4).for_each(|_| reply.array(0));
}
