//! Concurrent hash maps of a million keys, each used by one thread per worker.

use crate::machine::Padded;
use crate::measure::{Sample, Setting, on_threads};
use crate::random::{Random, Zipf};
use foldhash::fast::RandomState;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Mutex;

/// Keys in each map.
pub const KEYS: usize = 1 << 20;
/// Operations in a client's trace, which it repeats.
const TRACE: usize = 1 << 20;
const BATCH: usize = 64;
const WRITE: u32 = 1 << 31;

/// One operation on a key.
#[derive(Clone, Copy, Debug)]
pub struct Operation(u32);

impl Operation {
    /// The key.
    #[inline(always)]
    #[must_use]
    pub fn key(self) -> u64 {
        u64::from(self.0 & !WRITE)
    }

    /// Whether it writes.
    #[inline(always)]
    #[must_use]
    pub fn writes(self) -> bool {
        self.0 & WRITE != 0
    }
}

/// The operations of client `seed`: keys uniform or by Zipf's law, and the share of writes asked for.
#[must_use]
pub fn trace(setting: &Setting, seed: usize, length: usize) -> Vec<Operation> {
    let mut random = Random::new(seed);
    let zipf = setting.skewed.then(|| Zipf::new(KEYS, 0.99));
    let operation = |_| {
        let rank = match &zipf {
            Some(zipf) => zipf.rank(&mut random),
            None => random.below(KEYS),
        };
        // An odd factor permutes the keys, so that the frequent ones are not neighbours.
        let key = rank.wrapping_mul(0x9E37_79B1) & (KEYS - 1);
        let write = random.below(100) < setting.writes as usize;
        Operation(key as u32 | if write { WRITE } else { 0 })
    };
    (0..length).map(operation).collect()
}

/// Runs the traces of all workers, in batches, against `act`.
fn tracing(setting: &Setting, act: impl Fn(&[Operation]) + Send + Sync + 'static) -> Sample {
    thread_local!(static TRACED: RefCell<(Vec<Operation>, usize)> = const { RefCell::new((Vec::new(), 0)) });
    let given = *setting;
    on_threads(setting, move |worker| {
        TRACED.with_borrow_mut(|(operations, next)| {
            if operations.is_empty() {
                *operations = trace(&given, worker, TRACE);
            }
            act(&operations[*next..*next + BATCH]);
            *next = (*next + BATCH) % TRACE;
        });
        BATCH as u64
    })
}

fn each(operations: &[Operation], read: impl Fn(u64) -> Option<u64>, write: impl Fn(u64)) {
    for operation in operations {
        if operation.writes() {
            write(operation.key());
        } else {
            assert_eq!(black_box(read(operation.key())), Some(operation.key()), "a key lost its value");
        }
    }
}

type Shard = Padded<Mutex<HashMap<u64, u64, RandomState>>>;

/// Sixty-four `Mutex<HashMap>` shards.
pub fn mutex_shards(setting: &Setting) -> Sample {
    const SHARDS: usize = 64;
    let shard = |key: u64| (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
    let empty = || HashMap::with_capacity_and_hasher(2 * KEYS / SHARDS, RandomState::default());
    let make = |_| Padded(Mutex::new(empty()));
    let maps: Vec<Shard> = (0..SHARDS).map(make).collect();
    let lock = move |maps: &[Shard], key, write| -> Option<u64> {
        let mut map = maps[shard(key)].0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if write { map.insert(key, key) } else { map.get(&key).copied() }
    };
    for key in 0..KEYS as u64 {
        lock(&maps, key, true);
    }
    tracing(setting, move |operations| {
        each(
            operations,
            |key| lock(&maps, key, false),
            |key| {
                black_box(lock(&maps, key, true));
            },
        );
    })
}

/// `dashmap::DashMap`.
pub fn dashmap(setting: &Setting) -> Sample {
    let map = dashmap::DashMap::with_capacity_and_hasher(KEYS, RandomState::default());
    for key in 0..KEYS as u64 {
        map.insert(key, key);
    }
    tracing(setting, move |operations| {
        each(
            operations,
            |key| map.get(&key).map(|value| *value),
            |key| {
                black_box(map.insert(key, key));
            },
        );
    })
}

/// `scc::HashMap`.
pub fn scc(setting: &Setting) -> Sample {
    let map = scc::HashMap::with_capacity_and_hasher(KEYS, RandomState::default());
    for key in 0..KEYS as u64 {
        map.upsert_sync(key, key);
    }
    tracing(setting, move |operations| {
        each(
            operations,
            |key| map.read_sync(&key, |_, value| *value),
            |key| {
                black_box(map.upsert_sync(key, key));
            },
        );
    })
}

/// `papaya::HashMap`, pinned once per batch.
pub fn papaya(setting: &Setting) -> Sample {
    let map = papaya::HashMap::with_capacity_and_hasher(KEYS, RandomState::default());
    for key in 0..KEYS as u64 {
        map.pin().insert(key, key);
    }
    tracing(setting, move |operations| {
        let map = map.pin();
        each(
            operations,
            |key| map.get(&key).copied(),
            |key| {
                black_box(map.insert(key, key));
            },
        );
    })
}
