//! Random uses of both ends, with flushes: everything that was read, whenever it was, turns out to be what was written.

use crate::joins;
use gossamer::stream::{Error, Geometry, Length, Options, Receiver, Sender};
use integration_tests::watched;
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

struct Plan {
    block: usize,
    total: u64,
    known: bool,
    /// Now and then the sender waits until what it has flushed was read.
    lockstep: bool,
}

fn put(model: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (at, end) = (at as usize, at as usize + bytes.len());
    if bytes.is_empty() {
        return;
    }
    if model.len() < end {
        model.resize(end, 0);
    }
    model[at..end].copy_from_slice(bytes);
}

fn noise(random: &mut fastrand::Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.u8(1..)).collect()
}

/// Writes at random; returns what the receiver should see.
fn write(mut sender: Sender, plan: &Plan, random: &mut fastrand::Rng, read: &AtomicU64) -> Vec<u8> {
    let mut model = Vec::new();
    let block = plan.block as u64;
    let mut at = 0_u64;
    loop {
        let room = plan.total.saturating_sub(at);
        if model.len() as u64 >= plan.total && random.bool() || random.u32(..400) == 0 && !plan.known {
            break;
        }
        match random.u32(..12) {
            0..=3 => {
                let most = if random.bool() { block * 3 } else { 300 };
                let bytes = noise(random, random.clone().u64(..=most).min(room) as usize);
                sender.write_everything(&bytes).unwrap();
                put(&mut model, at, &bytes);
                at += bytes.len() as u64;
            }
            4 | 5 => {
                sender.flush().unwrap();
                let foremost = model.len() as u64;
                if sender.first() > at {
                    at = sender.seek(SeekFrom::Start(foremost)).unwrap();
                }
                let due = Instant::now() + PATIENCE;
                while plan.lockstep && random.bool() && read.load(Ordering::Relaxed) < foremost {
                    assert!(Instant::now() < due, "{foremost} bytes were flushed, and are not read");
                    thread::yield_now();
                }
            }
            6 => {
                let by = if random.bool() { block * 6 } else { block / 3 };
                let to = (at + random.u64(..by)).min(plan.total);
                let to = if random.u32(..3) == 0 { to / block * block } else { to }.max(at);
                at = sender.seek(SeekFrom::Start(to)).unwrap();
            }
            7 => {
                let first = sender.first();
                at = sender.seek(SeekFrom::Start(random.u64(first..=at.max(first)))).unwrap();
            }
            8 | 9 => {
                let Some(mut place) = sender.next_block().unwrap() else { continue };
                let count = if random.bool() { place.len() } else { random.usize(..=place.len()) };
                let bytes = noise(random, count);
                place[..count].copy_from_slice(&bytes);
                // What is not committed is not sent.
                let old = model.len().saturating_sub(at as usize).clamp(count, place.len());
                place[old..].fill(0xee);
                place.commit(count);
                if model.len() < at as usize {
                    model.resize(at as usize, 0);
                }
                put(&mut model, at, &bytes);
                at += count as u64;
            }
            10 => {
                let (first, end) = (sender.first(), model.len() as u64);
                if first < end {
                    let from = random.u64(first..end);
                    let bytes = noise(random, random.clone().u64(..=(end - from).min(block * 2)) as usize);
                    match sender.write_at(from, &bytes) {
                        Ok(()) => put(&mut model, from, &bytes),
                        Err(error) => panic!("write_at {from} {} of {first}..{end}: {error}", bytes.len()),
                    }
                }
            }
            _ => {
                if random.u32(..20) == 0 {
                    thread::sleep(Duration::from_micros(random.u64(..1000)));
                }
            }
        }
        assert_eq!(sender.position(), at);
    }
    if plan.known {
        if sender.first() > at || random.bool() {
            at = sender.seek(SeekFrom::Start(model.len() as u64)).unwrap();
        }
        at = at.max(sender.seek(SeekFrom::Start(plan.total)).unwrap());
    }
    if random.bool() {
        sender.flush().unwrap();
    }
    if model.len() < at as usize {
        model.resize(at as usize, 0);
    }
    if random.bool() {
        thread::sleep(Duration::from_micros(random.u64(..2000)));
    }
    sender.finish().unwrap();
    model
}

