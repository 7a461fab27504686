//! Commands with several keys, which others see changed in one step.

use crate::connection::Connection;
use crate::protocol::refusal::arity;
use crate::store::operation::Operation;

/// The keys of MSET and the like: every other argument.
fn pairs<'a>(arguments: &[&'a [u8]]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    arguments[1..].chunks_exact(2).map(|pair| (pair[0], pair[1]))
}

pub fn get_each(connection: &mut Connection, arguments: &[&[u8]]) {
    let keys = &arguments[1..];
    let hold = connection.hold(keys);
    connection.plan.reply().array(keys.len());
    for key in keys {
        connection.ask_part(Operation::GetOrNull, key, &[key]);
    }
    connection.plan.finish_each(keys.len());
    connection.let_go(hold);
}

pub fn set_each(connection: &mut Connection, arguments: &[&[u8]]) {
    if arguments.len().is_multiple_of(2) {
        return connection.refuse(&arity("mset"));
    }
    let keys: Vec<_> = pairs(arguments).map(|(key, _)| key).collect();
    connection.share_hold(&keys);
    for (key, value) in pairs(arguments) {
        connection.ask_part(Operation::Set, key, &[key, value]);
    }
    connection.plan.finish_all(keys.len());
}

pub fn set_each_if_absent(connection: &mut Connection, arguments: &[&[u8]]) {
    if arguments.len().is_multiple_of(2) {
        return connection.refuse(&arity("msetnx"));
    }
    let keys: Vec<_> = pairs(arguments).map(|(key, _)| key).collect();
    let hold = connection.hold_all(&keys);
    let exist = connection.ask_many(Operation::Exists, keys.chunks(1));
    if exist.iter().any(|reply| reply != b":0\r\n") {
        connection.plan.reply().integer(0);
    } else {
        connection.ask_each(Operation::Set, arguments[1..].chunks_exact(2), |_| ());
        connection.plan.reply().integer(1);
    }
    connection.let_go(hold);
}
