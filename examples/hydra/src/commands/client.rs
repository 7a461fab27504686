//! CLIENT: what client libraries ask of it.

use crate::connection::{Connection, registry};
use crate::protocol::refusal::{NAME, SYNTAX, arity};

pub fn client(connection: &mut Connection, arguments: &[&[u8]]) {
    let subcommand = arguments[1].to_ascii_lowercase();
    match (subcommand.as_slice(), &arguments[2..]) {
        (b"id", []) => {
            let id = connection.registered.id;
            connection.plan.reply().integer(id as i64);
        }
        (b"getname", []) => {
            let name = connection.registered.name();
            if name.is_empty() {
                connection.plan.reply().null();
            } else {
                connection.plan.reply().bulk(name.as_bytes());
            }
        }
        (b"setname", [name]) => set_name(connection, name),
        // Who it is only tells people.
        (b"setinfo", [_, _]) => connection.plan.reply().ok(),
        (b"info", []) => {
            let line = connection.registered.line();
            connection.plan.reply().verbatim(&line);
        }
        (b"list", []) => connection.plan.reply().verbatim(&registry::list()),
        (b"no-evict" | b"no-touch", [switch])
            if switch.eq_ignore_ascii_case(b"on") || switch.eq_ignore_ascii_case(b"off") =>
        {
            connection.plan.reply().ok();
        }
        (b"no-evict" | b"no-touch", [_]) => connection.refuse(&SYNTAX),
        (b"id" | b"getname" | b"setname" | b"setinfo" | b"info" | b"list" | b"no-evict" | b"no-touch", _) => {
            connection.refuse(&arity(&format!("client|{}", String::from_utf8_lossy(&subcommand))));
        }
        _ => connection.refuse_subcommand("CLIENT", arguments[1]),
    }
}

/// Names the client, unless the name would not fit a line of CLIENT LIST.
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
