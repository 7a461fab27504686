//! Streams between workers of one application.

use gossamer::stream::{self, End, Error, Geometry, Length, Options, ReceiveEnd, Route, SendEnd};
use gossamer::{Config, Trustee, rack, spawn_on_with};
use integration_tests::watched;
use std::io::{Read, Write};

/// Blocks that are small, so that little makes many.
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

/// The sum of what comes, and whether all came in order.
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
        for share_memory in [true, false] {
            rack::run_in_process(2, Config::default().threads(2).share_memory(share_memory), || {
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
            let outcome = receive_end.open().unwrap().read_to_end(&mut Vec::new());
            assert!(outcome.is_err(), "the other end hears that it was dropped");
        });
    });
}

#[test]
fn an_end_that_is_dropped_before_it_was_opened_aborts_the_stream() {
    watched(|| {
        rack::run_in_process(2, Config::default().threads(1), || {
            let [here, there] = [0, 1].map(|worker| Trustee::all()[worker]);
            let (send_end, receive_end) = stream::channel(here, there, 80_u64, geometry()).unwrap();
            drop(receive_end);
            let mut sender = send_end.open().unwrap();
            let outcome = sender.write_all(&numbers(10)).map(|()| sender.finish());
            assert!(
                matches!(outcome, Ok(Err(Error::Aborted { by: End::Receiver, .. })) | Err(_)),
                "{outcome:?}"
            );

            let (send_end, receive_end) = stream::channel(there, here, 80_u64, geometry()).unwrap();
            there.entrust(send_end).apply(|_dropped_with_its_property| ());
            let mut text = Vec::new();
            let outcome = receive_end.open().unwrap().read_to_end(&mut text);
            assert!(outcome.unwrap_err().to_string().contains("sender"), "it was dropped");
            drop(stream::channel(here, there, 80_u64, geometry()).unwrap());
        });
    });
}
