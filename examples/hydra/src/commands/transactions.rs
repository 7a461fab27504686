//! MULTI, EXEC, DISCARD, WATCH.

use crate::commands::table::{ALL, AT_ONCE, Command, OUTSIDE};
use crate::connection::Connection;
use crate::protocol::number;
use crate::protocol::refusal::{
    ABORTED, DISCARD_ALONE, EXEC_ALONE, NESTED, NOT_INSIDE, OUT_OF_MEMORY, Refusal, WATCH_INSIDE, aborted,
};
use crate::store::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// Commands between MULTI and EXEC.
#[derive(Default)]
pub struct Queue {
    commands: Vec<(&'static Command, Vec<Vec<u8>>)>,
    /// Whether one of them was refused.
    is_broken: bool,
}

impl Queue {
    pub fn length(&self) -> usize {
        self.commands.len()
    }
}

/// The keys that a client watches, by their database: each with the number of its last change before that.
pub type Watched = BTreeMap<u16, BTreeMap<Vec<u8>, i64>>;

pub fn multi(connection: &mut Connection, _: &[&[u8]]) {
    if connection.queue.is_some() {
        return connection.refuse(&NESTED);
    }
    connection.queue = Some(Queue::default());
    connection.plan.reply().ok();
}

pub fn discard(connection: &mut Connection, _: &[&[u8]]) {
    if connection.queue.take().is_none() {
        return connection.refuse(&DISCARD_ALONE);
    }
    forget_watched(connection);
    connection.plan.reply().ok();
}

pub fn watch(connection: &mut Connection, arguments: &[&[u8]]) {
    if connection.queue.is_some() {
        return connection.refuse(&WATCH_INSIDE);
    }
    let watched = connection.watched.entry(connection.plan.database).or_default();
    let keys = arguments[1..].iter().copied().filter(|key| !watched.contains_key(*key));
    let keys: Vec<_> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    let mut changes = Vec::new();
    connection.ask_each(Operation::Watch, keys.chunks(1), |reply| {
        changes.push(number::parse(&reply[1..reply.len() - 2]).unwrap_or(-1));
    });
    let watched = connection.watched.entry(connection.plan.database).or_default();
    watched.extend(keys.into_iter().map(<[u8]>::to_vec).zip(changes));
    connection.plan.reply().ok();
}

pub fn unwatch(connection: &mut Connection, _: &[&[u8]]) {
    forget_watched(connection);
    connection.plan.reply().ok();
}

pub fn forget_watched(connection: &mut Connection) {
    for (database, keys) in std::mem::take(&mut connection.watched) {
        let keys: Vec<_> = keys.keys().map(Vec::as_slice).collect();
        connection.in_database(database, |connection| {
            connection.ask_each(Operation::Unwatch, keys.chunks(1), |_| ());
        });
    }
}

/// Keeps a command for EXEC, if there was a MULTI and the command is not executed at once; returns whether it was kept.
pub fn queue(connection: &mut Connection, command: &'static Command, arguments: &[&[u8]]) -> bool {
    if connection.queue.is_none() || command.has(AT_ONCE) {
        return false;
    }
    if command.flags & OUTSIDE != 0 {
        refuse(connection, &NOT_INSIDE);
        return true;
    }
    // Queued commands take memory, whatever they will do.
    if !has_room(connection) {
        refuse(connection, &OUT_OF_MEMORY);
        return true;
    }
    let Some(queue) = &mut connection.queue else { return false };
    queue.commands.push((command, arguments.iter().map(|argument| argument.to_vec()).collect()));
    connection.plan.reply().simple("QUEUED");
    true
}

/// Notes that a command was refused, so that no command between MULTI and EXEC is executed.
pub fn note_refusal(connection: &mut Connection) {
    if let Some(queue) = &mut connection.queue {
        queue.is_broken = true;
    }
}

/// Whether there is memory, or can be made; inside a transaction this was checked before.
pub fn has_room(connection: &mut Connection) -> bool {
    let is_limited = connection.server.settings.read().maxmemory != 0 && !connection.is_in_transaction();
    !is_limited || connection.ask_every_shard(Operation::HasRoom, &[]).iter().all(|reply| reply == b":1\r\n")
}

pub fn exec(connection: &mut Connection, _: &[&[u8]]) {
    let Some(queue) = connection.queue.take() else { return connection.refuse(&EXEC_ALONE) };
    if queue.is_broken {
        forget_watched(connection);
        return connection.refuse(&ABORTED);
    }
    let commands: Vec<(&Command, Vec<&[u8]>)> = queue
        .commands
        .iter()
        .map(|(command, own)| (*command, own.iter().map(Vec::as_slice).collect()))
        .collect();
    if commands.iter().any(|(command, _)| command.may_grow()) && !has_room(connection) {
        forget_watched(connection);
        return connection.refuse(&aborted(&OUT_OF_MEMORY));
    }
    let watched = std::mem::take(&mut connection.watched);
    let mut keys: Vec<&[u8]> = watched.values().flat_map(BTreeMap::keys).map(Vec::as_slice).collect();
    commands.iter().for_each(|(command, arguments)| keys.extend(command.keys_of(arguments)));
    let is_all = commands.iter().any(|(command, _)| command.has(ALL));
    let hold = if is_all { connection.hold_every_shard() } else { connection.hold_all(&keys) };
    let mut is_unchanged = true;
    for (database, keys) in &watched {
        let changes: Vec<_> = keys.values().map(|change| number::text(*change)).collect();
        let requests: Vec<_> =
            keys.keys().zip(&changes).map(|(key, change)| [key.as_slice(), change]).collect();
        connection.in_database(*database, |connection| {
            connection.ask_each(
                Operation::IsUnchanged,
                requests.iter().map(|request| &request[..]),
                |reply| {
                    is_unchanged &= reply == b":1\r\n";
                },
            );
        });
    }
    connection.watched = watched;
    forget_watched(connection);
    if is_unchanged {
        connection.plan.reply().array(commands.len());
        connection.is_executing = true;
        for (command, arguments) in commands {
            connection.execute(command, &arguments);
        }
        connection.is_executing = false;
    } else {
        connection.plan.reply().null_array();
    }
    connection.let_go(hold);
}

/// Refuses a command that is neither executed nor kept. If it is EXEC, that is the end of the transaction.
pub fn refuse_command(connection: &mut Connection, name: &str, refusal: &Refusal) {
    if name != "exec" {
        return refuse(connection, refusal);
    }
    connection.queue = None;
    forget_watched(connection);
    connection.refuse(&aborted(refusal));
}

/// What a refusal does between MULTI and EXEC.
pub fn refuse(connection: &mut Connection, refusal: &Refusal) {
    note_refusal(connection);
    connection.refuse(refusal);
}
