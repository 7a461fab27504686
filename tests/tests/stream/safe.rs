//! Safe calls: blocks, `Read`, `BufRead`, `Write`, `Seek`, values.

use crate::{Join, byte_at, bytes_at, joins, small};
use fastrand::Rng;
use gossamer::stream::{Error, Geometry, Length, Receiver, Sender};
use integration_tests::watched;
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::thread;

/// Writes `length` bytes in pieces of random sizes, by random calls.
fn write_at_random(sender: &mut Sender, length: u64, rng: &mut Rng) {
    while sender.position() < length {
        let left = (length - sender.position()).min(rng.u64(1..200_000)) as usize;
        let bytes = bytes_at(sender.position(), left);
        match rng.u8(0..4) {
            0 => sender.write_all(&bytes).unwrap(),
            1 => drop(sender.write(&bytes).unwrap()),
            2 => sender.flush().unwrap(),
            _ => {
                let mut block = sender.next_block().unwrap().unwrap();
                let count = block.len().min(left);
                block[..count].copy_from_slice(&bytes[..count]);
                block.commit(count);
            }
        }
    }
}

/// Reads to the end in the same way and compares.
fn read_at_random(receiver: &mut Receiver, rng: &mut Rng) -> u64 {
    let mut buffer = vec![0; 200_000];
    loop {
        let offset = receiver.position();
        let check = |bytes: &[u8]| {
            bytes.iter().zip(offset..).for_each(|(byte, at)| assert_eq!(*byte, byte_at(at), "at {at}"));
        };
        let count = rng.usize(1..buffer.len());
        match rng.u8(0..3) {
            0 => {
                let count = receiver.read(&mut buffer[..count]).unwrap();
                check(&buffer[..count]);
            }
            1 => {
                let bytes = receiver.fill_buf().unwrap();
                check(bytes);
                let count = bytes.len().min(count);
                receiver.consume(count);
            }
            _ => {
                if let Some(block) = receiver.next_block().unwrap() {
                    check(&block);
                }
            }
        }
        if receiver.position() == offset {
            return offset;
        }
    }
}

