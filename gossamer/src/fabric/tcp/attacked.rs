//! An attacker on the way changes, loses, repeats or swaps what a connection carries: none of that is ever handed over.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::tcp::frame::{Content, Frame};
use crate::fabric::tcp::incoming::IncomingRecords;
use crate::fabric::tcp::outgoing::OutgoingRecords;
use crate::fabric::{FRAGMENT_BYTES, Fragment, Slots};
use crate::transport::purpose::{Door, Purpose};
use crate::transport::records::{Damage, RecordReader, RecordWriter, Records, checked, within_process};
use crate::transport::seal::agreement::ConnectionSide;
use crate::transport::seal::protection::Protection;
use crate::wire::batch::Header;
use crate::wire::row::RowLayout;
use crate::wire::word::words_of;
use fastrand::Rng;
use std::io;

/// Flushes of a run.
const FLUSHES: usize = 12;
/// Runs of each kind of attack.
const RUNS: u64 = 50;

const LEVELS: [Protection; 3] = [Protection::Checked, Protection::Authenticated, Protection::Encrypted];

const PURPOSE: Purpose =
    Purpose { door: Door::Lanes, protection: Protection::Checked, from: 1, to: 0, index: 3 };

/// Both ends of a connection.
fn ends(protection: Protection) -> [Records; 2] {
    within_process(Purpose { protection, ..PURPOSE }).unwrap()
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Write(u32, u8, usize, u64, Vec<u64>),
    Fragment(u32, u64, RowLayout, Vec<u8>),
}

fn said(Frame { worker, content }: &Frame<'_>) -> Said {
    match content {
        Content::Write(write) => {
            Said::Write(*worker, write.slots as u8, write.slot, write.header, write.body.to_vec())
        }
        Content::Fragment(fragment) => {
            Said::Fragment(*worker, fragment.ticket, fragment.row, fragment.bytes.to_vec())
        }
    }
}

/// Flushes of writes, and a fragment now and then. Returns all that is said, and the bytes of each flush.
fn flushes(writer: RecordWriter, random: &mut Rng) -> (Vec<Said>, Vec<Vec<u8>>) {
    let mut outgoing = OutgoingRecords::new(writer);
    let mut all = Vec::new();
    let flush = |number: usize| {
        for slot in 0..random.usize(1..5) {
            let body: Vec<u64> = (0..random.usize(..300)).map(|_| random.u64(..)).collect();
            let header = Header { sequence: number as u32, count: 1, words: body.len() as u16 }.pack();
            // SAFETY: its words are numbers.
            unsafe { outgoing.write((7, Slots::Requests), slot, header, words_of(&body)) };
            all.push(Said::Write(7, Slots::Requests as u8, slot, header, body));
        }
        if number.is_multiple_of(4) {
            let bytes = vec![number as u8; random.usize(..=FRAGMENT_BYTES)];
            let (ticket, row) = (number as u64, RowLayout::of_bytes(&bytes));
            outgoing.send(7, Fragment { ticket, row, bytes: &bytes });
            all.push(Said::Fragment(7, ticket, row, bytes));
        }
        let mut sent = Vec::new();
        outgoing.flush(&mut sent).unwrap();
        sent
    };
    let flushes = (0..FLUSHES).map(flush).collect();
    (all, flushes)
}

/// All that is handed over of these bytes, which arrive in pieces, until some of them are refused.
fn handed_over(
    reader: RecordReader,
    flushes: &[Vec<u8>],
    random: &mut Rng,
) -> (Vec<Said>, Option<io::Error>) {
    let mut incoming = IncomingRecords::new(reader);
    let (bytes, mut all) = (flushes.concat(), Vec::new());
    let mut left = &bytes[..];
    while !left.is_empty() {
        let (mut piece, rest) = left.split_at(random.usize(1..=left.len().min(70_000)));
        left = rest;
        while !piece.is_empty() {
            let taken = incoming.receive(&mut piece, |frame| {
                all.push(said(&frame));
                Ok(())
            });
            if let Err(error) = taken {
                return (all, Some(error));
            }
        }
    }
    (all, None)
}

