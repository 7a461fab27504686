//! How commands ask shards.

use crate::connection::Connection;
use crate::connection::hold::Hold;
use crate::store::Shard;
use crate::store::batch::Batch;
use crate::store::operation::Operation;
use gossamer::Trust;
use std::time::Duration;

/// How long a connection waits before it asks a shard again that has refused it.
const WAIT: Duration = Duration::from_micros(50);

/// The most commands that share a hold: meanwhile others wait for its shards.
const MOST_SHARING: usize = 32;

/// Shards that are held for several commands of several keys that came one after another: one hold for all of them.
pub struct SharedHold {
    hold: Hold,
    shards: Vec<usize>,
    commands: usize,
}

impl Connection {
    fn shard_of(&self, key: &[u8]) -> usize {
        self.server.store.index_of(key)
    }

    /// Asks the shard of a key for a reply, which arrives in its turn.
    #[inline]
    pub fn ask(&mut self, operation: Operation, key: &[u8], arguments: &[&[u8]]) {
        let shard = self.server.store.index_of(key);
        self.plan.ask(self.server.store.shards(), shard, operation, arguments);
    }

    pub fn ask_part(&mut self, operation: Operation, key: &[u8], arguments: &[&[u8]]) {
        let shard = self.shard_of(key);
        self.plan.ask_part(shard, operation, arguments);
    }

    /// Asks the shard of a key, after everything that was asked before, and waits for the reply.
    pub fn ask_now(&mut self, operation: Operation, key: &[u8], arguments: &[&[u8]]) -> Vec<u8> {
        let shard = self.shard_of(key);
        self.ask_now_of(&[shard], operation, arguments).pop().unwrap_or_default()
    }

    /// As `ask_now`, in another database.
    pub fn ask_now_in(
        &mut self,
        database: u16,
        operation: Operation,
        key: &[u8],
        arguments: &[&[u8]],
    ) -> Vec<u8> {
        self.in_database(database, |connection| connection.ask_now(operation, key, arguments))
    }

    /// Gives a key, whose shard is held, a string that may be long: it is not copied.
    pub fn store_string(&mut self, key: &[u8], string: Vec<u8>) {
        self.finish_pending();
        let shard = &self.shards()[self.shard_of(key)];
        shard.apply_with(Shard::store_string, (self.plan.database, key.to_vec(), string));
    }

    /// Has something done in another database.
    pub fn in_database<T>(&mut self, database: u16, what: impl FnOnce(&mut Self) -> T) -> T {
        // What was asked before concerns the selected one.
        self.finish_pending();
        let selected = std::mem::replace(&mut self.plan.database, database);
        let done = what(self);
        self.plan.database = selected;
        done
    }

    /// As `ask_now`, of every shard.
    pub fn ask_every_shard(&mut self, operation: Operation, arguments: &[&[u8]]) -> Vec<Vec<u8>> {
        let shards: Vec<_> = (0..self.shards().len()).collect();
        self.ask_now_of(&shards, operation, arguments)
    }

    pub fn ask_now_of(&mut self, of: &[usize], operation: Operation, arguments: &[&[u8]]) -> Vec<Vec<u8>> {
        let batch = |shard: &usize| {
            let mut batch = self.batch();
            batch.is_resp3 = self.plan.is_resp3;
            batch.push(operation, arguments, false);
            (*shard, batch)
        };
        let mut batches: Vec<_> = of.iter().map(batch).collect();
        self.serve_now(&mut batches);
        batches.iter().map(|(_, batch)| batch.replies(0, 1).to_vec()).collect()
    }

