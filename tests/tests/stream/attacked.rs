//! Uses of streams that nobody intends, but that the compiler allows.

use crate::raw::windows;
use crate::{Join, byte_at, bytes_at, joins, key, small};
use gossamer::Trustee;
use gossamer::stream::{self, Faults, Geometry, Key, Length, Options, Receiver, Route, Sender};
use integration_tests::{descriptors, in_child, in_runtime, isolated, threads, wait_until, watched};
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

#[test]
fn values_end_with_their_first_error() {
    watched(|| {
        let (mut sender, mut receiver) = Join::Pair.ends(20, small());
        sender.write_all(&[1; 20]).unwrap();
        let finishing = thread::spawn(|| sender.finish());
        assert_eq!(receiver.values::<u64>().take(1000).filter_map(Result::ok).count(), 2);
        assert_eq!(receiver.values::<u64>().take(1000).count(), 1);
        receiver.finish().unwrap();
        finishing.join().unwrap().unwrap();
    });
}

#[test]
fn a_look_at_what_is_near_the_position_comes_back() {
    watched(|| {
        for join in joins() {
            for (ahead, comeback) in [(1, 1), (1, 0), (4, 1), (3, 3)] {
                let geometry = Geometry::new().block(4096).ahead(ahead).comeback(comeback);
                let length = 100 * 4096;
                let (mut sender, mut receiver) = join.ends(length, geometry);
                let writing = thread::spawn(move || {
                    for block in 0..100 {
                        sender.write_everything(&[block; 4096]).unwrap();
                    }
                    sender.finish()
                });
                let mut byte = [0xff];
                let mut look = |receiver: &mut Receiver, block: u64| {
                    receiver
                        .read_at(block * 4096 + 17, &mut byte)
                        .map(|()| assert_eq!(u64::from(byte[0]), block, "{join:?} {geometry}"))
                };
                // After whole blocks that were read.
                for block in 0..5 {
                    assert_eq!(receiver.next_block().unwrap().unwrap()[0], block);
                    look(&mut receiver, u64::from(block) + 1).unwrap();
                }
                // After a seek: before the place it leads to, and there.
                receiver.seek(SeekFrom::Start(50 * 4096)).unwrap();
                for block in [20, 30, 49, 50] {
                    look(&mut receiver, block)
                        .unwrap_or_else(|error| panic!("{join:?} {geometry} {block}: {error}"));
                }
                assert!(look(&mut receiver, 99).is_err());
                let mut rest = Vec::new();
                receiver.read_to_end(&mut rest).unwrap();
                assert_eq!((rest.len(), rest[0]), (50 * 4096, 50));
                writing.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn extreme_places_are_errors_or_fine_but_no_panics() {
    watched(|| {
        for length in [Length::Open, Length::Known(0), Length::Known(1 << 45)] {
            for to in [u64::MAX, u64::MAX - 1, u64::MAX - 70_000, 1 << 63, (1 << 45) - 1, 1 << 45, 0] {
                let geometry = Geometry::new().block(4096).ahead(2).comeback(1);
                let (mut sender, mut receiver) = stream::pair(length, geometry).unwrap();
                let _ = receiver.seek(SeekFrom::Start(u64::MAX));
                for by in [i64::MIN, i64::MAX, -1] {
                    let _ = receiver.seek(SeekFrom::Current(by));
                    let _ = receiver.seek(SeekFrom::End(by));
                    let _ = sender.seek(SeekFrom::End(by));
                    let _ = sender.seek(SeekFrom::Current(by));
                }
                let _ = sender.seek(SeekFrom::Start(to));
                let _ = sender.write_at(u64::MAX, &[1]);
                let _ = sender.write_at(u64::MAX, &[]);
                let _ = receiver.read_at(u64::MAX, &mut []);
                let _ = receiver.read_at(u64::MAX, &mut [0; 2]);
                let reading = thread::spawn(move || {
                    let _ = receiver.seek(SeekFrom::Start(to));
                    let mut all = Vec::new();
                    let outcome = receiver.read_to_end(&mut all);
                    (outcome.map_err(|error| error.to_string()), all)
                });
                let wrote = sender.write_all(&[7; 10]).map_err(|error| error.to_string());
                let finished = sender.finish().map_err(|error| error.to_string());
                let read = reading.join().unwrap();
                if finished.is_ok() && wrote.is_ok() && (length == Length::Open || to == 0) {
                    assert_eq!(read, (Ok(10), vec![7; 10]), "{length:?} {to}");
                }
            }
        }
    });
}

#[test]
fn a_reader_that_consumes_more_than_there_is_gets_an_error_or_the_end() {
    watched(|| {
        for count in [usize::MAX, 1 << 60, 100_000] {
            let (mut sender, mut receiver) = Join::Pair.ends(50_000, small());
            sender.write_all(&[1; 50_000]).unwrap();
            let finishing = thread::spawn(|| sender.finish());
            assert!(!receiver.fill_buf().unwrap().is_empty());
            receiver.consume(count);
            receiver.consume(count);
            let _ = receiver.fill_buf().map(<[u8]>::len);
            drop(receiver);
            let _ = finishing.join().unwrap();
        }
    });
}

#[test]
fn guards_that_are_forgotten_leave_everything_as_it_was() {
    watched(|| {
        let (mut sender, mut receiver) = Join::Pair.ends(Length::Open, small());
        for byte in 1..4 {
            let mut block = sender.next_block().unwrap().unwrap();
            block[..100].fill(byte);
            std::mem::forget(block);
        }
        assert_eq!(sender.position(), 0);
        sender.write_all(&[9; 10]).unwrap();
        sender.seek(SeekFrom::Current(50)).unwrap();
        sender.write_all(&[9; 10]).unwrap();
        let finishing = thread::spawn(|| sender.finish());
        for _ in 0..3 {
            std::mem::forget(receiver.next_block().unwrap());
        }
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).unwrap();
        assert_eq!(all, [&[9; 10][..], &[0; 50], &[9; 10]].concat());
        finishing.join().unwrap().unwrap();
    });
}

#[test]
#[cfg_attr(feature = "sanitizer", ignore = "the sanitizer has faults for itself")]
fn a_window_forgives_nothing_after_a_body_that_has_panicked() {
    let ended = in_child(
        |_| (),
        || {
            let (sender, mut receiver) = windows(Join::Pair, 1 << 20, small());
            drop(sender);
            let panicked = catch_unwind(AssertUnwindSafe(|| receiver.try_with(|_| panic!("in the body"))));
            assert!(panicked.is_err());
            // SAFETY: from the front to the back.
            let read = unsafe { receiver.as_ptr().read_volatile() };
            eprintln!("read {read}");
        },
    );
    assert_eq!(ended.status.signal(), Some(libc::SIGBUS), "{}", ended.errors);
}

#[test]
#[cfg_attr(feature = "sanitizer", ignore = "the sanitizer has faults for itself")]
fn a_window_forgives_nothing_after_an_error() {
    let ended = in_child(
        |_| (),
        || {
            let (sender, mut receiver) = windows(Join::Pair, 1 << 20, small());
            drop(sender);
            // SAFETY: from the front to the back.
            assert!(receiver.try_with(|start| unsafe { start.read_volatile() }).is_err());
            assert!(receiver.try_with(|_| ()).is_err(), "it is not called again");
            // SAFETY: from the front to the back.
            let read = unsafe { receiver.as_ptr().wrapping_add(1 << 17).read_volatile() };
            eprintln!("read {read}");
        },
    );
    assert_eq!(ended.status.signal(), Some(libc::SIGBUS), "{}", ended.errors);
}

#[test]
fn a_call_that_may_not_wait_leaves_no_thread_behind() {
    isolated(|| {
        in_runtime(2, || {
            let make = |()| stream::pair(Length::Open, small()).unwrap();
            let shelf = Trustee::all()[1].entrust_with(make, ());
            let write = |ends: &mut (Sender, Receiver)| ends.0.write_everything(&vec![1; 10 << 20]).is_ok();
            assert!(shelf.try_apply(write).is_err(), "it cannot wait");
            let before = threads();
            for _ in 0..50 {
                assert!(shelf.try_apply(write).is_err(), "it cannot wait");
            }
            assert!(threads() <= before + 5, "{before} threads, and now {}", threads());
        });
    });
}

#[test]
fn an_accept_that_may_not_wait_takes_no_connection() {
    in_runtime(2, || {
        let make = |()| Receiver::bind("127.0.0.1:0", Options::from(small()).key(key())).unwrap();
        let shelf = gossamer::Trustee::here().entrust_with(make, ());
        let address = shelf.apply(|listener| listener.local_addr().unwrap());
        assert!(shelf.try_apply(|listener| listener.accept().is_ok()).is_err());
        let sending = thread::spawn(move || {
            let mut sender = Sender::connect(address, 3, Options::from(small()).key(key()))?;
            sender.write_everything(b"abc")?;
            sender.finish()
        });
        gossamer::sleep(Duration::from_millis(300));
        assert!(!sending.is_finished(), "nobody has accepted");
        drop(shelf);
        wait_until(|| sending.is_finished());
        assert!(sending.join().unwrap().is_err(), "the listener is gone");
    });
}

#[test]
fn streams_leave_nothing_behind() {
    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }
    let ended = in_child(
        |_| (),
        || {
            let round = |round: u32| {
                for join in joins() {
                    let (sender, receiver) = join.ends(200_000, small());
                    match round % 4 {
                        0 => drop((sender, receiver)),
                        1 => drop((receiver, sender)),
                        2 => {
                            let (sender, receiver) =
                                (sender.into_window().unwrap(), receiver.into_window().unwrap());
                            drop((sender, receiver));
                        }
                        _ => {
                            let writing = thread::spawn(move || {
                                let mut sender = sender;
                                sender.write_all(&[3; 200_000]).unwrap();
                                sender.finish()
                            });
                            receiver.finish().unwrap();
                            writing.join().unwrap().unwrap();
                        }
                    }
                }
            };
            (0..8).for_each(round);
            // Idle threads of streams stay for some seconds.
            thread::sleep(Duration::from_secs(4));
            let before = (descriptors(), threads(), mappings());
            (0..60).for_each(round);
            wait_until(|| descriptors() <= before.0 && threads() <= before.1 && mappings() <= before.2 + 40);
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
}

/// One thread waits for a block that comes only once another thread has read a block that is there.
fn two_threads_in_one_window(faults: Faults) {
    watched(move || {
        let geometry = Geometry::new().block(1 << 16).ahead(6).comeback(4);
        let options = Options::from(geometry).faults(faults);
        let (mut sender, receiver) = Join::Pair.ends(64 << 16, options);
        sender.write_all(&bytes_at(0, 6 << 16)).unwrap();
        // Blocks 0 and 1 are there.
        let receiver = receiver.into_window().unwrap();
        let start = receiver.as_ptr() as usize;
        let touch = move |offset: usize| {
            // SAFETY: within the comeback, and the window is alive.
            unsafe { (start as *const u8).wrapping_add(offset).read_volatile() }
        };
        let ahead = thread::spawn(move || touch(3 << 16));
        thread::sleep(Duration::from_millis(100));
        let near = thread::spawn(move || touch(5));
        // The sender waits until it has read this.
        assert_eq!(near.join().unwrap(), byte_at(5), "{faults:?}");
        let finishing = thread::spawn(move || {
            sender.write_all(&bytes_at(6 << 16, 58 << 16)).unwrap();
            sender.finish()
        });
        assert_eq!(ahead.join().unwrap(), byte_at(3 << 16));
        receiver.finish().unwrap();
        finishing.join().unwrap().unwrap();
    });
}

#[test]
fn a_thread_that_waits_for_a_block_does_not_keep_another_from_one_that_is_there() {
    two_threads_in_one_window(Faults::Signal);
}

#[test]
fn the_same_with_userfaultfd() {
    two_threads_in_one_window(Faults::Userfault);
}

#[test]
fn meetings_that_fail_leave_nothing_behind() {
    isolated(|| {
        let other_key = || Key::from_hex(&"5b".repeat(32)).unwrap();
        let round = || {
            let options = Options::from(small()).key(key());
            let listener = Receiver::bind("127.0.0.1:0", options.clone()).unwrap();
            let address = listener.local_addr().unwrap();
            let connecting = thread::spawn(move || {
                assert!(Sender::connect(address, 5, options.clone().key(other_key())).is_err());
                assert!(std::net::TcpStream::connect(address).unwrap().write_all(b"hello").is_ok());
                drop(Sender::connect(address, 5, options.clone().geometry(Geometry::new())));
                drop(Receiver::connect(address, options.clone()));
                drop(Sender::connect(address, 5, options.clone().route(Route::Tcp).congestion("none such")));
                drop(Sender::connect(address, 5, options.clone().route(Route::Tcp).connections(3)));
                drop(Sender::connect(address, 5, options));
            });
            let outcomes: Vec<bool> = (0..5).map(|_| listener.accept().is_ok()).collect();
            assert!(outcomes.ends_with(&[true, true]) && !outcomes[0] && !outcomes[1], "{outcomes:?}");
            connecting.join().unwrap();
        };
        round();
        thread::sleep(Duration::from_millis(500));
        let before = (descriptors(), threads());
        (0..10).for_each(|_| round());
        wait_until(|| descriptors() <= before.0 && threads() <= before.1);
    });
}
