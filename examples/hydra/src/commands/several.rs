//! Commands that name several keys, which others see changed at one moment.

use crate::connection::Connection;
use crate::protocol::refusal::{NO_SUCH_KEY, arity};
use crate::store::operation::Operation;

/// The keys of MSET and its like: every other argument.
fn pairs<'a>(arguments: &[&'a [u8]]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    arguments[1..].chunks_exact(2).map(|pair| (pair[0], pair[1]))
}

pub fn get_each(connection: &mut Connection, arguments: &[&[u8]]) {
    let keys = &arguments[1..];
    let hold = connection.hold(keys);
    connection.plan.reply().array(keys.len());
    for key in keys {
        connection.ask_part(Operation::Get, key, &[key]);
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
    let is_there = keys.iter().any(|key| connection.ask_now(Operation::Exists, key, &[key]) != b":0\r\n");
    if is_there {
        connection.plan.reply().integer(0);
    } else {
        for (key, value) in pairs(arguments) {
            connection.ask_now(Operation::Set, key, &[key, value]);
        }
        connection.plan.reply().integer(1);
    }
    connection.let_go(hold);
}

/// What becomes of a key that is renamed.
enum Renamed {
    NotThere,
    Refused,
    Done,
}

fn move_key(connection: &mut Connection, from: &[u8], to: &[u8], if_absent: bool) -> Renamed {
    let hold = connection.hold_all(&[from, to]);
    let is_there =
        |connection: &mut Connection, key| connection.ask_now(Operation::Exists, key, &[key]) != b":0\r\n";
    let renamed = if !is_there(connection, from) {
        Renamed::NotThere
    } else if if_absent && is_there(connection, to) {
        Renamed::Refused
    } else {
        if from != to {
            let taken = connection.ask_now(Operation::Take, from, &[from]);
            connection.ask_now(Operation::Put, to, &[to, &taken]);
        }
        Renamed::Done
    };
    connection.let_go(hold);
    renamed
}

pub fn rename(connection: &mut Connection, arguments: &[&[u8]]) {
    match move_key(connection, arguments[1], arguments[2], false) {
        Renamed::NotThere => connection.refuse(&NO_SUCH_KEY),
        _ => connection.plan.reply().ok(),
    }
}

pub fn rename_if_absent(connection: &mut Connection, arguments: &[&[u8]]) {
    match move_key(connection, arguments[1], arguments[2], true) {
        Renamed::NotThere => connection.refuse(&NO_SUCH_KEY),
        Renamed::Refused => connection.plan.reply().integer(0),
        Renamed::Done => connection.plan.reply().integer(1),
    }
}
