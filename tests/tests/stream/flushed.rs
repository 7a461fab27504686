//! Parts of blocks that are sent before their block is full, and blocks that are never finished.

use crate::{Join, byte_at, bytes_at, joins, small};
use gossamer::Trustee;
use gossamer::stream::{Error, Geometry, Length, Receiver, Sender};
use integration_tests::{in_runtime, watched};
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

/// Reads only what is there.
fn read_some(receiver: &mut Receiver, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    receiver.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_was_flushed_arrives_before_its_block_is_full() {
    watched(|| {
        for join in joins() {
            for length in [Length::Open, Length::Known(200_000)] {
                let (mut sender, mut receiver) = join.ends(length, small());
                let mut at = 0;
                // Some of them end where a block ends.
                for count in [1, 0, 1000, 65536 - 1001, 65536, 5, 65000, 900] {
                    sender.write_everything(&bytes_at(at, count)).unwrap();
                    sender.flush().unwrap();
                    assert_eq!(read_some(&mut receiver, count), bytes_at(at, count), "{join:?} {length}");
                    at += count as u64;
                }
                let reading = thread::spawn(move || {
                    let mut rest = Vec::new();
                    receiver.read_to_end(&mut rest).map(|_| rest)
                });
                let rest = 200_000 - at as usize;
                sender.write_everything(&bytes_at(at, rest)).unwrap();
                sender.finish().unwrap();
                assert_eq!(reading.join().unwrap().unwrap(), bytes_at(at, rest), "{join:?} {length}");
            }
        }
    });
}

#[test]
fn a_stream_that_was_flushed_to_its_end_is_finished() {
    watched(|| {
        for join in joins() {
            for (length, count) in
                [(Length::Open, 70_000), (Length::Known(70_000), 70_000), (Length::Open, 65_536)]
            {
                let (mut sender, mut receiver) = join.ends(length, small());
                sender.write_everything(&bytes_at(0, count)).unwrap();
                sender.flush().unwrap();
                assert_eq!(read_some(&mut receiver, count), bytes_at(0, count));
                let reading = thread::spawn(move || {
                    assert!(receiver.next_block().unwrap().is_none());
                    receiver.finish()
                });
                sender.finish().unwrap();
                reading.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn blocks_and_values_are_what_was_flushed() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(Length::Open, small());
            let write = |sender: &mut gossamer::stream::Sender, numbers: std::ops::Range<u64>| {
                let bytes: Vec<u8> = numbers.flat_map(u64::to_ne_bytes).collect();
                sender.write_everything(&bytes).unwrap();
            };
            write(&mut sender, 0..3);
            sender.hand_over().unwrap();
            assert_eq!(receiver.next_block().unwrap().unwrap().typed::<u64>().unwrap(), [0, 1, 2]);
            write(&mut sender, 3..5);
            sender.hand_over().unwrap();
            let mut values = receiver.values::<u64>();
            assert_eq!(values.next().unwrap().unwrap(), 3);
            assert_eq!(values.next().unwrap().unwrap(), 4);
            // The second half of the value is awaited.
            sender.write_everything(&5_u64.to_ne_bytes()[..4]).unwrap();
            sender.hand_over().unwrap();
            let reading =
                thread::spawn(move || receiver.values::<u64>().map(Result::unwrap).collect::<Vec<_>>());
            sender.write_everything(&5_u64.to_ne_bytes()[4..]).unwrap();
            sender.finish().unwrap();
            assert_eq!(reading.join().unwrap(), [5], "{join:?}");
        }
    });
}

#[test]
fn what_was_flushed_cannot_be_changed() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(Length::Open, small());
            sender.write_everything(&bytes_at(0, 1000)).unwrap();
            sender.seek(SeekFrom::Start(500)).unwrap();
            sender.flush().unwrap();
            assert_eq!(sender.first(), 1000);
            assert!(matches!(sender.next_block(), Err(Error::BehindComeback { offset: 500, first: 1000 })));
            assert!(matches!(sender.write_at(999, &[1]), Err(Error::BehindComeback { .. })));
            assert!(sender.seek(SeekFrom::Start(999)).is_err());
            sender.seek(SeekFrom::Start(3000)).unwrap();
            sender.write_everything(&bytes_at(3000, 10)).unwrap();
            sender.hand_over().unwrap();
            let bytes = read_some(&mut receiver, 3010);
            assert_eq!(bytes[..1000], bytes_at(0, 1000));
            assert!(bytes[1000..3000].iter().all(|byte| *byte == 0), "{join:?}");
            assert_eq!(bytes[3000..], bytes_at(3000, 10));
            // What is written later over bytes that have passed is refused as well.
            assert!(sender.write_at(2000, &[1]).is_err());
        }
    });
}

#[test]
fn a_receiver_goes_back_into_what_was_flushed() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(Length::Open, small());
            sender.write_everything(&bytes_at(0, 70_000)).unwrap();
            sender.hand_over().unwrap();
            assert_eq!(read_some(&mut receiver, 70_000), bytes_at(0, 70_000));
            let mut buffer = [0; 100];
            receiver.read_at(65_500, &mut buffer).unwrap();
            assert_eq!(buffer[..], bytes_at(65_500, 100));
            receiver.seek(SeekFrom::Start(69_000)).unwrap();
            let bytes = receiver.fill_buf().unwrap();
            assert_eq!(bytes, bytes_at(69_000, 1000), "{join:?}");
        }
    });
}

