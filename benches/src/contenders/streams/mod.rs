//! One end writes consecutive numbers, the other adds them up, block by block; a block is an operation.
//!
//! The consumer is in the process that measures, and checks each block. When the meter stops it goes no further, and what the
//! producer waits for never comes: it ends with its process.

mod apart;
mod channel;
mod gigabit;
mod gossamer;
mod iperf;
mod pipe;
mod remapped;

pub use apart::plain;
pub use channel::{channel, malloc};
pub use gossamer::{blocks, blocks_authenticated, blocks_encrypted, windows_by_signal, windows_by_userfault};
pub use iperf::{iperf, iperf_zero_copy};
pub use pipe::{pipe, pipe_between};
pub use remapped::remapped;

use crate::machine;
use crate::measure::{METER, Sample, Setting};

/// Bytes of a block.
pub const BLOCK: usize = 2 << 20;
/// Numbers of a block.
const NUMBERS: usize = BLOCK / size_of::<u64>();
/// Blocks that may be under way.
const AHEAD: usize = 6;

/// The thesis's `std::iota`, of one block.
#[inline(never)]
fn iota(into: &mut [u64], first: u64) {
    for (number, into) in (first..).zip(into) {
        *into = number;
    }
}

/// The thesis's `std::accumulate`, of one block.
#[inline(never)]
fn sum(from: &[u64]) -> u64 {
    from.iter().fold(0, |sum, number| sum.wrapping_add(*number))
}

/// The producer's side: the number that comes next.
#[derive(Default)]
struct Source(u64);

impl Source {
    fn fill(&mut self, block: &mut [u64]) {
        iota(block, self.0);
        self.0 += block.len() as u64;
    }
}

/// The consumer's side: the number that comes next.
#[derive(Default)]
struct Sink(u64);

impl Sink {
    /// Takes a whole block. Panics if its numbers are others.
    fn take(&mut self, block: &[u64]) {
        let (first, count) = (u128::from(self.0), block.len() as u128);
        let expected = count * first + count * (count - 1) / 2;
        assert_eq!(sum(block), expected as u64, "numbers were lost");
        self.0 += block.len() as u64;
        METER.add(0, 1);
    }

    /// Whether there is more to measure.
    fn goes_on(&self) -> bool {
        !METER.stopped()
    }
}

/// Both ends as threads of this process, each on a processor.
fn on_two_threads(
    setting: &Setting,
    produce: impl FnOnce() + Send + 'static,
    consume: impl FnOnce() + Send + 'static,
) -> Sample {
    drop(machine::pinned(0, produce));
    let consumer = machine::pinned(1, consume);
    let sample = METER.watch(setting, 1);
    assert!(consumer.join().is_ok(), "the consumer panicked");
    sample
}
