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
        // What was asked before concerns the other database.
        self.finish_pending();
        let selected = std::mem::replace(&mut self.plan.database, database);
        let reply = self.ask_now(operation, key, arguments);
        self.plan.database = selected;
        reply
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
        let batches = of.iter().map(batch).collect();
        self.serve_now(batches).iter().map(|batch| batch.replies(0, 1).to_vec()).collect()
    }

    /// As `ask_now`, for several lists of arguments. Each is sent to the shard of its first argument, with one request
    /// for each shard; replies are in RESP2.
    pub fn ask_many(&mut self, operation: Operation, requests: Vec<Vec<&[u8]>>) -> Vec<Vec<u8>> {
        let mut batches: Vec<_> = (0..self.shards().len()).map(|shard| (shard, self.batch())).collect();
        let shards: Vec<_> = requests.iter().map(|arguments| self.shard_of(arguments[0])).collect();
        for (shard, arguments) in shards.iter().zip(&requests) {
            batches[*shard].1.push(operation, arguments, true);
        }
        let served = self.serve_now(batches);
        let mut taken = vec![0; served.len()];
        let take = |shard: usize| {
            taken[shard] += 1;
            served[shard].replies(taken[shard] - 1, 1).to_vec()
        };
        shards.into_iter().map(take).collect()
    }

    /// An empty batch, for what this connection does.
    fn batch(&self) -> Batch {
        let mut batch = Batch::default();
        (batch.transaction, batch.database) = (self.plan.transaction, self.plan.database);
        batch
    }

    /// Lets shards serve batches, after everything that was asked before.
    fn serve_now(&mut self, batches: Vec<(usize, Batch)>) -> Vec<Batch> {
        self.finish_pending();
        let ask = |(shard, batch): (usize, Batch)| {
            (shard, self.shards()[shard].apply_with_async(Shard::serve, batch))
        };
        let pending: Vec<_> = batches.into_iter().map(ask).collect();
        let wait = |(shard, pending): (usize, gossamer::Pending<Batch>)| {
            let mut batch = pending.wait();
            while batch.is_refused {
                gossamer::sleep(WAIT);
                batch = self.shards()[shard].apply_with(Shard::serve, batch);
            }
            batch
        };
        pending.into_iter().map(wait).collect()
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
