//! How ends meet: they need one key, one geometry, and different roles.

use crate::{Join, key, small};
use gossamer::stream::{End, Error, Geometry, Key, Options, Receiver, Route, Sender};
use integration_tests::watched;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

fn options() -> Options {
    Options::from(small()).key(key())
}

fn other_key() -> Key {
    Key::from_hex(&"17".repeat(32)).unwrap()
}

/// A listening sender of ten bytes, and its address; the thread returns what `accept` returned.
fn sender(options: Options) -> (thread::JoinHandle<Result<Sender, Error>>, SocketAddr) {
    let listener = Sender::bind("127.0.0.1:0", 10, options).unwrap();
    let address = listener.local_addr().unwrap();
    (thread::spawn(move || listener.accept()), address)
}

#[test]
fn an_end_without_the_key_is_turned_away_and_the_next_one_is_served() {
    watched(|| {
        let (accepting, address) = sender(options());
        let error = Receiver::connect(address, options().key(other_key())).unwrap_err();
        assert!(error.to_string().contains("does not know the token"), "{error}");
        TcpStream::connect(address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut receiver = Receiver::connect(address, options()).unwrap();
        let mut sender = accepting.join().unwrap().unwrap();
        sender.write_all(b"0123456789").unwrap();
        let finishing = thread::spawn(|| sender.finish());
        let mut text = String::new();
        receiver.read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
        finishing.join().unwrap().unwrap();
    });
}

#[test]
fn a_listener_that_serves_one_end_after_another_keeps_those_that_wait() {
    watched(|| {
        let listener = Receiver::bind("127.0.0.1:0", options()).unwrap();
        let address = listener.local_addr().unwrap();
        let send = move |number: u8| {
            let mut sender = Sender::connect(address, 10, options()).unwrap();
            sender.write_all(&[number; 10]).unwrap();
            sender.finish().unwrap();
        };
        let impatient = Sender::connect(address, 10, options().patience(Duration::from_millis(50)));
        assert!(impatient.is_err(), "nobody accepts it");
        let sending: Vec<_> = (0..3).map(|number| thread::spawn(move || send(number))).collect();
        // Longer than a proof of the key may take.
        thread::sleep(Duration::from_secs(6));
        let mut served = [false; 3];
        for _ in 0..3 {
            let mut bytes = Vec::new();
            listener.accept().unwrap().read_to_end(&mut bytes).unwrap();
            assert!(bytes == [bytes[0]; 10] && !std::mem::replace(&mut served[usize::from(bytes[0])], true));
        }
        sending.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn a_socket_that_listens_already_serves_either_end() {
    watched(|| {
        let socket = || TcpListener::bind("127.0.0.1:0").unwrap();
        let sending = Sender::listen_on(socket(), 10, options()).unwrap();
        let receiving = Receiver::listen_on(socket(), options().route(Route::Tcp)).unwrap();
        let (there, here) = (sending.local_addr().unwrap(), receiving.local_addr().unwrap());
        let passing_on = thread::spawn(move || {
            let mut bytes = Vec::new();
            Receiver::connect(there, options()).unwrap().read_to_end(&mut bytes).unwrap();
            let mut sender = Sender::connect(here, 10, options().route(Route::Tcp)).unwrap();
            sender.write_all(&bytes).unwrap();
            sender.finish().unwrap();
        });
        let mut sender = sending.accept().unwrap();
        sender.write_all(b"0123456789").unwrap();
        sender.finish().unwrap();
        let mut text = String::new();
        receiving.accept().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
        passing_on.join().unwrap();
    });
}

#[test]
fn without_a_key_there_is_no_stream() {
    watched(|| {
        let error = Sender::bind("127.0.0.1:0", 10, small()).unwrap_err();
        assert!(error.to_string().contains("GOSSAMER_STREAM_KEY"), "{error}");
        assert!(Key::from_hex("abc").unwrap_err().to_string().contains("64 hexadecimal digits"));
    });
}

#[test]
fn ends_of_different_geometries_both_say_so() {
    watched(|| {
        let (accepting, address) = sender(options());
        let theirs = Geometry::new().block(1 << 20);
        let error = Receiver::connect(address, options().geometry(theirs)).unwrap_err();
        assert_eq!(error, Error::Geometry { ours: theirs, theirs: small() });
        assert!(error.to_string().contains("1048576") && error.to_string().contains("65536"), "{error}");
        assert_eq!(accepting.join().unwrap().unwrap_err(), Error::Geometry { ours: small(), theirs });
    });
}

#[test]
fn two_senders_are_no_stream() {
    watched(|| {
        let (accepting, address) = sender(options());
        assert_eq!(Sender::connect(address, 10, options()).unwrap_err(), Error::Role(End::Sender));
        assert_eq!(accepting.join().unwrap().unwrap_err(), Error::Role(End::Sender));
    });
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    watched(|| {
        for (geometry, says) in [
            (Geometry::new().block(5000), "power of two"),
            (Geometry::new().block(1 << 31), "power of two"),
            (Geometry::new().ahead(0), "at least one block is ahead"),
            (Geometry::new().ahead(1).comeback(2), "as many as come back"),
            (Geometry::new().ahead(300), "at most 256 blocks"),
        ] {
            let error = gossamer::stream::pair(1, geometry).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(gossamer::stream::pair(1 << 50, small()).unwrap_err().to_string().contains("too long"));
        let nobody = Receiver::connect("127.0.0.1:1", options()).unwrap_err();
        assert!(nobody.to_string().contains("connecting to 127.0.0.1:1"), "{nobody}");
    });
}

#[test]
fn a_connection_has_the_congestion_control_that_was_asked_for() {
    watched(|| {
        let (mut sender, mut receiver) = Join::Tcp.ends(5, options().congestion("reno"));
        sender.write_all(b"hello").unwrap();
        let finishing = thread::spawn(|| sender.finish());
        receiver.read_exact(&mut [0; 5]).unwrap();
        receiver.finish().unwrap();
        finishing.join().unwrap().unwrap();
        let wrong = options().route(Route::Tcp).congestion("none-such");
        let (accepting, address) = self::sender(wrong);
        let _receiver = Receiver::connect(address, options());
        let error = accepting.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("none-such"), "{error}");
    });
}

#[test]
fn a_listener_to_which_nobody_comes_gives_up_after_its_patience() {
    watched(|| {
        let (accepting, _) = sender(options().patience(Duration::from_millis(20)));
        assert!(matches!(accepting.join().unwrap(), Err(Error::Timeout { at: 0 })));
    });
}
