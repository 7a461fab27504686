//! Sockets of `gossamer::net`, over the loopback interface.

mod busy;
mod closing;
mod ending;
mod exchange;
mod limits;
mod misuse;
mod price;
mod threads;
mod udp;

use gossamer::net::{TcpListener, TcpStream};
use gossamer::{JoinHandle, Trustee};
use std::io::{Read, Write};
use std::net::SocketAddr;

/// A listener on a free port, and its address.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both ends of a connection; the first was connected, the second accepted.
fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let connected = TcpStream::connect(address).unwrap();
    (connected, listener.accept().unwrap().0)
}

/// A fiber that accepts `connections`, each echoed by a fiber of its own, on all workers in turn. Returns the bytes
/// echoed.
fn echo_server(listener: TcpListener, connections: usize) -> JoinHandle<usize> {
    gossamer::spawn_with(
        |(listener, connections)| {
            let streams = listener.incoming().take(connections).map(Result::unwrap);
            let fibers: Vec<_> = streams.map(|stream| gossamer::spawn_with(echo, stream)).collect();
            fibers.into_iter().map(JoinHandle::join).sum()
        },
        (listener, connections),
    )
}

/// Echoes until the peer closes; returns how many bytes.
fn echo(mut stream: TcpStream) -> usize {
    let (mut buffer, mut total) = ([0; 1000], 0);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        if length == 0 {
            return total;
        }
        stream.write_all(&buffer[..length]).unwrap();
        total += length;
    }
}

/// The worker that is not the first, of a runtime of two.
fn other() -> Trustee {
    Trustee::all()[1]
}
