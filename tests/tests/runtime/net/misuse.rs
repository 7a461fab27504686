//! A call that might wait, where waiting is not possible, says so, even if it would not have waited.

use super::{listener, pair};
use gossamer::entrust;
use gossamer::net::{TcpListener, TcpStream, UdpSocket};
use integration_tests::{in_runtime, wait_until};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Applies a closure to a property and returns the message of its panic.
macro_rules! refusal {
    ($property:expr, $closure:expr) => {
        $property.try_apply($closure).unwrap_err().to_string()
    };
}

#[track_caller]
fn assert_advice(text: &str, call: &str) {
    assert!(text.contains(&format!("blocking `{call}` inside a delegated closure")), "{text}");
    assert!(text.contains("`spawn_local`") && text.contains("`launch`"), "{text}");
}

#[test]
fn reading_and_writing_in_a_delegated_closure_panic_with_advice() {
    in_runtime(2, || {
        let (mut near, far) = pair();
        // Ready for reading and for writing, so neither would have to wait.
        near.write_all(b"there is something to read").unwrap();
        for trustee in gossamer::Trustee::all() {
            let stream = trustee.entrust(far.try_clone().unwrap());
            assert_advice(&refusal!(stream, |stream| drop(stream.read(&mut [0]))), "TcpStream::read");
            assert_advice(&refusal!(stream, |stream| drop(stream.peek(&mut [0]))), "TcpStream::peek");
            assert_advice(&refusal!(stream, |stream| drop(stream.write(b"!"))), "TcpStream::write");
            // Calls that never wait are allowed.
            assert_eq!(stream.apply(|stream| stream.peer_addr().unwrap()), near.local_addr().unwrap());
        }
    });
}

#[test]
fn binding_accepting_and_connecting_in_a_delegated_closure_panic_with_advice() {
    in_runtime(1, || {
        let (listener, address) = listener();
        let _queued = TcpStream::connect(address).unwrap();
        let listener = entrust(listener);
        assert_advice(&refusal!(listener, |listener| drop(listener.accept())), "TcpListener::accept");
        let connect = |listener: &mut TcpListener| drop(TcpStream::connect(listener.local_addr().unwrap()));
        assert_advice(&refusal!(listener, connect), "TcpStream::connect");
        assert_advice(&refusal!(listener, |_| drop(TcpListener::bind("127.0.0.1:0"))), "TcpListener::bind");
        let socket = entrust(UdpSocket::bind("127.0.0.1:0").unwrap());
        let send = |socket: &mut UdpSocket| drop(socket.send_to(b"!", "127.0.0.1:9"));
        assert_advice(&refusal!(socket, send), "UdpSocket::send_to");
        assert_advice(&refusal!(socket, |socket| drop(socket.recv(&mut [0]))), "UdpSocket::recv");
    });
}

#[test]
fn writing_in_a_callback_panics_and_the_worker_goes_on() {
    static LEFT: AtomicBool = AtomicBool::new(false);
    struct Leaves;
    impl Drop for Leaves {
        fn drop(&mut self) {
            LEFT.store(std::thread::panicking(), Ordering::Relaxed);
        }
    }
    in_runtime(2, || {
        let (mut near, mut far) = pair();
        let trust = super::other().entrust(0_u8);
        trust.apply_then(
            |_| (),
            move |()| {
                let _leaves = Leaves;
                near.write_all(b"!").unwrap();
            },
        );
        wait_until(|| LEFT.load(Ordering::Relaxed));
        // The callback dropped its end, and wrote nothing.
        assert_eq!(far.read(&mut [0]).unwrap(), 0);
    });
}
