//! Several shards for one transaction: others see all effects of its commands, or none.
//!
//! A holder asks for all of them at once. If another transaction has one of them, it releases those that it got, and
//! asks for them one after another, in an order that is the same for all: so two transactions never wait for each
//! other. A shard that is held returns the batches of others, and their senders ask again. So that not all waiting
//! connections ask again and again, only one transaction of a worker takes shards at a time; the next one waits in a
//! queue. No connection reads from or writes to its client while it holds a shard.

use crate::store::Shard;
use gossamer::sync::{Permit, Semaphore};
use gossamer::{Trust, Trustee};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a connection that does not get a shard waits before it asks again.
const WAIT: Duration = Duration::from_micros(50);

thread_local! {
    /// Whose turn it is among the transactions of this worker.
    static TURN: Semaphore = Semaphore::new(1);
}

/// The shards of a transaction, until this is dropped.
pub struct Hold {
    /// Released after the shards.
    _turn: Option<Permit>,
    shards: Vec<Trust<Shard>>,
    pub transaction: u64,
}

impl Hold {
    /// Waits until all of these are held; they are in ascending order of their places in the store.
    pub fn new(shards: Vec<Trust<Shard>>) -> Self {
        let turn = TURN.with(Semaphore::clone);
        // Nobody closes it.
        let mut hold =
            Self { _turn: turn.acquire().ok(), shards: Vec::new(), transaction: new_transaction() };
        let pending: Vec<_> =
            shards.iter().map(|shard| shard.apply_with_async(Shard::hold, hold.transaction)).collect();
        let mut is_held = true;
        for (shard, pending) in shards.iter().zip(pending) {
            if pending.wait() {
                hold.shards.push(shard.clone());
            } else {
                is_held = false;
            }
        }
        if !is_held {
            hold.release();
            for shard in shards {
                while !shard.apply_with(Shard::hold, hold.transaction) {
                    gossamer::sleep(WAIT);
                }
                hold.shards.push(shard);
            }
        }
        hold
    }

    /// Never releases the shards: the server is about to end.
    pub fn keep(mut self) {
        self.shards.clear();
    }

    fn release(&mut self) {
        for shard in self.shards.drain(..) {
            shard.apply_with_then(Shard::release, self.transaction, |()| ());
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

/// A number that no other transaction of any node has, and that is not 0.
fn new_transaction() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only that the numbers differ matters.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    (Trustee::here().index() as u64 + 1) << 40 | number & ((1 << 40) - 1)
}
