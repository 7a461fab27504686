//! Random uses of windows: blocks in order with holes, steps back within the comeback, from several threads.

use crate::{joins, ways};
use gossamer::stream::{Error, Faults, Geometry, Length, Options};
use integration_tests::watched;
use std::fs::read_to_string;
use std::thread;
use std::time::{Duration, Instant};

/// Addresses in a window, for threads.
#[derive(Clone, Copy)]
struct Start(usize);

impl Start {
    fn word(self, at: usize) -> *mut u64 {
        (self.0 as *mut u64).wrapping_add(at)
    }
}

/// The content of a word of a block, after it was written this many times.
fn word(seed: u64, block: usize, at: usize) -> u64 {
    (seed << 40 ^ (block as u64) << 20 ^ at as u64) | 1 << 63
}

/// Which blocks are touched, in order: some steps go back, but never behind the comeback of the foremost.
fn steps(random: &mut fastrand::Rng, blocks: usize, comeback: usize) -> Vec<usize> {
    let (mut steps, mut at, sparse) = (Vec::new(), 0, random.bool());
    while at < blocks {
        steps.push(at);
        if random.u32(..4) == 0 {
            steps.push(random.usize(at.saturating_sub(comeback)..=at));
        }
        at += if sparse && random.bool() { random.usize(1..30) } else { 1 };
    }
    steps
}

/// Calls `body` for a block: here, or in two threads at once, each with half of the block.
fn halves(random: &mut fastrand::Rng, words: usize, body: impl Fn(std::ops::Range<usize>) + Sync) {
    if random.u32(..4) > 0 {
        return body(0..words);
    }
    thread::scope(|scope| {
        scope.spawn(|| body(words / 2..words));
        scope.spawn(|| body(0..words / 2));
    });
}

fn round(seed: u64, ways: &[Faults]) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (join, faults) = (joins()[random.usize(..joins().len())], ways[random.usize(..ways.len())]);
    let ahead = random.usize(1..=8);
    let comeback = random.usize(..=ahead);
    let block = 4096 << [0, 0, 0, 1, 4, 9][random.usize(..6)];
    let geometry = Geometry::new().block(block).ahead(ahead).comeback(comeback);
    let blocks = 1 + random.usize(..if block > 1 << 20 { 30 } else { 200 });
    let open = random.bool();
    let bytes = (blocks * block - if open { random.usize(..block) / 8 * 8 } else { 0 }) as u64;
    let length = if open { Length::Open } else { Length::Known(bytes) };
    let what = format!("seed {seed}: {join:?}, {faults:?}, {length}, {geometry}, {blocks} blocks");
    let options = Options::from(geometry).faults(faults).patience(Duration::from_secs(20));
    let (sender, receiver) = join.ends(length, options);
    let (mut sender, mut receiver) = (sender.into_window().unwrap(), receiver.into_window().unwrap());
    let written = steps(&mut random, blocks, comeback);
    let last = *written.iter().max().unwrap();
    let bytes =
        if open { bytes.min(((last + 1) * block) as u64).max((last * block) as u64 + 8) } else { bytes };
    let in_block = move |block_at: usize| ((bytes as usize).saturating_sub(block_at * block)).min(block) / 8;
    let goes_behind = random.u32(..4) == 0;
    let read = steps(&mut random, (bytes as usize).div_ceil(block), comeback);
    let writing = {
        let (written, mut random) = (written.clone(), random.fork());
        thread::spawn(move || {
            let write = |start: *mut u8| {
                let start = Start(start as usize);
                for at in written {
                    halves(&mut random, in_block(at), |words| {
                        for index in words {
                            // SAFETY: in order, within the comeback, and below the length.
                            unsafe { start.word(at * block / 8 + index).write(word(seed, at, index)) };
                        }
                    });
                    if random.u32(..60) == 0 {
                        thread::sleep(Duration::from_micros(random.u64(..500)));
                    }
                }
            };
            if goes_behind {
                sender.try_with(write)?;
            } else {
                write(sender.as_mut_ptr());
            }
            sender.finish_at(bytes)
        })
    };
    let reading = thread::spawn(move || {
        let start = Start(receiver.as_ptr() as usize);
        for at in &read {
            let touched = written.contains(at);
            // A block that arrives along with a touched one was not written, and is no hole.
            let hole = !written.iter().any(|other| (at.saturating_sub(9)..=*at).contains(other));
            halves(&mut random, in_block(*at), |words| {
                for index in words {
                    // SAFETY: in order, within the comeback, and below the length.
                    let is = unsafe { start.word(at * block / 8 + index).read() };
                    if touched {
                        assert_eq!(is, word(seed, *at, index), "block {at}, word {index}");
                    } else if hole {
                        assert_eq!(is, 0, "hole {at}, word {index}");
                    }
                }
            });
        }
        let foremost = *read.iter().max().unwrap();
        if goes_behind && foremost > comeback + 12 {
            // SAFETY: not in the contract, but in a range that is mapped or told of.
            let behind = receiver.try_with(|start| unsafe { start.read_volatile() });
            assert!(matches!(behind, Err(Error::BehindComeback { .. })), "{behind:?}");
            // From now on, the window has only what was announced.
            return true;
        }
        receiver.finish().unwrap();
        false
    });
    let (Ok(wrote), Ok(was_told)) = (writing.join(), reading.join()) else { panic!("{what}") };
    assert_eq!(wrote.is_ok(), !was_told, "{what}: {wrote:?}");
}

#[test]
fn whatever_is_touched_in_windows_is_what_was_written() {
    watched(|| {
        let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
        let (first, ways) = (number("SEED", 0), ways());
        let mappings = || read_to_string("/proc/self/maps").unwrap().lines().count();
        round(first, &ways);
        let before = mappings();
        for seed in first..first + number("ROUNDS", 100) {
            round(seed, &ways);
        }
        // Other tests of this process have mappings, too, but not for long.
        let deadline = Instant::now() + Duration::from_secs(60);
        while mappings() >= before + 100 {
            assert!(Instant::now() < deadline, "{before} mappings have become {}", mappings());
            thread::sleep(Duration::from_millis(100));
        }
    });
}
