//! Whatever goes wrong is an error at both ends.

use crate::raw::{read, windows, write};
use crate::{Join, joins, small, ways};
use gossamer::stream::{End, Error, Length, Options};
use integration_tests::{in_child, watched};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

#[test]
fn a_sender_that_is_dropped_aborts_the_stream() {
    watched(|| {
        for join in joins() {
            for bytes in [0, 1, 200_000, 1_000_000] {
                let (mut sender, mut receiver) = join.ends(1_000_000, small());
                let writing = thread::spawn(move || sender.write_all(&vec![7; bytes]));
                let error = receiver.read_to_end(&mut Vec::new()).unwrap_err();
                let error = error.downcast::<Error>().unwrap();
                assert!(matches!(error, Error::Aborted { by: End::Sender, .. }), "{join:?}: {error}");
                assert!(error.to_string().contains("dropped without `finish`"));
                writing.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn a_receiver_that_is_dropped_aborts_the_stream() {
    watched(|| {
        for join in joins() {
            for blocks in [0, 1, 3] {
                let (mut sender, mut receiver) = join.ends(10_000_000, small());
                let reading = thread::spawn(move || {
                    (0..blocks).for_each(|_| drop(receiver.next_block().unwrap()));
                });
                let error = sender.write_everything(&vec![7; 10_000_000]).unwrap_err();
                assert!(matches!(error, Error::Aborted { by: End::Receiver, .. }), "{join:?}: {error}");
                assert!(sender.finish().is_err());
                reading.join().unwrap();
            }
        }
    });
}

#[test]
fn an_error_tells_how_many_bytes_were_handed_over() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(104, small());
            let reading = thread::spawn(move || {
                receiver.read_exact(&mut [0; 104]).unwrap();
            });
            sender.write_all(&[7; 100]).unwrap();
            sender.flush().unwrap();
            sender.write_all(&[7; 4]).unwrap();
            sender.flush().unwrap();
            reading.join().unwrap();
            let error = sender.finish().unwrap_err();
            assert_eq!(error, Error::Aborted { by: End::Receiver, at: 104 }, "{join:?}");
        }
    });
}

#[test]
fn a_closure_that_touches_a_window_gets_an_error_instead_of_a_signal() {
    watched(|| {
        for join in joins() {
            for faults in ways() {
                let options = Options::from(small()).faults(faults);
                let (mut sender, mut receiver) = windows(join, 8 << 20, options.clone());
                let writing = thread::spawn(move || {
                    // SAFETY: from the front to the back.
                    unsafe { write(sender.as_mut_ptr().cast(), 100_000) };
                });
                // SAFETY: in `try_with`.
                let sum = receiver.try_with(|start| unsafe { read(start.cast(), 1 << 20) });
                assert!(matches!(sum, Err(Error::Aborted { by: End::Sender, .. })), "{join:?} {sum:?}");
                assert!(receiver.check().is_err() && receiver.finish().is_err());
                writing.join().unwrap();

                let (mut sender, receiver) = windows(join, 64 << 20, options);
                drop(receiver);
                // SAFETY: in `try_with`.
                let written = sender.try_with(|start| unsafe { write(start.cast(), 8 << 20) });
                assert!(
                    matches!(written, Err(Error::Aborted { by: End::Receiver, .. })),
                    "{join:?} {written:?}"
                );
                assert!(sender.finish().is_err());
            }
        }
    });
}

fn sender_blocks(window: &mut [u8]) {
    // Not at once: `memset` begins at the end.
    window.chunks_mut(1 << 16).for_each(|block| block.fill(3));
}

#[test]
fn behind_the_comeback_and_behind_the_end_nothing_can_be_had() {
    watched(|| {
        for faults in ways() {
            let (mut sender, mut receiver) =
                windows(Join::Pair, 8 << 16, Options::from(small()).faults(faults));
            // SAFETY: in `try_with`.
            let over = sender.try_with(|start| unsafe { start.wrapping_add((8 << 16) + 5).write(1) });
            assert_eq!(over, Err(Error::Overrun { offset: (8 << 16) + 5, end: 8 << 16 }));
            drop(sender);
            assert!(receiver.try_with(|_| ()).is_ok());

            let (mut sender, mut receiver) =
                windows(Join::Pair, 8 << 16, Options::from(small()).faults(faults));
            let writing = thread::spawn(move || {
                // SAFETY: from the front to the back.
                sender_blocks(unsafe { sender.as_mut_slice() });
                sender.finish()
            });
            // SAFETY: from the front to the back.
            assert!(unsafe { receiver.as_slice() }.iter().all(|byte| *byte == 3));
            // SAFETY: in `try_with`.
            let behind = receiver.try_with(|start| unsafe { start.wrapping_add(9).read() });
            // Blocks that arrive together are mapped together, and those before them are taken away when the first is
            // touched.
            let Err(Error::BehindComeback { offset: 9, first }) = behind else { panic!("{behind:?}") };
            assert!(first > 9 && first <= 6 << 16, "{first}");
            drop(receiver);
            assert!(writing.join().unwrap().is_err());
        }
    });
}

#[test]
fn a_wait_that_lasts_too_long_is_an_error() {
    let is_told = |join: Join| {
        // The ends meet within it, too.
        let options = Options::from(small()).patience(Duration::from_secs(2));
        let (mut sender, mut receiver) = join.ends(10_000_000, options);
        let error = receiver.next_block().unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{join:?}: {error}");
        assert!(sender.write_all(&vec![0; 10_000_000]).is_err());
    };
    watched(move || {
        // All at once, since each takes that long.
        thread::scope(|scope| joins().into_iter().for_each(|join| _ = scope.spawn(move || is_told(join))));
    });
}

fn dies_of(signal: i32, says: &str, body: impl FnOnce() + Send + 'static) {
    let ended = in_child(|_| (), body);
    assert_eq!(ended.status.signal(), Some(signal), "{}", ended.errors);
    assert!(ended.errors.contains(says), "{}", ended.errors);
}

#[test]
fn raw_use_of_a_lost_stream_is_a_signal_with_a_message() {
    let says = "of the window of a receiver cannot be had: the sender was dropped without `finish`";
    dies_of(libc::SIGBUS, says, || {
        let (sender, receiver) = windows(Join::Pair, 1 << 20, small());
        let dropping = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(sender);
        });
        // SAFETY: from the front to the back.
        std::hint::black_box(unsafe { read(receiver.as_ptr().cast(), 1000) });
        dropping.join().unwrap();
    });
}

