//! Destructors of fibers that unwind: whatever would block their worker for ever is refused, or reported.

use crate::said::until_it_says;
use gossamer::stream::{self, Geometry, Receiver, Sender};
use gossamer::{Trustee, rack, spawn_on};
use integration_tests::{in_child, in_runtime, workers};
use std::cell::Cell;
use std::io::{BufWriter, Read, Write};
use std::time::Duration;

thread_local! {
    static RECEIVER: Cell<Option<Receiver>> = const { Cell::new(None) };
    static SENDER: Cell<Option<Sender>> = const { Cell::new(None) };
}

/// A stream whose ring is soon full, with its ends for the fibers of this worker.
fn small_stream() {
    let geometry = Geometry::new().block(4096).ahead(1).comeback(0);
    let (sender, receiver) = stream::pair(stream::Length::Open, geometry).unwrap();
    SENDER.set(Some(sender));
    RECEIVER.set(Some(receiver));
}

fn read_all() -> Result<usize, String> {
    let mut bytes = Vec::new();
    let outcome = RECEIVER.take().unwrap().read_to_end(&mut bytes);
    outcome.map_err(|error| error.to_string())
}

#[test]
fn a_buffered_sender_in_a_fiber_that_panics_aborts_its_stream() {
    in_runtime(1, || {
        small_stream();
        let reader = spawn_on(Trustee::here(), read_all);
        let writer = spawn_on(Trustee::here(), || -> () {
            let mut writer = BufWriter::with_capacity(1 << 20, SENDER.take().unwrap());
            writer.write_all(&[1; 100_000]).unwrap();
            panic!("expected in the output of this test");
        });
        assert!(writer.try_join().is_err());
        let error = reader.join().unwrap_err();
        assert!(error.contains("the sender was dropped without `finish`"), "{error}");
    });
}

#[test]
fn a_buffered_sender_in_a_fiber_that_is_cancelled_does_not_keep_the_runtime() {
    in_runtime(1, || {
        small_stream();
        let _cancelled = spawn_on(Trustee::here(), || -> () {
            let mut writer = BufWriter::with_capacity(1 << 20, SENDER.take().unwrap());
            loop {
                writer.write_all(&[1; 10_000]).unwrap();
                gossamer::sleep(Duration::from_millis(1));
            }
        });
        let _reads = spawn_on(Trustee::here(), read_all);
        gossamer::sleep(Duration::from_millis(20));
    });
}

/// Uses both ends of a stream when dropped.
struct Streams(Sender, Receiver);

impl Drop for Streams {
    fn drop(&mut self) {
        // Calls that need not wait succeed.
        self.0.write_all(&[7; 4096]).unwrap();
        self.0.flush().unwrap();
        let mut bytes = [0; 4096];
        self.1.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [7; 4096]);
        let error = self.1.read_exact(&mut bytes).unwrap_err();
        assert!(error.to_string().contains("fiber that unwinds cannot wait"), "{error}");
        let connects = Sender::connect(
            "127.0.0.1:1",
            1,
            stream::Options::default().key(stream::Key::from_hex(&"1".repeat(64)).unwrap()),
        );
        assert_eq!(connects.unwrap_err(), stream::Error::Unwinding);
    }
}

#[test]
fn a_destructor_may_use_a_stream_as_far_as_it_need_not_wait() {
    in_runtime(1, || {
        let fiber = spawn_on(Trustee::here(), || -> () {
            let geometry = Geometry::new().block(4096).ahead(2).comeback(0);
            let (sender, receiver) = stream::pair(stream::Length::Open, geometry).unwrap();
            let _streams = Streams(sender, receiver);
            panic!("expected in the output of this test");
        });
        let error = fiber.try_join().unwrap_err();
        assert!(error.to_string().contains("expected in the output"), "{error}");
    });
}

/// Calls when dropped.
struct Calls(fn());

impl Drop for Calls {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs a test again in a child, where a fiber of node 1 calls `call` while it unwinds, and node 0 needs another fiber
/// of that node.
#[gossamer::delegate]
fn refused(says: &str, call: fn()) {
    let ended = in_child(
        |_| (),
        move || {
            rack::run_in_process(2, workers(1), move || {
                // `fn` pointers do not travel; this one stays in this process.
                static CALL: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();
                CALL.get_or_init(|| call);
                let there = rack::workers()[1];
                let other = spawn_on(there, || -> () {
                    let _calls = Calls(CALL.get().copied().unwrap());
                    panic!("an error in node 1");
                });
                spawn_on(there, || ()).join();
                rack::barrier();
                assert!(other.try_join().is_err());
            });
        },
    );
    assert!(!ended.status.success(), "{}", ended.errors);
    assert!(ended.errors.contains("while its own fiber unwinds"), "{}", ended.errors);
    assert!(ended.errors.contains(says), "{}", ended.errors);
}

#[test]
fn a_destructor_does_not_come_to_a_collective() {
    refused("come to the collective before", rack::barrier);
}

#[test]
fn a_destructor_does_not_wait_until_all_work_is_done() {
    refused("wait before", rack::wait_all);
}

#[test]
#[gossamer::delegate]
fn a_destructor_does_not_wait_for_fibers_on_each_node() {
    refused("waits for them", || {
        drop(rack::on_each_node(|()| 1, ()));
    });
}

#[test]
fn a_destructor_that_keeps_its_worker_is_named_with_what_it_waits_in() {
    let texts = &[
        "worker 0 has run no other fiber for",
        "destructors.rs:",
        "one of its destructors waits in `yield_now`",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(1), || {
                let never = std::sync::atomic::AtomicBool::new(false);
                while !never.load(std::sync::atomic::Ordering::Relaxed) {
                    let fiber = spawn_on(Trustee::here(), || -> () {
                        let _calls = Calls(|| {
                            loop {
                                gossamer::yield_now();
                            }
                        });
                        panic!("expected");
                    });
                    fiber.join();
                }
            });
        },
    );
}
