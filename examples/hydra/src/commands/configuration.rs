//! CONFIG.

use crate::clients::Clients;
use crate::commands::subcommands::help;
use crate::connection::Connection;
use crate::protocol::refusal::SYNTAX;
use crate::store::{Shard, glob};

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
                reply.bulk(&value);
            }
        }
        (b"set", pairs @ [_, _, ..]) if pairs.len().is_multiple_of(2) => {
            connection.finish_pending();
            let pairs = pairs.chunks_exact(2);
            let named = connection.server.settings.read().named(pairs.clone().map(|pair| pair[0]));
            let changed = named.and_then(|names| {
                let changes =
                    names.into_iter().zip(pairs).map(|(name, pair)| (name.to_owned(), pair[1].to_vec()));
                connection.server.change_settings(changes.collect())
            });
            match changed {
                Ok(()) => connection.plan.reply().ok(),
                Err(refusal) => connection.refuse(&refusal),
            }
        }
        (b"resetstat", []) => {
            connection.finish_pending();
            connection.server.store.map_all(Shard::reset_statistics);
            connection.server.clients.map_all(Clients::reset_statistics);
            connection.plan.reply().ok();
        }
        (b"set", [_, _, ..]) => connection.refuse(&SYNTAX),
        (b"help", _) => help(connection, "config"),
        _ => connection.refuse_subcommand("CONFIG", arguments[1]),
    }
}