#[test]
fn writing_into_the_window_of_a_receiver_is_a_signal_with_a_message() {
    let says = "it is for reading";
    dies_of(libc::SIGSEGV, says, || {
        let (_sender, receiver) = windows(Join::Pair, 1 << 20, small());
        // SAFETY: it is not sound, which is what is tested.
        unsafe { receiver.as_ptr().cast_mut().write_volatile(1) };
    });
}

#[test]
fn a_fault_that_is_nobodys_kills_as_ever() {
    dies_of(libc::SIGSEGV, "", || {
        let (_sender, _receiver) = windows(Join::Pair, 1 << 20, small());
        // SAFETY: it is not sound, which is what is tested.
        unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
    });
}

#[test]
fn a_window_that_finishes_in_front_of_what_it_has_handed_over_is_told() {
    watched(|| {
        for join in joins() {
            for round in 0..30 {
                let (sender, receiver) = join.ends(Length::Open, small());
                let mut window = sender.into_window().unwrap();
                let finishing = thread::spawn(|| receiver.finish());
                for block in 0..5 {
                    // SAFETY: from the front to the back.
                    unsafe { window.as_mut_ptr().wrapping_add(block << 16).write(1) };
                }
                let error = window.finish_at(5 + ((round % 3) << 16)).unwrap_err();
                assert!(matches!(error, Error::BehindComeback { .. }), "{join:?}: {error}");
                assert!(finishing.join().unwrap().is_err(), "{join:?}");
            }
        }
    });
}