#[test]
fn a_receiver_that_skips_what_was_flushed_reads_on() {
    watched(|| {
        for join in joins() {
            for round in 0..8_u64 {
                let geometry = Geometry::new().block(4096).ahead(2).comeback((round % 2) as usize);
                let (mut sender, mut receiver) = join.ends(Length::Open, geometry);
                let length = 300_000;
                let writing = thread::spawn(move || {
                    let mut at = 0;
                    while at < length {
                        let count = 1 + (at * 7 + round) % 6000;
                        sender.write_everything(&bytes_at(at, count as usize)).unwrap();
                        sender.flush().unwrap();
                        at += count;
                    }
                    sender.finish()
                });
                let mut buffer = [0; 300];
                while let Ok(count @ 1..) = receiver.read(&mut buffer) {
                    let first = receiver.position() - count as u64;
                    let right = buffer[..count].iter().zip(first..).all(|(byte, at)| *byte == byte_at(at));
                    assert!(right, "{join:?} at {first}");
                    receiver.seek(SeekFrom::Current((first % 9000) as i64)).unwrap();
                }
                receiver.finish().unwrap();
                writing.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn a_window_gets_a_flushed_block_once_it_is_full() {
    watched(|| {
        for join in [Join::Pair, Join::Shared, Join::Tcp] {
            let (mut sender, receiver) = join.ends(Length::Known(100_000), small());
            sender.write_everything(&bytes_at(0, 1000)).unwrap();
            sender.flush().unwrap();
            let reading = thread::spawn(move || {
                let mut window = receiver.into_window().unwrap();
                let right = window.try_with(|start| {
                    // SAFETY: inside the window, in order.
                    let bytes = unsafe { std::slice::from_raw_parts(start, 100_000) };
                    bytes.iter().zip(0..).all(|(byte, at)| *byte == byte_at(at))
                });
                (right, window.finish())
            });
            sender.write_everything(&bytes_at(1000, 99_000)).unwrap();
            sender.finish().unwrap();
            let (right, finished) = reading.join().unwrap();
            assert!(right.unwrap(), "{join:?}");
            finished.unwrap();
        }
    });
}

#[test]
fn an_end_that_is_gone_is_told_by_the_next_flush() {
    watched(|| {
        for join in joins() {
            let (mut sender, receiver) = join.ends(Length::Open, small());
            drop(receiver);
            let told = loop {
                sender.write_everything(&[1]).unwrap();
                if let Err(error) = sender.hand_over() {
                    break error;
                }
                thread::yield_now();
            };
            assert!(matches!(told, Error::Aborted { .. } | Error::PeerLost { .. }), "{join:?}: {told}");
        }
    });
}

#[test]
fn a_block_that_a_panic_drops_is_never_taken_for_written() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(Length::Open, small());
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let mut block = sender.next_block().unwrap().unwrap();
                block[0] = 1;
                panic!("in the middle of a block");
            }));
            assert!(panicked.is_err());
            assert!(sender.finish().is_err(), "{join:?}");
            let error = receiver.next_block().map(|block| block.map(|block| block.len())).unwrap_err();
            assert!(matches!(error, Error::Aborted { .. }), "{join:?}: {error}");
        }
    });
}

#[test]
fn a_receiver_that_finishes_takes_an_end_that_was_flushed() {
    watched(|| {
        for join in joins() {
            let (mut sender, receiver) = join.ends(Length::Known(70_000), small());
            sender.write_everything(&bytes_at(0, 70_000)).unwrap();
            sender.flush().unwrap();
            let finishing = thread::spawn(|| receiver.finish());
            thread::sleep(std::time::Duration::from_millis(50));
            sender.finish().unwrap_or_else(|error| panic!("{join:?}: {error}"));
            finishing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_block_that_could_not_be_waited_for_is_not_flushed() {
    static SENDER: Mutex<Option<Sender>> = Mutex::new(None);
    in_runtime(1, || {
        for join in [Join::Pair, Join::Shared, Join::Tcp, Join::ThreeConnections] {
            let (sender, mut receiver) = join.ends(Length::Open, small());
            *SENDER.lock().unwrap() = Some(sender);
            let shelf = Trustee::here().entrust_with(|()| SENDER.lock().unwrap().take().unwrap(), ());
            let ring = small().ring_bytes();
            shelf.apply(|sender| {
                sender.write_everything(&vec![7; small().ring_bytes()]).unwrap();
                // Into the next block, which has no room yet.
                sender.seek(SeekFrom::Current(100)).unwrap();
                let waits = AssertUnwindSafe(|| sender.write_everything(&[9]));
                assert!(catch_unwind(waits).is_err(), "it cannot wait");
                sender.hand_over().unwrap();
            });
            assert!(read_some(&mut receiver, ring).iter().all(|byte| *byte == 7));
            let waiting = |sender: &mut Sender| {
                let written = catch_unwind(AssertUnwindSafe(|| sender.write_everything(&[9])));
                written.is_ok_and(|written| written.and_then(|()| sender.hand_over()).is_ok())
            };
            // It gives up the blocks behind the comeback only when it moves on.
            receiver.seek(SeekFrom::Start(ring as u64)).unwrap();
            let reading = thread::spawn(move || read_some(&mut receiver, 101));
            integration_tests::wait_until(|| shelf.apply(waiting));
            assert_eq!(reading.join().unwrap(), [&[0; 100][..], &[9]].concat(), "{join:?}");
        }
    });
}
