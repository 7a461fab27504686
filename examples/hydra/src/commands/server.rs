//! What concerns the connection and the server, not keys.

use crate::clients::Clients;
use crate::commands::client::is_name;
use crate::commands::{databases, transactions};
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{
    HELLO_FIRST, NAME, NO_PASSWORD, NO_PROTOCOL, PROTOCOL_NUMBER, Refusal, SYNTAX, WRONG_PASSWORD, arity,
    quoting,
};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of redis whose commands and replies these are.
pub const REDIS_VERSION: &str = "7.0.15";

pub fn ping(connection: &mut Connection, arguments: &[&[u8]]) {
    // Otherwise a client that has subscribed could not tell it from messages.
    let is_message = connection.mail.is_subscribed() && !connection.plan.is_resp3;
    match arguments {
        [_] | [_, _] if is_message => {
            let mut reply = connection.plan.reply();
            reply.array(2);
            reply.bulk(b"pong");
            reply.bulk(arguments.get(1).copied().unwrap_or_default());
        }
        [_] => connection.plan.reply().simple("PONG"),
        [_, text] => connection.plan.reply().bulk(text),
        _ => connection.refuse(&arity("ping")),
    }
}

pub fn echo(connection: &mut Connection, arguments: &[&[u8]]) {
    connection.plan.reply().bulk(arguments[1]);
}

pub fn quit(connection: &mut Connection, _: &[&[u8]]) {
    connection.plan.reply().ok();
    connection.is_ending = true;
}

/// As if the client had just connected.
pub fn reset(connection: &mut Connection, _: &[&[u8]]) {
    connection.queue = None;
    transactions::forget_watched(connection);
    connection.is_authenticated = connection.server.settings.read().password.is_empty();
    connection.registered.set_name(String::new());
    connection.clients_here(Clients::unsubscribe_all);
    connection.set_subscriptions(0);
    connection.select(0);
    speak(connection, false);
    connection.plan.reply().simple("RESET");
}

pub fn select(connection: &mut Connection, arguments: &[&[u8]]) {
    match databases::number(connection, arguments[1]) {
        Ok(database) => {
            connection.select(database);
            connection.plan.reply().ok();
        }
        Err(refusal) => connection.refuse(&refusal),
    }
}

pub fn time(connection: &mut Connection, _: &[&[u8]]) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut reply = connection.plan.reply();
    reply.array(2);
    reply.bulk(since.as_secs().to_string().as_bytes());
    reply.bulk(since.subsec_micros().to_string().as_bytes());
}

pub fn auth(connection: &mut Connection, arguments: &[&[u8]]) {
    let outcome = match arguments {
        [_, _] if connection.server.settings.read().password.is_empty() => Err(NO_PASSWORD),
        [_, password] => authenticate(connection, b"default", password),
        [_, user, password] => authenticate(connection, user, password),
        _ => Err(SYNTAX),
    };
    match outcome {
        Ok(()) => connection.plan.reply().ok(),
        Err(refusal) => connection.refuse(&refusal),
    }
}

fn authenticate(connection: &mut Connection, user: &[u8], password: &[u8]) -> Result<(), Refusal> {
    let expected = connection.server.settings.read().password.clone();
    if user != b"default" || !expected.is_empty() && !is_same(password, &expected) {
        return Err(WRONG_PASSWORD);
    }
    connection.is_authenticated = true;
    Ok(())
}

/// In a time that does not reveal where the two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

/// From now on in RESP3, or in RESP2.
fn speak(connection: &mut Connection, is_resp3: bool) {
    // Earlier requests are answered in the version that was used when they were sent.
    connection.finish_pending();
    connection.plan.is_resp3 = is_resp3;
    connection.registered.set_resp3(is_resp3);
    connection.clients_here(|clients, client| clients.speak(client, is_resp3));
}

pub fn hello(connection: &mut Connection, arguments: &[&[u8]]) {
    if let Err(refusal) = greet(connection, arguments) {
        connection.refuse(&refusal);
    }
}

fn greet(connection: &mut Connection, arguments: &[&[u8]]) -> Result<(), Refusal> {
    let mut is_resp3 = connection.plan.is_resp3;
    if let Some(version) = arguments.get(1) {
        is_resp3 = match number::parse(version).ok_or(PROTOCOL_NUMBER)? {
            2 => false,
            3 => true,
            _ => return Err(NO_PROTOCOL),
        };
    }
    let (mut rest, mut name) = (arguments.get(2..).unwrap_or_default(), None);
    while let [option, behind @ ..] = rest {
        rest = match behind {
            [user, password, behind @ ..] if option.eq_ignore_ascii_case(b"AUTH") => {
                authenticate(connection, user, password)?;
                behind
            }
            [given, behind @ ..] if option.eq_ignore_ascii_case(b"SETNAME") => {
                if !is_name(given) {
                    return Err(NAME);
                }
                name = Some(String::from_utf8_lossy(given).into_owned());
                behind
            }
            _ => return Err(quoting("ERR Syntax error in HELLO option '", option, "'")),
        };
    }
    if !connection.is_authenticated {
        return Err(HELLO_FIRST);
    }
    if let Some(name) = name {
        connection.registered.set_name(name);
    }
    speak(connection, is_resp3);
    let id = connection.registered.id as i64;
    let mut reply = connection.plan.reply();
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"proto");
    reply.integer(if is_resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(id);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}
