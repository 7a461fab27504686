//! Streams between workers of one application.

use gossamer::stream::{self, End, Error, Geometry, Length, Options, ReceiveEnd, Route, SendEnd};
use gossamer::{Config, Trustee, rack, spawn_on_with};
use integration_tests::{fabrics, in_child, threads, wait_until, watched};
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Small blocks, so that little data makes many.
fn geometry() -> Geometry {
    Geometry::new().block(64 << 10).ahead(2)
}

fn numbers(count: u64) -> Vec<u8> {
    (0..count).flat_map(u64::to_ne_bytes).collect()
}

fn send(end: SendEnd, count: u64) {
    let mut sender = end.open().unwrap();
    sender.write_all(&numbers(count)).unwrap();
    sender.finish().unwrap();
}

/// The sum of what arrives, and whether everything arrived in order.
fn receive(end: ReceiveEnd) -> (u64, bool) {
    let mut receiver = end.open().unwrap();
    let (mut sum, mut next, mut in_order) = (0_u64, 0_u64, true);
    receiver
        .for_each_slice(|numbers: &[u64]| {
            for number in numbers {
                in_order &= *number == next;
                next += 1;
                sum = sum.wrapping_add(*number);
            }
        })
        .unwrap();
    receiver.finish().unwrap();
    (sum, in_order)
}

#[gossamer::delegate]
fn sums_between(from: usize, to: usize, length: Length, options: Options) {
    const COUNT: u64 = 100_000;
    let [from, to] = [from, to].map(|worker| Trustee::all()[worker]);
    let (send_end, receive_end) = stream::channel(from, to, length, options).unwrap();
    assert_eq!((send_end.trustee(), receive_end.trustee()), (from, to));
    let receiving = spawn_on_with(to, receive, receive_end);
    spawn_on_with(from, |(end, count)| send(end, count), (send_end, COUNT)).join();
    assert_eq!(receiving.join(), (COUNT * (COUNT - 1) / 2, true));
}

#[test]
fn a_channel_joins_workers_of_one_node_and_of_two_over_memory_and_over_tcp() {
    watched(|| {
        for fabric in fabrics() {
            rack::run_in_process(2, Config::default().threads(2).fabric(fabric), || {
                for (from, to) in [(0, 0), (0, 1), (0, 2), (3, 1)] {
                    sums_between(from, to, Length::Known(800_000), geometry().into());
                    sums_between(from, to, Length::Open, Options::from(geometry()).route(Route::Tcp));
                }
            });
        }
        gossamer::run(Config::default().threads(2), || {
            sums_between(0, 1, Length::Known(800_000), geometry().into());
        });
    });
}

#[gossamer::delegate]
#[test]
fn ends_are_stored_in_properties_and_sent_on() {
    watched(|| {
        rack::run_in_process(3, Config::default().threads(1), || {
            let [from, via, to] = [0, 1, 2].map(|worker| Trustee::all()[worker]);
            let (send_end, receive_end) = stream::channel(from, to, 80_u64, geometry()).unwrap();
            let shelf = via.entrust(Some((send_end, receive_end)));
            let (send_end, receive_end) = shelf.apply(Option::take).unwrap();
            let sending = spawn_on_with(from, |(end, count)| send(end, count), (send_end, 10_u64));
            assert_eq!(spawn_on_with(to, receive, receive_end).join(), (45, true));
            sending.join();
        });
    });
}

#[test]
fn an_end_that_is_opened_elsewhere_says_where_it_belongs() {
    watched(|| {
        rack::run_in_process(2, Config::default().threads(1), || {
            let [here, there] = [0, 1].map(|worker| Trustee::all()[worker]);
            let (send_end, receive_end) = stream::channel(there, here, 8_u64, geometry()).unwrap();
            let refused = send_end.open().map(drop).unwrap_err().to_string();
            assert!(refused.contains("made for worker 1") && refused.contains("open it there"), "{refused}");
            let error = receive_end.open().unwrap_err().to_string();
            let words = "the sender of this channel could not be opened at worker 1: it was dropped before";
            assert!(error.contains(words), "{error}");
        });
    });
}

#[gossamer::delegate]
#[test]
fn an_end_that_is_dropped_before_it_was_opened_aborts_the_stream() {
    watched(|| {
        rack::run_in_process(2, Config::default().threads(1), || {
            let [here, there] = [0, 1].map(|worker| Trustee::all()[worker]);
            let (send_end, receive_end) = stream::channel(here, there, 80_u64, geometry()).unwrap();
            drop(receive_end);
            let error = send_end.open().unwrap_err();
            assert!(matches!(error, Error::NotOpened { end: End::Receiver, .. }), "{error}");

            let (send_end, receive_end) = stream::channel(there, here, 80_u64, geometry()).unwrap();
            there.entrust(send_end).apply(|_dropped_with_its_property| ());
            let error = receive_end.open().unwrap_err();
            assert!(matches!(error, Error::NotOpened { end: End::Sender, .. }), "{error}");
            drop(stream::channel(here, there, 80_u64, geometry()).unwrap());
        });
    });
}

