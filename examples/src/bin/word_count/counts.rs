//! The counts of all words, in maps that are spread over the workers, and how fibers add to them.

use crate::short::{SHORT, from_number, to_number};
use crate::words::Splitter;
use gossamer::NoRef;
use gossamer::collections::{DistMap, KeyedUpdates};
use std::cmp::Ordering;

/// Long words are sent once they have this many bytes, so that not many are kept.
const MOST_BYTES: usize = 4 << 20;

/// How often each word was found.
#[derive(Clone, NoRef)]
pub struct Counts {
    /// Most words are short: as a number, a word is hashed and compared at once, and needs no memory of its own.
    short: DistMap<u128, u64>,
    long: DistMap<Vec<u8>, u64>,
}

/// A word and how often it was found.
#[derive(Debug, PartialEq, Eq, NoRef)]
pub struct Counted {
    pub count: u64,
    pub word: Vec<u8>,
}

impl Ord for Counted {
    /// The most frequent first; of equally frequent words, in order of their bytes.
    fn cmp(&self, other: &Self) -> Ordering {
        other.count.cmp(&self.count).then_with(|| self.word.cmp(&other.word))
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Counts {
    pub fn new() -> Self {
        Self { short: DistMap::new(), long: DistMap::new() }
    }

    /// The `most` most frequent words, in order.
    #[gossamer::delegate]
    pub fn first(&self, most: usize) -> Vec<Counted> {
        let short = self.short.map_all(|entries| first_of(entries.iter(), most, |word| from_number(*word)));
        let long = self.long.map_all(|entries| first_of(entries.iter(), most, |word: &Vec<u8>| word.clone()));
        // If there are very many words, this takes too long for a worker that others wait for.
        gossamer::unblock(move || first(short.into_iter().chain(long).flatten().collect(), most))
    }
}

/// The `most` most frequent words of one worker, in order.
fn first_of<'a, K: 'a>(
    entries: impl Iterator<Item = (&'a K, &'a u64)> + Clone,
    most: usize,
    word: impl Fn(&K) -> Vec<u8>,
) -> Vec<Counted> {
    let least = least_of_first(entries.clone().map(|(_, count)| *count).collect(), most);
    let frequent = entries.filter(|(_, count)| **count >= least);
    first(frequent.map(|(key, count)| Counted { count: *count, word: word(key) }).collect(), most)
}

/// The smallest of the `most` largest counts: less frequent words need not be looked at.
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

/// Counts the words of texts: equal ones are added up here, so that a request carries many.
pub struct Counter {
    short: KeyedUpdates<u128, u64>,
    long: KeyedUpdates<Vec<u8>, u64>,
    long_bytes: usize,
}

impl Counter {
    #[gossamer::delegate]
    pub fn new(counts: &Counts) -> Self {
        let short = counts.short.merges(|count, more| *count += more);
        let long = counts.long.merges(|count, more| *count += more);
        Self { short, long, long_bytes: 0 }
    }

    /// Counts the words that end in this block. Now and then the fiber waits until the workers have caught up.
    pub fn feed(&mut self, splitter: &mut Splitter, block: &mut [u8]) {
        splitter.feed(block, &mut |word| self.count(word));
    }

    /// Counts the last word of a text.
    pub fn finish(&mut self, splitter: &mut Splitter) {
        splitter.finish(&mut |word| self.count(word));
    }

    #[inline(always)]
    fn count(&mut self, word: &[u8]) {
        if word.len() <= SHORT {
            self.short.push(to_number(word), 1);
        } else {
            self.count_long(word);
        }
    }

    fn count_long(&mut self, word: &[u8]) {
        self.long.push_ref(word, 1);
        self.long_bytes += word.len();
        if self.long_bytes >= MOST_BYTES {
            self.long.flush();
            self.long_bytes = 0;
        }
    }

    /// Waits until everything that was counted is in the maps.
    pub fn hand_over(self) {
        self.short.finish();
        self.long.finish();
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
    fn words_are_counted_over_all_workers() {
        let long = "a word that does not fit in a number".replace(' ', "");
        for threads in [1, 2, 5] {
            let text = format!("to be or not to b {long}");
            let found = gossamer::run(gossamer::Config::default().threads(threads), move || {
                let counts = Counts::new();
                for _ in 0..2 {
                    let (mut counter, mut splitter) = (Counter::new(&counts), Splitter::default());
                    counter.feed(&mut splitter, &mut text.clone().into_bytes());
                    counter.feed(&mut splitter, &mut b"E".to_vec());
                    counter.finish(&mut splitter);
                    counter.hand_over();
                }
                counts.first(4)
            });
            let long = format!("{long}e");
            assert_eq!(found, [counted(4, "to"), counted(2, &long), counted(2, "b"), counted(2, "be")]);
        }
    }
}
