//! What one worker pays: requests to its own properties, handles, fibers.

use super::timed_inside;
use crate::contenders::plain::{BULK, in_bulk};
use crate::measure::{Sample, Setting, timed};
use gossamer::{JoinHandle, Trust, Trustee, entrust, spawn_on_with, spawn_with};
use std::cell::Cell;
use std::hint::black_box;

#[inline(never)]
fn add(value: &mut u64, amount: u64) -> u64 {
    *value += amount;
    *value
}

/// A closure that captures nothing.
pub fn local_apply(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| {
        let trust = entrust(0u64);
        timed(setting, |count| {
            for _ in 0..count {
                black_box(black_box(&trust).apply(|value| add(value, 1)));
            }
        })
    })
}

/// An argument travels.
pub fn local_apply_with(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| {
        let trust = entrust(0u64);
        timed(setting, |count| {
            for _ in 0..count {
                black_box(black_box(&trust).apply_with(add, black_box(1)));
            }
        })
    })
}

/// An argument travels, and a callback takes the result.
pub fn local_apply_with_then(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| {
        let trust = entrust(0u64);
        let sum: &'static Cell<u64> = Box::leak(Box::default());
        let sample = timed(setting, |count| {
            for _ in 0..count {
                black_box(&trust).apply_with_then(add, black_box(1), |value| sum.set(sum.get() ^ value));
            }
        });
        black_box(sum.get());
        sample
    })
}

fn clone_and_drop(setting: &Setting, trust: &Trust<u64>) -> Sample {
    timed(setting, |count| {
        for _ in 0..count {
            drop(black_box(trust.clone()));
        }
    })
}

/// A trust on its trustee's worker.
pub fn clone_here(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| clone_and_drop(setting, &entrust(0)))
}

/// A trust whose trustee is another worker.
pub fn clone_elsewhere(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| {
        let here = Trustee::here();
        match Trustee::all().into_iter().find(|&trustee| trustee != here) {
            Some(elsewhere) => clone_and_drop(setting, &elsewhere.entrust(0)),
            None => panic!("there is no other worker"),
        }
    })
}

fn here(number: u64) -> JoinHandle<u64> {
    spawn_on_with(Trustee::here(), black_box, number)
}

fn anywhere(number: u64) -> JoinHandle<u64> {
    spawn_with(black_box, number)
}

fn each(setting: &Setting, start: fn(u64) -> JoinHandle<u64>) -> Sample {
    timed(setting, |count| {
        for number in 0..count {
            assert_eq!(start(number).join(), number);
        }
    })
}

fn bulk(setting: &Setting, start: fn(u64) -> JoinHandle<u64>) -> Sample {
    in_bulk(setting, |_| {
        let started: Vec<_> = (0..BULK).map(start).collect();
        let sum: u64 = started.into_iter().map(|fiber| fiber.join()).sum();
        assert_eq!(sum, BULK * (BULK - 1) / 2);
    })
}

/// A fiber on this worker, spawned and joined.
pub fn spawn_here(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| each(setting, here))
}

/// A fiber wherever the runtime puts it, spawned and joined.
pub fn spawn_anywhere(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| each(setting, anywhere))
}

/// Many fibers on this worker, then all joined.
pub fn spawn_bulk_here(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| bulk(setting, here))
}

/// Many fibers wherever the runtime puts them, then all joined.
pub fn spawn_bulk_anywhere(setting: &Setting) -> Sample {
    timed_inside(setting, |setting| bulk(setting, anywhere))
}
