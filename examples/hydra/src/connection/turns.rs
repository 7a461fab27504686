//! Waiting for keys: BLPOP and its like.

use crate::clients::{Clients, Unblocked};
use crate::connection::Connection;
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::waiting::Waiter;
use gossamer::Trustee;
use std::io;
use std::time::{Duration, Instant};

/// How much of what a client sends while it waits is read, so that its end is noticed.
const MOST_READ_AHEAD: usize = 64 * 1024;

/// What a client gets if another client has ended its wait as an error.
const UNBLOCKED: &[u8] = b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";

/// For what, and for how long, a command waits.
pub struct Wait<'a> {
    /// With none, it is only for the time to pass.
    pub keys: &'a [&'a [u8]],
    pub for_sorted: bool,
    /// None for ever.
    pub limit: Option<Duration>,
    /// The reply if it gets nothing in a transaction; a client that has waited gets the null of an array.
    pub nothing: fn(&mut Replies<'_>),
}

/// Why a fiber that waits is resumed.
enum Event {
    Turn,
    Readable(io::Result<()>),
    Over,
}

impl Connection {
    /// Whether this runs within a transaction, in which no client waits.
    pub fn is_in_transaction(&self) -> bool {
        self.plan.transaction != 0
    }

    /// Another number for each client of all nodes.
    fn waiter(&self) -> u64 {
        (Trustee::here().index() as u64 + 1) << 40 | self.registered.id & ((1 << 40) - 1)
    }

    /// Tries a command, which gets the number under which it waits, until it has a reply.
    pub fn reply_in_turn(
        &mut self,
        wait: &Wait<'_>,
        mut attempt: impl FnMut(&mut Self, u64) -> Option<Vec<u8>>,
    ) {
        if self.is_in_transaction() {
            match attempt(self, 0) {
                Some(reply) => self.plan.reply().raw(&reply),
                None => (wait.nothing)(&mut self.plan.reply()),
            }
            return;
        }
        let number = self.waiter();
        if let Some(reply) = attempt(self, number) {
            return self.plan.reply().raw(&reply);
        }
        // The client gets what it has asked for before.
        if self.answer().is_err() {
            self.is_ending = true;
            return;
        }
        let rows = self.stand_in_line(wait, number);
        self.clients_here(|clients, client| clients.set_waits(client, true));
        let blocked = self.registered.blocked();
        match self.wait_for_turn(wait, number, attempt) {
            Ok(Some(reply)) => self.plan.reply().raw(&reply),
            Ok(None) if wait.keys.is_empty() => (wait.nothing)(&mut self.plan.reply()),
            Ok(None) => self.plan.reply().null_array(),
            Err(_) => self.is_ending = true,
        }
        drop(blocked);
        self.clients_here(|clients, client| clients.set_waits(client, false));
        let database = self.plan.database;
        for (shard, keys) in rows {
            self.shards()[shard].apply_with_then(Shard::leave, (database, keys, number), |()| ());
        }
    }

    /// Puts the client into the rows of all keys; tells which, by shards.
    fn stand_in_line(&mut self, wait: &Wait<'_>, number: u64) -> Vec<(usize, Vec<Vec<u8>>)> {
        self.woken();
        let mut rows: Vec<(usize, Vec<Vec<u8>>)> = Vec::new();
        for key in wait.keys {
            let shard = self.server.store.index_of(key);
            match rows.iter_mut().find(|(other, _)| *other == shard) {
                Some((_, keys)) => keys.push(key.to_vec()),
                None => rows.push((shard, vec![key.to_vec()])),
            }
        }
        let clients = self.server.clients.shards()[self.worker].clone();
        for (shard, keys) in &rows {
            let client = self.registered.id;
            let waiter = Waiter { number, clients: clients.clone(), client, for_sorted: wait.for_sorted };
            self.shards()[*shard].apply_with(Shard::wait_for, (self.plan.database, keys.clone(), waiter));
        }
        rows
    }

    /// Tries again each time that it is this client's turn; nothing if the time is over.
    fn wait_for_turn(
        &mut self,
        wait: &Wait<'_>,
        number: u64,
        mut attempt: impl FnMut(&mut Self, u64) -> Option<Vec<u8>>,
    ) -> io::Result<Option<Vec<u8>>> {
        let woken = self.woken();
        let deadline = wait.limit.map(|limit| Instant::now() + limit);
        loop {
            let left = deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
            let reads = self.input.length() < MOST_READ_AHEAD;
            let event = gossamer::select! {
                () = woken.notified_async() => Event::Turn,
                () = gossamer::sleep_async(left), if deadline.is_some() => Event::Over,
                readable = self.stream.readable(), if reads => Event::Readable(readable),
            };
            match event {
                Event::Turn => {
                    match self.clients_here(Clients::unblocked) {
                        None => {}
                        Some(Unblocked::ByTime) => return Ok(None),
                        Some(Unblocked::ByError) => return Ok(Some(UNBLOCKED.to_vec())),
                    }
                    if let Some(reply) = attempt(self, number) {
                        return Ok(Some(reply));
                    }
                }
                Event::Over => return Ok(None),
                Event::Readable(readable) => {
                    readable?;
                    if self.input.read(&self.stream)? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
    }
}
