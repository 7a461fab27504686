//! What a single worker's costs are measured against: a direct call, `Arc`, threads, tokio tasks.

use super::actors::tokio_runtime;
use crate::measure::{METER, Sample, Setting, timed};
use std::hint::black_box;
use std::sync::Arc;

/// Tasks per bulk spawn.
pub const BULK: u64 = 1000;

#[inline(never)]
fn add(value: &mut u64, amount: u64) -> u64 {
    *value += amount;
    *value
}

/// A call, not inlined, through a pointer the compiler cannot see through.
pub fn direct_call(setting: &Setting) -> Sample {
    crate::machine::pin(0);
    let mut object = 0;
    timed(setting, |count| {
        for _ in 0..count {
            let object = black_box(&mut object);
            black_box(add(object, black_box(1)));
        }
    })
}

/// `Arc` cloned and dropped by one thread alone.
pub fn arc_alone(setting: &Setting) -> Sample {
    crate::machine::pin(0);
    let arc = Arc::new(0u64);
    timed(setting, |count| {
        for _ in 0..count {
            drop(black_box(arc.clone()));
        }
    })
}

/// `Arc` cloned and dropped while another thread does the same; per operation of one thread.
pub fn arc_contended(setting: &Setting) -> Sample {
    let arc = Arc::new(0u64);
    let other = arc.clone();
    let thread = crate::machine::pinned(1, move || {
        while !METER.stopped() {
            for _ in 0..64 {
                drop(black_box(other.clone()));
            }
            METER.add(1, 64);
        }
    });
    crate::machine::pin(0);
    while METER.total() == 0 {
        std::hint::spin_loop();
    }
    let sample = timed(setting, |count| {
        for _ in 0..count {
            drop(black_box(arc.clone()));
        }
    });
    METER.stop();
    assert!(thread.join().is_ok(), "the other thread panicked");
    sample
}

/// `std::thread::spawn` and `join`, one by one.
pub fn thread_each(setting: &Setting) -> Sample {
    timed(setting, |count| {
        for number in 0..count {
            let joined = std::thread::spawn(move || black_box(number)).join();
            assert!(joined.is_ok(), "the thread panicked");
        }
    })
}

/// `std::thread::spawn` of many, then `join` of all.
pub fn thread_bulk(setting: &Setting) -> Sample {
    in_bulk(setting, |_| {
        let threads: Vec<_> = (0..BULK).map(|number| std::thread::spawn(move || black_box(number))).collect();
        assert!(threads.into_iter().all(|thread| thread.join().is_ok()), "a thread panicked");
    })
}

/// `tokio::spawn` and await, one by one, on a runtime of as many workers as the setting has.
pub fn tokio_each(setting: &Setting) -> Sample {
    let setting = *setting;
    on_tokio(setting, move |runtime| {
        timed(&setting, |count| {
            runtime.block_on(async {
                for number in 0..count {
                    black_box(tokio::spawn(async move { black_box(number) }).await.ok());
                }
            });
        })
    })
}

/// `tokio::spawn` of many, then await of all.
pub fn tokio_bulk(setting: &Setting) -> Sample {
    let setting = *setting;
    on_tokio(setting, move |runtime| {
        in_bulk(&setting, |_| {
            runtime.block_on(async {
                let tasks: Vec<_> =
                    (0..BULK).map(|number| tokio::spawn(async move { black_box(number) })).collect();
                for task in tasks {
                    black_box(task.await.ok());
                }
            });
        })
    })
}

/// Runs `body` with a runtime: one worker means tokio's single-threaded one.
fn on_tokio(setting: Setting, body: impl FnOnce(&tokio::runtime::Runtime) -> Sample) -> Sample {
    crate::machine::pin(0);
    body(&tokio_runtime(setting.workers))
}

/// Times bulks of `BULK`, and counts single operations.
pub fn in_bulk(setting: &Setting, mut bulk: impl FnMut(u64)) -> Sample {
    let sample = timed(setting, |count| (0..count).for_each(&mut bulk));
    Sample { operations: sample.operations * BULK, ..sample }
}