/// Delivers flushes as an attacker on the way has changed them. Only what was sent is handed over, and the rest is
/// refused.
fn attack(kind: &str, change: impl Fn(&mut Vec<Vec<u8>>, &mut Rng)) {
    for seed in 0..RUNS {
        let mut random = Rng::with_seed(seed);
        let [(writer, _), (_, reader)] = ends(LEVELS[seed as usize % LEVELS.len()]);
        let (all, mut flushes) = flushes(writer, &mut random);
        change(&mut flushes, &mut random);
        let (came, refused) = handed_over(reader, &flushes, &mut random);
        assert_eq!(came, all[..came.len()], "{kind}, seed {seed}");
        let refused = refused.unwrap_or_else(|| panic!("{kind}, seed {seed}: nobody noticed"));
        assert!(
            refused.get_ref().is_some_and(|error| error.is::<Damage>()),
            "{kind}, seed {seed}: {refused}"
        );
    }
}

/// A place that has something behind it.
fn place(flushes: &mut [Vec<u8>], random: &mut Rng) -> (usize, usize) {
    let flush = random.usize(..flushes.len() - 2);
    (flush, random.usize(..flushes[flush].len()))
}

#[test]
fn what_is_left_alone_is_handed_over() {
    for seed in 0..RUNS {
        let mut random = Rng::with_seed(seed);
        let [(writer, _), (_, reader)] = ends(LEVELS[seed as usize % LEVELS.len()]);
        let (all, flushes) = flushes(writer, &mut random);
        let (came, refused) = handed_over(reader, &flushes, &mut random);
        assert!(refused.is_none(), "seed {seed}: {refused:?}");
        assert_eq!(came, all, "seed {seed}");
    }
}

#[test]
fn a_run_of_bytes_that_was_changed_is_never_handed_over() {
    attack("a bit", |flushes, random| {
        let (flush, at) = place(flushes, random);
        flushes[flush][at] ^= 1 << random.u8(..8);
    });
    attack("a run of bytes", |flushes, random| {
        let (flush, at) = place(flushes, random);
        let end = flushes[flush].len().min(at + random.usize(1..64));
        flushes[flush][at..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(random.u8(1..)));
    });
    attack("bytes left out", |flushes, random| {
        let (flush, at) = place(flushes, random);
        let end = flushes[flush].len().min(at + random.usize(1..64));
        flushes[flush].drain(at..end);
    });
    attack("bytes put in", |flushes, random| {
        let (flush, at) = place(flushes, random);
        let more: Vec<u8> = (0..random.usize(1..64)).map(|_| random.u8(..)).collect();
        flushes[flush].splice(at..at, more);
    });
}

#[test]
fn whole_flushes_that_are_lost_repeated_or_exchanged_are_noticed() {
    attack("a flush lost", |flushes, random| {
        let flush = place(flushes, random).0;
        flushes.remove(flush);
    });
    attack("a flush repeated", |flushes, random| {
        let flush = place(flushes, random).0;
        flushes.insert(flush, flushes[flush].clone());
    });
    attack("two flushes exchanged", |flushes, random| {
        let flush = place(flushes, random).0;
        flushes.swap(flush, flush + 1);
    });
    attack("a flush of another connection", |flushes, _| {
        let purpose = Purpose { index: 2, ..PURPOSE };
        let mut other = OutgoingRecords::new(checked(purpose, ConnectionSide::Connects).0);
        // SAFETY: it has no words.
        unsafe { other.write((7, Slots::Requests), 0, 0, &[]) };
        flushes[0].clear();
        other.flush(&mut flushes[0]).unwrap();
    });
    attack("a flush sent back", |flushes, _| {
        let mut back = OutgoingRecords::new(checked(PURPOSE, ConnectionSide::Accepts).0);
        // SAFETY: it has no words.
        unsafe { back.write((7, Slots::Requests), 0, 0, &[]) };
        flushes[0].clear();
        back.flush(&mut flushes[0]).unwrap();
    });
}
