//! A cache in shards: one on each worker; the hash of a key picks the shard. Each shard forgets its oldest entry when
//! it is full.
//!
//! `cargo run --release -p examples --bin sharded`; `gossamer run --local 4 -- target/release/sharded`.

use gossamer::Sharded;
use std::collections::{HashMap, VecDeque};

/// Entries in a shard.
const ROOM: usize = 100;

/// What a `DistMap` cannot do: forget.
#[derive(Default)]
struct Cache {
    entries: HashMap<u64, u64>,
    by_age: VecDeque<u64>,
    misses: u64,
}

#[gossamer::delegate]
impl Cache {
    /// The square of a number; if it is not here, it is computed.
    fn square(&mut self, number: u64) -> u64 {
        if let Some(square) = self.entries.get(&number) {
            return *square;
        }
        self.misses += 1;
        if self.by_age.len() == ROOM
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.by_age.push_back(number);
        self.entries.insert(number, number * number);
        number * number
    }
}

/// Asks for twenty numbers again and again.
fn ask(caches: Sharded<u64, Cache>) -> u64 {
    (0..1000_u64).map(|n| n % 20).map(|n| caches.shard(&n).square(n)).sum()
}

#[gossamer::main]
fn main() {
    let caches = Sharded::<u64, Cache>::new();
    // Many fibers ask at once, and each square is computed once.
    let mut fibers = Vec::new();
    for _ in 0..10 {
        let caches = caches.clone();
        fibers.push(gossamer::spawn(move || ask(caches)));
    }
    let sum: u64 = fibers.into_iter().map(|fiber| fiber.join()).sum();
    let misses: u64 = caches.map_all(|cache| cache.misses).into_iter().sum();
    println!("a sum of {sum}, from {misses} computed squares");
}
