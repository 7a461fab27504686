//! A map sharded over the workers.

use super::{Travelling, watched};
use crate::contenders::maps::{KEYS, Operation, trace};
use crate::measure::{METER, Sample, Setting};
use foldhash::fast::RandomState;
use gossamer::{NoRef, Sharded, Trustee, spawn_on_with, yield_now};
use std::cell::Cell;
use std::collections::HashMap;
use std::hint::black_box;

/// Operations each fiber of a worker has of its own.
const SHARE: usize = 1 << 14;
/// Requests in flight per worker, with callbacks.
const WINDOW: usize = 1024;

type Shard = HashMap<u64, u64, RandomState>;
type Map = Sharded<u64, Shard>;
type Start = (usize, Travelling, Map, Vec<Operation>);

// SAFETY: plain numbers.
unsafe impl NoRef for Operation {}

/// Callbacks, 1024 in flight per worker.
pub fn map_callbacks(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let map = filled();
        let start = |trustee: Trustee| {
            let worker = trustee.index();
            let operations = trace(setting, worker, KEYS);
            spawn_on_with(trustee, with_callbacks, (worker, Travelling(*setting), map.clone(), operations))
        };
        let clients: Vec<_> = Trustee::all().into_iter().map(start).collect();
        clients.into_iter().for_each(|client| client.join());
    })
}

/// As many blocking fibers per worker as the setting says.
pub fn map_blocking(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let map = filled();
        let mut clients = Vec::new();
        for trustee in Trustee::all() {
            let worker = trustee.index();
            let operations = trace(setting, worker, SHARE * setting.parallel);
            for own in operations.chunks(SHARE) {
                let start = (worker, Travelling(*setting), map.clone(), own.to_vec());
                clients.push(spawn_on_with(trustee, fiber, start));
            }
        }
        clients.into_iter().for_each(|client| client.join());
    })
}

/// A map of all keys, filled by callbacks.
fn filled() -> Map {
    let map = Map::with(|| Shard::with_capacity_and_hasher(KEYS, RandomState::default()));
    for key in 0..KEYS as u64 {
        map.shard(&key).apply_with_then(write, key, |before| assert!(before.is_none()));
    }
    let sizes = map.map_all(|shard| shard.len());
    assert_eq!(sizes.iter().sum::<usize>(), KEYS, "keys were lost: {sizes:?}");
    map
}

fn write(shard: &mut Shard, key: u64) -> Option<u64> {
    shard.insert(key, key)
}

fn read(shard: &mut Shard, key: u64) -> Option<u64> {
    shard.get(&key).copied()
}

#[derive(Default)]
struct Progress {
    in_flight: Cell<usize>,
    done: Cell<u64>,
}

fn with_callbacks((worker, _, map, operations): Start) {
    let progress: &'static Progress = Box::leak(Box::default());
    let mut at = 0;
    while !METER.stopped() {
        let burst = (WINDOW - progress.in_flight.get()).min(64);
        for &operation in operations[at..].iter().take(burst) {
            let key = operation.key();
            progress.in_flight.set(progress.in_flight.get() + 1);
            let then = move |value| {
                progress.in_flight.set(progress.in_flight.get() - 1);
                progress.done.set(progress.done.get() + 1);
                assert_eq!(value, Some(key), "a key lost its value");
            };
            if operation.writes() {
                map.shard(&key).apply_with_then(write, key, then);
            } else {
                map.shard(&key).apply_with_then(read, key, then);
            }
            at = (at + 1) % operations.len();
        }
        METER.add(worker, progress.done.replace(0));
        yield_now();
    }
    while progress.in_flight.get() > 0 {
        yield_now();
    }
}

fn fiber((worker, _, map, operations): Start) {
    let mut operations = operations.iter().cycle();
    while !METER.stopped()
        && let Some(operation) = operations.next()
    {
        let key = operation.key();
        let value = if operation.writes() {
            map.shard(&key).apply_with(write, key)
        } else {
            map.shard(&key).apply_with(read, key)
        };
        assert_eq!(black_box(value), Some(key), "a key lost its value");
        METER.add(worker, 1);
    }
}