/// Reads at random; returns what it saw at which place, and where the end was, if it got there.
fn read(
    mut receiver: Receiver,
    plan: &Plan,
    random: &mut fastrand::Rng,
    read: &AtomicU64,
) -> (Vec<(u64, Vec<u8>)>, Option<u64>) {
    let mut seen = Vec::new();
    let block = plan.block as u64;
    let moves = !plan.lockstep || random.bool();
    loop {
        let at = receiver.position();
        read.store(at, Ordering::Relaxed);
        let got = match random.u32(..12) {
            0..=2 => {
                let mut buffer = vec![0; 1 + random.usize(..plan.block * 2)];
                let count = receiver.read(&mut buffer).unwrap();
                buffer.truncate(count);
                buffer
            }
            3 | 4 => {
                let bytes = receiver.fill_buf().unwrap().to_vec();
                let count = random.usize(..=bytes.len());
                receiver.consume(count);
                bytes
            }
            5 | 6 => receiver.next_block().unwrap().map(|block| block.to_vec()).unwrap_or_default(),
            7 if moves => {
                let most = if random.u32(..6) == 0 { block * 20 } else { block };
                let to = at + random.u64(..most);
                receiver.seek(SeekFrom::Start(to)).unwrap();
                continue;
            }
            8 => {
                receiver.seek(SeekFrom::Start(random.u64(receiver.first().min(at)..=at))).unwrap();
                let mut buffer = vec![0; (at - receiver.position()) as usize];
                match receiver.read_exact(&mut buffer) {
                    Ok(()) => seen.push((at - buffer.len() as u64, buffer)),
                    // Behind the end, after a seek.
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof),
                }
                continue;
            }
            9 => {
                let most = if plan.lockstep { at } else { at + block * 3 };
                let first = receiver.first();
                if first < most {
                    let from = random.u64(first..most);
                    let mut buffer = vec![0; random.u64(..=(most - from)) as usize];
                    match receiver.read_at(from, &mut buffer) {
                        Ok(()) => seen.push((from, buffer)),
                        Err(Error::Overrun { .. }) => {}
                        Err(error) => panic!("read_at {from} {}: {error}", buffer.len()),
                    }
                }
                continue;
            }
            10 if !plan.lockstep => {
                let values = receiver.values::<u64>().take(3).map_while(Result::ok);
                seen.push((at, values.flat_map(u64::to_ne_bytes).collect()));
                continue;
            }
            11 if random.u32(..300) == 0 => {
                receiver.finish().unwrap();
                read.store(u64::MAX, Ordering::Relaxed);
                return (seen, None);
            }
            _ => {
                if random.u32(..20) == 0 {
                    thread::sleep(Duration::from_micros(random.u64(..1000)));
                }
                continue;
            }
        };
        if got.is_empty() {
            read.store(u64::MAX, Ordering::Relaxed);
            if random.bool() {
                receiver.finish().unwrap();
            }
            return (seen, Some(at));
        }
        seen.push((at, got));
    }
}

fn round(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let join = joins()[random.usize(..joins().len())];
    let ahead = random.usize(1..=8);
    let block = 4096 << if random.u32(..4) == 0 { random.u32(..6) } else { random.u32(..2) };
    let geometry = Geometry::new().block(block).ahead(ahead).comeback(random.usize(..=ahead.min(4)));
    let total = match random.u32(..8) {
        0 => random.u64(..10),
        1 => random.u64(..8) * block as u64,
        _ => random.u64(..block as u64 * 40),
    };
    let plan = Arc::new(Plan { block, total, known: random.bool(), lockstep: random.bool() });
    let length = if plan.known { Length::Known(total) } else { Length::Open };
    let what =
        format!("seed {seed}: {join:?}, {length}, {geometry}, total {total}, lockstep {}", plan.lockstep);
    let (sender, receiver) = join.ends(length, Options::from(geometry).patience(PATIENCE));
    let position = Arc::new(AtomicU64::new(0));
    let writing = {
        let (plan, position, mut random) = (Arc::clone(&plan), Arc::clone(&position), random.fork());
        thread::spawn(move || write(sender, &plan, &mut random, &position))
    };
    let reading = thread::spawn(move || read(receiver, &plan, &mut random, &position));
    let (written, was_read) = (writing.join(), reading.join());
    let (Ok(written), Ok((seen, end))) = (written, was_read) else { panic!("{what}") };
    for (at, bytes) in seen.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let right = written.get(at as usize..at as usize + bytes.len());
        if right != Some(&bytes) {
            let pairs = bytes.iter().zip(written.iter().skip(at as usize));
            let wrong: Vec<_> = pairs.enumerate().filter(|(_, (read, written))| read != written).collect();
            panic!(
                "{what}: of {} bytes at {at} {} are wrong, with what was written: {:?}; {} in all",
                bytes.len(),
                wrong.len(),
                &wrong[..wrong.len().min(16)],
                written.len()
            );
        }
    }
    if let Some(end) = end {
        assert!(end >= written.len() as u64, "{what}: ends at {end} of {}", written.len());
    }
}

#[test]
fn whatever_both_ends_do_what_was_read_is_what_was_written() {
    watched(|| {
        let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
        let first = number("SEED", 0);
        (first..first + number("ROUNDS", 200)).for_each(round);
    });
}
