//! An element that moves from one key to another: LMOVE and the like, SMOVE.

use crate::commands::pops::timeout;
use crate::connection::Connection;
use crate::connection::turns::Wait;
use crate::protocol::number;
use crate::protocol::refusal::{Refusal, SYNTAX, WRONG_TYPE};
use crate::protocol::reply::Replies;
use crate::store::operation::Operation;
use crate::store::pops::From;
use std::time::Duration;

/// An element moves from an end of a list to an end of another list, or of the same.
#[derive(Clone, Copy)]
struct Move<'a> {
    /// From which key it goes to which.
    keys: &'a [&'a [u8]],
    from: From,
    to: From,
}

fn end(text: &[u8]) -> Result<From, Refusal> {
    match text.to_ascii_lowercase().as_slice() {
        b"left" => Ok(From::Left),
        b"right" => Ok(From::Right),
        _ => Err(SYNTAX),
    }
}

/// Whether a key exists, and whether it has this type, by the name that TYPE gives it.
fn is_of_type(connection: &mut Connection, key: &[u8], name: &str) -> Result<bool, Refusal> {
    let reply = connection.ask_now(Operation::Type, key, &[key]);
    match &reply[1..reply.len() - 2] {
        b"none" => Ok(false),
        other if other == name.as_bytes() => Ok(true),
        _ => Err(WRONG_TYPE),
    }
}

impl Move<'_> {
    /// The reply: the element, or an error; nothing if there is no element, or others have waited longer for it.
    fn attempt(self, connection: &mut Connection, waiter: u64) -> Option<Vec<u8>> {
        let hold = connection.hold_all(self.keys);
        let reply = self.try_move(connection, waiter).unwrap_or_else(|refusal| {
            let mut reply = Vec::new();
            Replies::new(&mut reply, false).error(&refusal.0);
            Some(reply)
        });
        connection.let_go(hold);
        reply
    }

    fn try_move(self, connection: &mut Connection, waiter: u64) -> Result<Option<Vec<u8>>, Refusal> {
        let (source, target) = (self.keys[0], self.keys[1]);
        if !is_of_type(connection, source, "list")? {
            return Ok(None);
        }
        let waiter = number::text(waiter as i64);
        if source == target {
            return Ok(self.rotate(connection, &waiter));
        }
        is_of_type(connection, target, "list")?;
        let popped =
            connection.ask_now(Operation::PopFor, source, &[source, &waiter, &[self.from as u8], b""]);
        // The head of an array, the key, the element.
        let Some(reply) = popped.get(b"*2\r\n".len() + bulk_length(source.len())..) else { return Ok(None) };
        connection.ask_now(self.push(), target, &[target, bulk(reply)]);
        Ok(Some(reply.to_vec()))
    }

    /// As `try_move`, within one list. It is never empty meanwhile: then it would lose the time when it expires.
    fn rotate(self, connection: &mut Connection, waiter: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys[0];
        // Of no elements: this tells whether others have waited longer.
        if connection.ask_now(Operation::PopFor, key, &[key, waiter, &[self.from as u8], b"0"]).is_empty() {
            return None;
        }
        let (index, pop): (&[u8], _) =
            if self.from == From::Left { (b"0", Operation::LPop) } else { (b"-1", Operation::RPop) };
        let element = connection.ask_now(Operation::LIndex, key, &[key, index]);
        connection.ask_now(self.push(), key, &[key, bulk(&element)]);
        connection.ask_now(pop, key, &[key]);
        Some(element)
    }

    fn push(self) -> Operation {
        if self.to == From::Left { Operation::LPush } else { Operation::RPush }
    }

    fn now(self, connection: &mut Connection) {
        match self.attempt(connection, 0) {
            Some(reply) => connection.plan.reply().raw(&reply),
            None => connection.plan.reply().null(),
        }
    }

    fn wait(self, connection: &mut Connection, limit: Option<Duration>) {
        let wait = Wait { keys: &self.keys[..1], for_sorted: false, limit, nothing: |to| to.null() };
        let mut is_first = true;
        connection.reply_in_turn(&wait, |connection, waiter| {
            let is_first = std::mem::replace(&mut is_first, false);
            let source = self.keys[0];
            // If the source now has another type, the command waits for it.
            if !is_first && is_of_type(connection, source, "list").is_err() {
                return None;
            }
            self.attempt(connection, waiter)
        });
    }
}

/// The length of a bulk string of this length, with its head.
fn bulk_length(length: usize) -> usize {
    b"$\r\n\r\n".len() + length.to_string().len() + length
}

/// The bytes of a bulk string.
pub fn bulk(reply: &[u8]) -> &[u8] {
    let head = reply.iter().position(|byte| *byte == b'\n').map_or(reply.len(), |end| end + 1);
    reply.get(head..reply.len() - 2).unwrap_or_default()
}

fn parse<'a>(arguments: &'a [&'a [u8]]) -> Result<Move<'a>, Refusal> {
    Ok(Move { keys: &arguments[1..3], from: end(arguments[3])?, to: end(arguments[4])? })
}

pub fn move_element(connection: &mut Connection, arguments: &[&[u8]]) {
    match parse(arguments) {
        Ok(parsed) => parsed.now(connection),
        Err(refusal) => connection.refuse(&refusal),
    }
}

/// BLMOVE.
pub fn wait_and_move(connection: &mut Connection, arguments: &[&[u8]]) {
    match parse(arguments).and_then(|parsed| Ok((parsed, timeout(arguments[5])?))) {
        Ok((parsed, limit)) => parsed.wait(connection, limit),
        Err(refusal) => connection.refuse(&refusal),
    }
}

/// RPOPLPUSH.
pub fn rotate(connection: &mut Connection, arguments: &[&[u8]]) {
    Move { keys: &arguments[1..3], from: From::Right, to: From::Left }.now(connection);
}

/// BRPOPLPUSH.
pub fn wait_and_rotate(connection: &mut Connection, arguments: &[&[u8]]) {
    match timeout(arguments[3]) {
        Ok(limit) => {
            Move { keys: &arguments[1..3], from: From::Right, to: From::Left }.wait(connection, limit);
        }
        Err(refusal) => connection.refuse(&refusal),
    }
}

/// SMOVE.
pub fn move_member(connection: &mut Connection, arguments: &[&[u8]]) {
    let hold = connection.hold_all(&arguments[1..3]);
    match try_move_member(connection, arguments) {
        Ok(is_moved) => connection.plan.reply().integer(i64::from(is_moved)),
        Err(refusal) => connection.refuse(&refusal),
    }
    connection.let_go(hold);
}

fn try_move_member(connection: &mut Connection, arguments: &[&[u8]]) -> Result<bool, Refusal> {
    let &[_, source, target, member] = arguments else { return Err(SYNTAX) };
    if !is_of_type(connection, source, "set")? {
        return Ok(false);
    }
    is_of_type(connection, target, "set")?;
    let operation = if source == target { Operation::SIsMember } else { Operation::SRem };
    let is_there = connection.ask_now(operation, source, &[source, member]) == b":1\r\n";
    if is_there && source != target {
        connection.ask_now(Operation::SAdd, target, &[target, member]);
    }
    Ok(is_there)
}
