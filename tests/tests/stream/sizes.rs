//! Streams of all sizes, and of a length that is known only at the end.

use crate::raw::iota_to_sum;
use crate::{bytes_at, joins, small, ways};
use gossamer::stream::{Error, Geometry, Length, Options};
use integration_tests::watched;
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::thread;

const BLOCK: u64 = 1 << 16;
const SIZES: [u64; 8] = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 6 * BLOCK - 1, 6 * BLOCK, 20 * BLOCK + 1];

#[test]
fn streams_of_all_sizes_arrive_whole() {
    watched(|| {
        for join in joins() {
            for length in SIZES {
                for length in [Length::Known(length), Length::Open] {
                    let (mut sender, mut receiver) = join.ends(length, small());
                    let bytes =
                        bytes_at(0, if let Length::Known(bytes) = length { bytes as usize } else { 7 });
                    let sent = bytes.clone();
                    let writing = thread::spawn(move || {
                        sender.write_all(&sent).unwrap();
                        sender.finish()
                    });
                    let mut received = Vec::new();
                    receiver.read_to_end(&mut received).unwrap();
                    assert!(received == bytes, "{join:?} {length}: {} bytes", received.len());
                    assert_eq!(receiver.length(), Some(bytes.len() as u64));
                    writing.join().unwrap().unwrap();
                }
            }
        }
    });
}

#[test]
fn what_a_receiver_leaves_lying_arrives_whole_and_so_does_what_follows() {
    watched(|| {
        // More than any end holds besides its blocks.
        const BLOCKS: usize = 6;
        let geometry = Geometry::new().block(4 << 20).ahead(BLOCKS).comeback(0);
        let (ahead, bytes) = (BLOCKS * (4 << 20), bytes_at(0, 60 << 20));
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(bytes.len() as u64, geometry);
            thread::scope(|scope| {
                let (all_lie_there, lie_there) = channel();
                let bytes = &bytes;
                scope.spawn(move || {
                    sender.write_all(&bytes[..ahead]).unwrap();
                    all_lie_there.send(()).unwrap();
                    sender.write_all(&bytes[ahead..]).unwrap();
                    sender.finish().unwrap();
                });
                lie_there.recv().unwrap();
                let mut received = Vec::new();
                receiver.read_to_end(&mut received).unwrap();
                assert!(received == *bytes, "{join:?}: {} bytes", received.len());
            });
        }
    });
}

#[test]
fn windows_of_all_sizes_arrive_whole() {
    watched(|| {
        for join in joins() {
            for faults in ways() {
                for length in SIZES {
                    iota_to_sum(join, length, Options::from(small()).faults(faults));
                }
            }
        }
    });
}

#[test]
fn a_window_of_open_length_ends_where_its_sender_says() {
    watched(|| {
        for join in joins() {
            for faults in ways() {
                let (sender, receiver) = join.ends(Length::Open, Options::from(small()).faults(faults));
                let (mut sender, mut receiver) =
                    (sender.into_window().unwrap(), receiver.into_window().unwrap());
                let writing = thread::spawn(move || {
                    // SAFETY: from the front to the back.
                    let window = unsafe { &mut sender.as_mut_slice()[..200_000] };
                    for (place, byte) in window.iter_mut().zip(bytes_at(0, 200_000)) {
                        *place = byte;
                    }
                    sender.finish_at(200_000)
                });
                assert_eq!(receiver.stream_len(), Ok(200_000));
                // SAFETY: from the front to the back.
                assert_eq!(unsafe { &receiver.as_slice()[..200_000] }, bytes_at(0, 200_000));
                let outcome = receiver.try_with(|start| {
                    // SAFETY: in `try_with`.
                    unsafe { start.wrapping_add(1 << 20).read() }
                });
                assert_eq!(outcome, Err(Error::Overrun { offset: 1 << 20, end: 200_000 }), "{join:?}");
                drop(receiver);
                assert!(writing.join().unwrap().is_err());
            }
        }
    });
}

#[test]
fn a_stream_of_known_length_has_that_length() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(100_000, small());
            sender.write_all(&[1; 1000]).unwrap();
            let error = sender.finish().unwrap_err();
            assert_eq!(error, Error::Length { declared: 100_000, written: 1000 });
            assert!(receiver.read_to_end(&mut Vec::new()).is_err());
            let (mut sender, _receiver) = join.ends(10, small());
            let error = sender.write_all(&[1; 11]).unwrap_err();
            assert!(error.to_string().contains("after the end"), "{error}");
        }
    });
}
