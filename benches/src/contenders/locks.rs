//! Fetch-and-add under locks and by an atomic: what delegation replaces.

use crate::machine::Padded;
use crate::measure::{Sample, Setting, on_threads};
use crate::random::Random;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BATCH: u64 = 256;

/// Adds to objects of type `O`, one or many at random, from every worker.
fn adding<O: Default + Send + Sync + 'static>(setting: &Setting, add: fn(&O) -> u64) -> Sample {
    let objects: Vec<Padded<O>> = (0..setting.objects).map(|_| Padded::default()).collect();
    on_threads(setting, move |worker| {
        let mut random = Random::new(worker + 2 * seed());
        for _ in 0..BATCH {
            let object = if objects.len() == 1 { 0 } else { random.below(objects.len()) };
            black_box(add(&objects[object].0));
        }
        BATCH
    })
}

/// A fresh seed for each batch of a thread.
fn seed() -> usize {
    thread_local!(static SEED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
    SEED.set(SEED.get() + 1);
    SEED.get()
}

/// `std::sync::Mutex`.
pub fn std_mutex(setting: &Setting) -> Sample {
    adding::<std::sync::Mutex<u64>>(setting, |object| {
        let mut value = object.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *value += 1;
        *value
    })
}

/// `parking_lot::Mutex`.
pub fn parking_lot_mutex(setting: &Setting) -> Sample {
    adding::<parking_lot::Mutex<u64>>(setting, |object| {
        let mut value = object.lock();
        *value += 1;
        *value
    })
}

/// A test-and-test-and-set spin lock around a word.
#[derive(Default)]
struct Spin {
    held: AtomicBool,
    value: AtomicU64,
}

/// A spin lock.
pub fn spin_lock(setting: &Setting) -> Sample {
    adding::<Spin>(setting, |object| {
        while object.held.swap(true, Ordering::Acquire) {
            while object.held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        // A load and a store: the lock makes them one step.
        let value = object.value.load(Ordering::Relaxed) + 1;
        object.value.store(value, Ordering::Relaxed);
        object.held.store(false, Ordering::Release);
        value
    })
}

/// `AtomicU64::fetch_add`.
pub fn atomic(setting: &Setting) -> Sample {
    adding::<AtomicU64>(setting, |object| object.fetch_add(1, Ordering::AcqRel))
}
