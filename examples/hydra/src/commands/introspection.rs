//! INFO and CONFIG.

use crate::commands::server::REDIS_VERSION;
use crate::commands::subcommands::help;
use crate::connection::{Connection, registry};
use crate::protocol::refusal::SYNTAX;
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
    let keyspace = keyspace(connection);
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
                sums[0],
                settings.maxmemory,
                settings.policy.name()
            ),
        ),
        ("Persistence", format!("loading:0\r\nrdb_last_save_time:{}\r\n", connection.server.last_save())),
        (
            "Stats",
            (1..STATISTICS.len()).fold(String::new(), |mut text, at| {
                let _ = write!(text, "{}:{}\r\n", STATISTICS[at], sums[at]);
                text
            }),
        ),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        ("Keyspace", keyspace),
    ];
    drop(settings);
    let texts = sections.iter().filter(|(name, _)| is_wanted(&name.to_lowercase()));
    let texts: Vec<_> = texts.map(|(name, text)| format!("# {name}\r\n{text}")).collect();
    connection.plan.reply().verbatim(&texts.join("\r\n"));
}

/// A line for each database that has keys.
fn keyspace(connection: &Connection) -> String {
    let mut sums: Vec<[u64; 2]> = Vec::new();
    for own in connection.server.store.map_all(Shard::keys_by_database) {
        sums.resize(sums.len().max(own.len()), [0; 2]);
        for (sum, own) in sums.iter_mut().zip(own) {
            *sum = [sum[0] + own[0], sum[1] + own[1]];
        }
    }
    let used = sums.iter().enumerate().filter(|(_, [keys, _])| *keys > 0);
    used.map(|(number, [keys, expires])| format!("db{number}:keys={keys},expires={expires},avg_ttl=0\r\n"))
        .collect()
}

/// The name under which CONFIG GET shows a setting, if one of these patterns matches: as the client has written it, if
/// that is no pattern.
fn shown_name<'a>(patterns: &[&'a [u8]], name: &'a str) -> Option<&'a [u8]> {
    let is_pattern = |text: &[u8]| text.iter().any(|byte| b"*?[".contains(byte));
    let matches = |pattern: &&&[u8]| {
        if is_pattern(pattern) {
            glob::matches(&pattern.to_ascii_lowercase(), name.as_bytes())
        } else {
            pattern.eq_ignore_ascii_case(name.as_bytes())
        }
    };
    let pattern = patterns.iter().find(matches)?;
    Some(if is_pattern(pattern) { name.as_bytes() } else { pattern })
}

pub fn config(connection: &mut Connection, arguments: &[&[u8]]) {
    let subcommand = arguments[1].to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"get", patterns @ [_, ..]) => {
            let all = connection.server.settings.read().all();
            let named = |(name, value)| Some((shown_name(patterns, name)?, value));
            let found: Vec<_> = all.into_iter().filter_map(named).collect();
            let mut reply = connection.plan.reply();
            reply.map(found.len());
            for (name, value) in found {
                reply.bulk(name);
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
        (b"help", _) => help(connection, "config"),
        _ => connection.refuse_subcommand("CONFIG", arguments[1]),
    }
}
