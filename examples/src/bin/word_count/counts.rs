//! The counts of all words, sharded over the trustees, and how fibers add to them.

use crate::table::{Batch, Table};
use crate::words::Splitter;
use gossamer::{NoRef, Pending, Sharded};
use std::cmp::Ordering;

/// All counts: a word belongs to the shard that its hash picks.
pub type Counts = Sharded<[u8], Shard>;

/// One shard: a property of one trustee.
#[derive(Default)]
pub struct Shard {
    table: Table,
}

/// A word and how often it was found.
#[derive(Debug, PartialEq, Eq, NoRef)]
pub struct Counted {
    pub count: u64,
    pub word: Box<[u8]>,
}

impl Ord for Counted {
    /// The most frequent first, and in the order of their bytes those that are equally frequent.
    fn cmp(&self, other: &Self) -> Ordering {
        other.count.cmp(&self.count).then_with(|| self.word.cmp(&other.word))
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[gossamer::delegate]
impl Shard {
    /// Adds counts of words that belong here.
    pub fn add(&mut self, batch: Batch) {
        for (word, count) in batch.iter() {
            self.table.add(word, count);
        }
    }

    /// Takes all counts out, and gives the first `most` of them, in order.
    pub fn take_first(&mut self, most: usize) -> Vec<Counted> {
        let mut table = std::mem::take(&mut self.table);
        let least = least_of_first(table.counts().collect(), most);
        let mut words = Vec::new();
        table.drain(|word, count| {
            if count >= least {
                words.push(Counted { count, word: word.into() });
            }
        });
        first(words, most)
    }
}

/// The smallest of the `most` largest counts: words that are less frequent need not be looked at.
fn least_of_first(mut counts: Vec<u64>, most: usize) -> u64 {
    match most.checked_sub(1) {
        Some(last) if last < counts.len() => *counts.select_nth_unstable_by(last, |a, b| b.cmp(a)).1,
        _ => 0,
    }
}

/// The first `most`, in order.
fn first(mut words: Vec<Counted>, most: usize) -> Vec<Counted> {
    if (1..words.len()).contains(&most) {
        words.select_nth_unstable(most);
    }
    words.truncate(most);
    words.sort_unstable();
    words
}

/// Takes the `most` most frequent words out of all shards, in order.
pub fn take_first(counts: &Counts, most: usize) -> Vec<Counted> {
    let pending: Vec<_> = counts.shards().iter().map(|shard| shard.take_first_async(most)).collect();
    first(pending.into_iter().flat_map(Pending::wait).collect(), most)
}

/// Counts the words of texts: first in a table of its own, so that a request carries many.
pub struct Counter {
    counts: Counts,
    table: Table,
}

impl Counter {
    pub fn new(counts: Counts) -> Self {
        Self { counts, table: Table::default() }
    }

    /// Counts the words that end in this block. The fiber waits now and then until the shards have served it.
    pub fn feed(&mut self, splitter: &mut Splitter, block: &mut [u8]) {
        splitter.feed(block, &mut |word| self.table.add(word, 1));
        if self.table.is_full() {
            self.hand_over();
        }
    }

    /// Counts the last word of a text.
    pub fn finish(&mut self, splitter: &mut Splitter) {
        splitter.finish(&mut |word| self.table.add(word, 1));
    }

    /// Sends what is in the table to the shards, and waits until they have it, which bounds what is on the way.
    pub fn hand_over(&mut self) {
        let mut batches: Vec<Batch> = self.counts.shards().iter().map(|_| Batch::default()).collect();
        self.table.drain(|word, count| {
            let shard = self.counts.shard(word).trustee().index();
            batches[shard].push(word, count);
        });
        let shards = self.counts.shards().iter().zip(batches).filter(|(_, batch)| !batch.is_empty());
        let pending: Vec<_> = shards.map(|(shard, batch)| shard.add_async(batch)).collect();
        pending.into_iter().for_each(Pending::wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64, word: &str) -> Counted {
        Counted { count, word: word.as_bytes().into() }
    }

    #[test]
    fn the_first_are_by_count_and_then_by_word() {
        let words =
            || vec![counted(1, "b"), counted(3, "z"), counted(1, "a"), counted(3, "\u{e4}"), counted(2, "m")];
        let sorted =
            [counted(3, "z"), counted(3, "\u{e4}"), counted(2, "m"), counted(1, "a"), counted(1, "b")];
        for most in 0..8 {
            assert_eq!(first(words(), most), sorted[..most.min(5)], "the first {most}");
            let least = least_of_first(words().iter().map(|word| word.count).collect(), most);
            assert!(sorted[..most.min(5)].iter().all(|word| word.count >= least), "the first {most}");
        }
    }

    #[test]
    fn words_are_counted_over_all_shards() {
        for threads in [1, 2, 5] {
            let found = gossamer::run(gossamer::Config::default().threads(threads), || {
                let counts = Counts::new();
                for _ in 0..2 {
                    let (mut counter, mut splitter) = (Counter::new(counts.clone()), Splitter::default());
                    counter.feed(&mut splitter, &mut b"to be or not to b".to_vec());
                    counter.feed(&mut splitter, &mut b"E".to_vec());
                    counter.finish(&mut splitter);
                    counter.hand_over();
                }
                take_first(&counts, 3)
            });
            assert_eq!(found, [counted(4, "be"), counted(4, "to"), counted(2, "not")]);
        }
    }
}