#[test]
fn an_end_of_a_channel_that_waits_in_vain_goes_with_its_runtime() {
    let ended = in_child(
        |_| (),
        || {
            let round = || {
                gossamer::run(Config::default().threads(1).pin(false), || {
                    let here = Trustee::here();
                    let (send, receive) = stream::channel(here, here, 8, geometry()).unwrap();
                    let waiting = gossamer::spawn_with(|end: stream::SendEnd| drop(end.open()), send);
                    gossamer::sleep(Duration::from_millis(20));
                    // Neither opened nor dropped while the runtime runs.
                    std::mem::forget((waiting, receive));
                });
            };
            round();
            thread::sleep(Duration::from_millis(500));
            let before = threads();
            (0..10).for_each(|_| round());
            // One of a round may still be ending when the next needs another; idle ones end by themselves.
            wait_until(|| threads() <= before + 1);
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
}

#[test]
fn two_ends_that_one_fiber_opens_are_reported_with_the_line_that_waits() {
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(Config::default().threads(1).pin(false), || {
                let here = Trustee::here();
                let options = Options::from(geometry()).patience(Duration::from_secs(11));
                let (send, receive) = stream::channel(here, here, 8, options).unwrap();
                let error = send.open().unwrap_err();
                assert!(matches!(error, Error::Timeout { .. }), "{error}");
                drop(receive);
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    let words = "the sender of a channel has waited 10 s for the receiver to be opened";
    assert!(ended.errors.contains(words), "{}", ended.errors);
    assert!(ended.errors.contains(file!()), "{}", ended.errors);
}

/// One end is cancelled while both are being opened, a little later each time; the other one hears of it.
#[test]
fn an_end_whose_fiber_is_cancelled_while_it_opens_keeps_nobody_waiting() {
    watched(|| {
        for nodes in [1, 2] {
            rack::run_in_process(nodes, Config::default().threads(2).pin(false), || {
                let [here, there] = [Trustee::here(), *Trustee::all().last().unwrap()];
                for round in 0..150_u64 {
                    let (send_end, receive_end) = stream::channel(there, here, 8, geometry()).unwrap();
                    let sending = spawn_on_with(
                        there,
                        const {
                            |end: SendEnd| {
                                end.open().map(|_| gossamer::sleep(Duration::from_secs(3600))).is_ok()
                            }
                        },
                        send_end,
                    );
                    let receiving = spawn_on_with(
                        here,
                        const { |end: ReceiveEnd| end.open().and_then(|receiver| receiver.finish()).is_err() },
                        receive_end,
                    );
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_micros(round * 11 % 1000) {
                        gossamer::yield_now();
                    }
                    sending.cancel();
                    assert!(receiving.join(), "round {round}");
                }
            });
        }
    });
}

struct Opens(Option<stream::SendEnd>);

impl Drop for Opens {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// Trusts that are never dropped, though they are no leaks.
static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

#[gossamer::delegate]
#[test]
fn ends_of_channels_are_dropped_anywhere() {
    watched(|| {
        let left = Arc::new(Mutex::new(Vec::new()));
        for nodes in [1, 2] {
            let keep = Arc::clone(&left);
            rack::run_in_process(nodes, Config::default().threads(2).pin(false), move || {
                let all = Trustee::all();
                let last = all[all.len() - 1];
                let make = || stream::channel(all[0], last, 8, geometry()).unwrap();
                // In a delegated closure, in its error, in a callback, and while a fiber unwinds.
                let shelf = last.entrust(Some(make()));
                shelf.apply(|ends| drop(ends.take()));
                let shelf = last.entrust(Some(make()));
                assert!(
                    shelf
                        .try_apply(|ends| {
                            let _ends = ends.take();
                            panic!("with both ends")
                        })
                        .map(|(): ()| ())
                        .is_err()
                );
                let shelf = last.entrust(Some(make()));
                shelf.apply_then(Option::take, drop);
                let (send, receive) = make();
                let unwound = catch_unwind(AssertUnwindSafe(|| {
                    let _send = Opens(Some(send));
                    panic!("with an end")
                }));
                assert!(unwound.is_err());
                assert!(receive.open().and_then(|mut receiver| receiver.next_block().map(drop)).is_err());
                // In a thread that is not a worker.
                let (send, receive) = make();
                let thread = thread::spawn(move || drop(send));
                gossamer::sleep(Duration::from_millis(50));
                thread.join().unwrap();
                drop(receive);
                // In properties at the end of the runtime, both together and separately.
                let (send, receive) = make();
                let apart = (all[0].entrust(Some(send)), last.entrust(Some(receive)));
                KEPT.lock().unwrap().push(Box::new((apart, last.entrust(Some(make())))));
                // After it.
                keep.lock().unwrap().push(make());
            });
        }
        let ended = std::mem::take(&mut *left.lock().unwrap());
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _ends = ended;
            panic!("with ends of channels of a runtime that has ended")
        }));
        assert!(unwound.is_err());
    });
}