#[test]
fn what_is_written_in_pieces_is_read_in_other_pieces() {
    watched(|| {
        for (round, join) in joins().into_iter().cycle().take(15).enumerate() {
            let mut rng = Rng::with_seed(round as u64);
            let length = rng.u64(0..3_000_000);
            let geometry = Geometry::new().block(4096 << rng.u32(0..6)).ahead(3).comeback(round % 3);
            let (mut sender, mut receiver) = join.ends(length, geometry);
            let writing = thread::spawn(move || {
                write_at_random(&mut sender, length, &mut Rng::with_seed(7 + round as u64));
                sender.finish()
            });
            assert_eq!(read_at_random(&mut receiver, &mut rng), length, "{join:?}");
            writing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn blocks_are_slices_of_numbers() {
    watched(|| {
        for join in joins() {
            let count = 100_000_u64;
            let (mut sender, mut receiver) = join.ends(count * 8, small());
            let writing = thread::spawn(move || {
                let mut next = 0;
                while let Some(mut block) = sender.next_block().unwrap() {
                    for value in block.typed::<u64>().unwrap() {
                        *value = next;
                        next += 1;
                    }
                }
                sender.finish()
            });
            let first: Vec<u64> = receiver.values().take(1000).map(Result::unwrap).collect();
            assert!(first.into_iter().eq(0..1000));
            let mut next = 1000;
            receiver
                .for_each_slice::<u64>(|values| {
                    assert!(values.iter().copied().eq(next..next + values.len() as u64));
                    next += values.len() as u64;
                })
                .unwrap();
            assert_eq!(next, count);
            writing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn values_that_do_not_fit_a_block_are_refused() {
    watched(|| {
        let (mut sender, mut receiver) = Join::Pair.ends(20, small());
        sender.write_all(&[1; 20]).unwrap();
        let finishing = thread::spawn(|| sender.finish());
        let values: Vec<_> = receiver.values::<u64>().take(3).collect();
        assert!(values[..2].iter().all(Result::is_ok) && values[2].is_err(), "{values:?}");
        assert!(receiver.next_block().unwrap().unwrap().typed::<u64>().is_err());
        receiver.finish().unwrap();
        finishing.join().unwrap().unwrap();
    });
}

#[test]
fn both_ends_go_back_within_the_comeback_and_no_further() {
    watched(|| {
        for join in joins() {
            let block = 1 << 16;
            let (mut sender, mut receiver) = join.ends(4 * block, small());
            sender.write_everything(&bytes_at(0, 2 * block as usize + 10)).unwrap();
            assert_eq!(sender.first(), block);
            sender.seek(SeekFrom::Start(block + 5)).unwrap();
            sender.write_everything(b"again").unwrap();
            sender.write_at(block + 12, b"there").unwrap();
            assert_eq!(sender.position(), block + 10);
            let behind = Error::BehindComeback { offset: 3, first: block };
            assert_eq!(sender.write_at(3, b"x").unwrap_err(), behind);
            assert!(sender.seek(SeekFrom::Start(3)).unwrap_err().to_string().contains("is gone"));
            sender.seek(SeekFrom::Start(2 * block + 10)).unwrap();
            sender.write_everything(&bytes_at(2 * block + 10, 2 * block as usize - 10)).unwrap();
            let finishing = thread::spawn(|| sender.finish());

            let (mut text, mut early) = ([0; 12], [0; 4]);
            receiver.read_at(block + 5, &mut text).unwrap();
            assert_eq!(text[..], [b"again", &bytes_at(block + 10, 2)[..], b"there"].concat());
            receiver.seek(SeekFrom::Start(3 * block)).unwrap();
            receiver.read_exact(&mut early).unwrap();
            assert_eq!(early[..], bytes_at(3 * block, 4));
            assert_eq!(receiver.first(), 2 * block);
            receiver.seek(SeekFrom::Current(-(block as i64))).unwrap();
            receiver.read_exact(&mut early).unwrap();
            assert_eq!(early[..], bytes_at(2 * block + 4, 4));
            let behind = Error::BehindComeback { offset: 9, first: 2 * block };
            assert_eq!(receiver.read_at(9, &mut early).unwrap_err(), behind);
            assert!(matches!(receiver.read_at(9 * block, &mut early), Err(Error::Overrun { .. })));
            receiver.finish().unwrap();
            finishing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn what_is_passed_over_reads_as_zeros() {
    watched(|| {
        for join in joins() {
            let length = 100_000_000;
            let (mut sender, mut receiver) = join.ends(length, small());
            let places = [10, 500_000, 5_000_000, 90_000_000];
            let writing = thread::spawn(move || {
                // Something that must not show through: the slots are used again.
                for place in places {
                    sender.seek(SeekFrom::Start(place)).unwrap();
                    sender.write_everything(&[0xff; 300_000]).unwrap();
                    sender.seek(SeekFrom::Current(-50_000)).unwrap();
                }
                sender.seek(SeekFrom::End(0)).unwrap();
                sender.finish()
            });
            let (mut all, mut buffer) = (0, vec![0; 1 << 20]);
            loop {
                let count = receiver.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                let mut expected = vec![0; count];
                for place in places {
                    let [start, end] =
                        [place, place + 300_000].map(|at| at.saturating_sub(all).min(count as u64));
                    expected[start as usize..end as usize].fill(0xff);
                }
                assert!(buffer[..count] == expected, "{join:?} at {all}");
                all += count as u64;
            }
            assert_eq!(all, length);
            writing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn blocks_behind_a_seek_are_their_own_on_whichever_connection_they_come() {
    watched(|| {
        for round in 0..30 {
            let geometry = Geometry::new().block(4096).ahead(1 + round % 3).comeback(round % 2);
            let (mut sender, mut receiver) = Join::ThreeConnections.ends(Length::Open, geometry);
            let blocks = 400_u64;
            let writing = thread::spawn(move || {
                for block in 0..blocks {
                    sender.write_everything(&block.to_ne_bytes().repeat(512)).unwrap();
                }
                sender.finish()
            });
            let mut block = 0;
            while block < blocks {
                receiver.seek(SeekFrom::Start(block * 4096)).unwrap();
                let mut bytes = [0; 4096];
                receiver.read_exact(&mut bytes).unwrap();
                assert!(
                    bytes[..] == block.to_ne_bytes().repeat(512),
                    "{geometry}: {block} is {:?}",
                    &bytes[..16]
                );
                block += 9;
            }
            receiver.finish().unwrap();
            writing.join().unwrap().unwrap();
        }
    });
}
