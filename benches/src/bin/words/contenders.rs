//! The programs that count the words.

use crate::text;
use benches::machine::pinned;
use dashmap::DashMap;
use foldhash::fast::RandomState;
use gossamer::collections::DistMap;
use gossamer::{Trustee, spawn_on};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The result, and the time from the start of the first thread to the end of the last.
pub struct Counted {
    pub seconds: f64,
    pub words: u64,
    pub different: usize,
}

impl Counted {
    pub fn is_same(&self, other: &Self) -> bool {
        self.words == other.words && self.different == other.different
    }
}

/// A fiber on each worker.
#[gossamer::delegate]
pub fn dist_map(threads: usize) -> Counted {
    let start = Instant::now();
    let counts = DistMap::<String, u64>::new();
    let mut fibers = Vec::new();
    for (thread, trustee) in Trustee::all().into_iter().enumerate().take(threads) {
        let counts = counts.clone();
        fibers.push(spawn_on(trustee, move || {
            let mut merges = counts.merges(|count, more| *count += more);
            text::of(thread).split(' ').for_each(|word| merges.push_ref(word, 1));
            merges.finish();
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    let seconds = start.elapsed().as_secs_f64();
    let words = counts.map_all(|counts| counts.iter().map(|(_, count)| *count).sum::<u64>());
    Counted { seconds, words: words.into_iter().sum(), different: counts.len() }
}

/// Plain pinned threads, while the workers are idle, and asleep.
fn plainly(work: impl FnOnce() -> Counted + Send + 'static) -> Counted {
    gossamer::unblock(work)
}

pub fn dashmap(threads: usize) -> Counted {
    plainly(move || {
        let start = Instant::now();
        let counts = Arc::new(DashMap::<String, u64, RandomState>::default());
        let one = |thread| {
            let counts = Arc::clone(&counts);
            pinned(thread, move || {
                for word in text::of(thread).split(' ') {
                    // New words are rare, and only they take memory.
                    if let Some(mut count) = counts.get_mut(word) {
                        *count += 1;
                    } else {
                        *counts.entry(word.to_owned()).or_default() += 1;
                    }
                }
            })
        };
        let threads: Vec<_> = (0..threads).map(one).collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
        let seconds = start.elapsed().as_secs_f64();
        let words = counts.iter().map(|count| *count).sum();
        Counted { seconds, words, different: counts.len() }
    })
}

pub fn own_maps(threads: usize) -> Counted {
    plainly(move || {
        let start = Instant::now();
        let one = |thread| {
            pinned(thread, move || {
                let mut counts = HashMap::<&str, u64, RandomState>::default();
                text::of(thread).split(' ').for_each(|word| *counts.entry(word).or_default() += 1);
                counts
            })
        };
        let threads: Vec<_> = (0..threads).map(one).collect();
        let mut all = HashMap::<String, u64, RandomState>::default();
        for (word, count) in threads.into_iter().filter_map(|thread| thread.join().ok()).flatten() {
            if let Some(sum) = all.get_mut(word) {
                *sum += count;
            } else {
                all.insert(word.to_owned(), count);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        Counted { seconds, words: all.values().sum(), different: all.len() }
    })
}