    /// As `ask_now`, for several lists of arguments. Each is sent to the shard of its first argument, with one request
    /// for each shard; replies are in RESP2.
    pub fn ask_many<'a>(
        &mut self,
        operation: Operation,
        requests: impl IntoIterator<Item = &'a [&'a [u8]]>,
    ) -> Vec<Vec<u8>> {
        let mut replies = Vec::new();
        self.ask_each(operation, requests, |reply| replies.push(reply.to_vec()));
        replies
    }

    /// As `ask_many`, but `take` gets the replies, one after another. A shard that has replied much goes on once those
    /// replies were taken, so that not all of many large values are in memory at once: if the replies have to be of one
    /// moment, the shards are held.
    pub fn ask_each<'a>(
        &mut self,
        operation: Operation,
        requests: impl IntoIterator<Item = &'a [&'a [u8]]>,
        mut take: impl FnMut(&[u8]),
    ) {
        let mut batches: Vec<_> = (0..self.shards().len()).map(|shard| (shard, self.batch())).collect();
        let mut shards = Vec::new();
        for arguments in requests {
            let shard = self.shard_of(arguments[0]);
            batches[shard].1.push(operation, arguments, false);
            shards.push(shard);
        }
        self.serve_now(&mut batches);
        let mut taken = vec![0; batches.len()];
        for shard in shards {
            if taken[shard] == batches[shard].1.count() {
                batches[shard].1.forget_replies();
                taken[shard] = 0;
                self.serve_now(&mut batches[shard..=shard]);
            }
            take(batches[shard].1.replies(taken[shard], 1));
            taken[shard] += 1;
        }
    }

    /// An empty batch, for what this connection does.
    fn batch(&self) -> Batch {
        let mut batch = Batch::default();
        (batch.transaction, batch.database) = (self.plan.transaction, self.plan.database);
        batch
    }

    /// Lets shards serve batches in which something is left to serve, after everything that was asked before.
    fn serve_now(&mut self, batches: &mut [(usize, Batch)]) {
        self.finish_pending();
        let ask = |(shard, batch): &mut (usize, Batch)| {
            batch
                .is_pending()
                .then(|| self.shards()[*shard].apply_with_async(Shard::serve, std::mem::take(batch)))
        };
        let pending: Vec<_> = batches.iter_mut().map(ask).collect();
        for ((shard, batch), pending) in batches.iter_mut().zip(pending) {
            let Some(pending) = pending else { continue };
            *batch = pending.wait();
            while batch.is_refused {
                gossamer::sleep(WAIT);
                *batch = self.shards()[*shard].apply_with(Shard::serve, std::mem::take(batch));
            }
        }
    }

    /// Holds the shards of some keys, if there are several, for this command and those after it, until `end_sharing`.
    pub fn share_hold(&mut self, keys: &[&[u8]]) {
        let shards = self.shards_of(keys);
        if let Some(shared) = &mut self.shared {
            if shared.commands < MOST_SHARING && shards.iter().all(|shard| shared.shards.contains(shard)) {
                shared.commands += 1;
                return;
            }
            self.end_sharing();
        }
        if shards.len() > 1
            && let Some(hold) = self.hold_these(shards.clone())
        {
            self.shared = Some(SharedHold { hold, shards, commands: 1 });
        }
    }

    /// Waits for the commands that share a hold, and releases it.
    #[inline]
    pub fn end_sharing(&mut self) {
        if let Some(shared) = self.shared.take() {
            self.let_go(Some(shared.hold));
        }
    }

    /// Holds the shards of some keys, if there are several and none is held yet.
    pub fn hold(&mut self, keys: &[&[u8]]) -> Option<Hold> {
        let shards = self.shards_of(keys);
        if shards.len() < 2 { None } else { self.hold_these(shards) }
    }

    /// As `hold`, but even for a single shard: for commands that ask it more than once.
    pub fn hold_all(&mut self, keys: &[&[u8]]) -> Option<Hold> {
        let shards = self.shards_of(keys);
        self.hold_these(shards)
    }

    pub fn hold_every_shard(&mut self) -> Option<Hold> {
        self.hold_these((0..self.shards().len()).collect())
    }

    fn shards_of(&self, keys: &[&[u8]]) -> Vec<usize> {
        let mut shards: Vec<_> = keys.iter().map(|key| self.shard_of(key)).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    fn hold_these(&mut self, shards: Vec<usize>) -> Option<Hold> {
        if self.plan.transaction != 0 || shards.is_empty() {
            return None;
        }
        let shards: Vec<Trust<Shard>> =
            shards.into_iter().map(|shard| self.shards()[shard].clone()).collect();
        let hold = Hold::new(shards);
        self.plan.transaction = hold.transaction;
        Some(hold)
    }

    /// Waits for what was asked, and releases the shards.
    pub fn let_go(&mut self, hold: Option<Hold>) {
        if let Some(hold) = hold {
            self.plan.run(self.server.store.shards(), true);
            self.plan.transaction = 0;
            drop(hold);
        }
    }
}
