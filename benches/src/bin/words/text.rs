//! The text whose words are counted: a part for each thread.

use benches::machine::pinned;
use std::sync::OnceLock;

/// How many different words there may be.
const VOCABULARY: usize = 500_000;
/// The frequency of this many words falls in proportion to their rank, and that of the others with its square. Large
/// collections of texts behave so (Ferrer i Cancho and Sole, "Two regimes in the frequency of words", 2001).
const KERNEL: f64 = 5000.0;

static TEXTS: OnceLock<Vec<String>> = OnceLock::new();

/// Makes up this many MiB, in a part for each thread; each thread makes its own.
pub fn make(threads: usize, mib: usize) {
    TEXTS.get_or_init(|| {
        let bytes = (mib << 20) / threads;
        let parts: Vec<_> = (0..threads).map(|thread| pinned(thread, move || part(thread, bytes))).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).collect()
    });
}

/// The part of a thread: words and spaces.
pub fn of(thread: usize) -> &'static str {
    TEXTS.get().map_or("", |texts| &texts[thread])
}

fn part(thread: usize, bytes: usize) -> String {
    let vocabulary: Vec<String> = (0..VOCABULARY as u64).map(word).collect();
    // The sum of the shares up to each word.
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=VOCABULARY)
        .map(|rank| {
            let rank = rank as f64;
            sum += if rank < KERNEL { 1.0 / rank } else { KERNEL / (rank * rank) };
            sum
        })
        .collect();
    let (mut text, mut number) = (String::with_capacity(bytes + 32), (thread as u64) << 40);
    while text.len() < bytes {
        number += 1;
        let share = mix(number) as f64 / u64::MAX as f64 * sum;
        let rank = sums.partition_point(|sum| *sum < share).min(VOCABULARY - 1);
        text.push_str(&vocabulary[rank]);
        text.push(' ');
    }
    text.pop();
    text
}

/// A word of 2 to 12 letters; frequent ones are short.
fn word(rank: u64) -> String {
    let mut letters = mix(rank);
    let length = 2 + (rank + 1).ilog2() as usize / 3 + letters as usize % 5;
    let mut word = String::new();
    for _ in 0..length {
        letters = letters.rotate_right(5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word.push(char::from(b'a' + (letters >> 32) as u8 % 26));
    }
    word
}

fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
