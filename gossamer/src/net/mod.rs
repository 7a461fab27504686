//! Sockets whose calls block only the calling fiber: [`TcpListener`], [`TcpStream`], [`UdpSocket`], [`UnixListener`],
//! [`UnixStream`] and [`UnixDatagram`], with the methods of their namesakes in `std`.
//!
//! - In a fiber, a call that would block suspends the fiber; the worker goes on with its other fibers and its
//!   trustee, and wakes the fiber when the socket is ready. When `main` returns, waiting fibers are cancelled.
//! - On a thread that is not a worker a call blocks the thread. No runtime is needed for that.
//! - In a delegated closure or a callback, which cannot wait, every call that might block panics, even if it would
//!   not have blocked this time.
//! - In a destructor that runs while its fiber unwinds from a panic, a call that would block returns an error of kind
//!   [`WouldBlock`](std::io::ErrorKind::WouldBlock) instead.
//!
//! - In an async task, under any executor, use the calls that end in `_async`, whose futures can be dropped without
//!   loss, as in a `select!` or after a time limit: bytes that were not read or written yet stay. A waiting future is
//!   woken by the worker on which it was polled, or else by a thread of the process; it stays with the executor that
//!   polled it first.
//!
//! A fiber that waits for a socket takes at most 8 KiB of memory, besides its own buffers: stack that its last
//! request used beyond that goes back to the system after some seconds. `readable` and `writable`, and their futures,
//! wait without a buffer, for connections that are idle most of their time.
//!
//! A socket may be used from any number of fibers and threads at once, and may be given to a fiber of any worker of
//! the process. It is watched by the poller of the worker on which it first has to wait.
//!
//! ```
//! use gossamer::net::{TcpListener, TcpStream};
//! use std::io::{Read, Write};
//!
//! # gossamer::run(gossamer::Config::default().threads(2), || -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let server = gossamer::spawn_with(
//!     |listener| {
//!         let (mut stream, _peer) = listener.accept().expect("a connection");
//!         let mut name = String::new();
//!         stream.read_to_string(&mut name).expect("a name");
//!         write!(stream, "hello {name}").expect("a peer that reads");
//!     },
//!     listener,
//! );
//! let mut stream = TcpStream::connect(address)?;
//! stream.write_all(b"world")?;
//! stream.shutdown(std::net::Shutdown::Write)?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello world");
//! server.join();
//! # Ok(())
//! # }).unwrap();
//! ```
#![deny(unsafe_code)]

mod acceptors;
mod address;
mod available;
mod builder;
pub(crate) mod closing;
mod common;
pub(crate) mod fiber_socket;
mod keepalive;
mod limit;
mod limited_socket;
mod listener;
mod outside_poller;
mod registrations;
mod split;
mod stream;
mod stream_calls;
mod stream_options;
#[cfg(feature = "tls")]
pub mod tls;
mod travel;
mod udp;
mod unix_credentials;
mod unix_datagram;
mod unix_datagram_calls;
mod unix_listener;
mod unix_stream;
mod unwinding;

pub use acceptors::{Acceptors, serve, serve_on};
pub use address::ToSocketAddrs;
pub use builder::TcpListenerBuilder;
pub use keepalive::TcpKeepalive;
pub use listener::{Incoming, TcpListener};
pub use split::{ReadHalf, ReuniteError, WriteHalf};
pub use stream::TcpStream;
pub use udp::UdpSocket;
pub use unix_credentials::UCred;
pub use unix_datagram::UnixDatagram;
pub use unix_listener::{UnixIncoming, UnixListener};
pub use unix_stream::UnixStream;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::worker::fibers::wake::block_on;
    use gossamer::{Config, run, spawn_with};

    #[test]
    fn a_fiber_waits_for_the_futures_of_sockets() {
        run(Config::default().threads(2).pin(false), || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let client = |address| {
                let stream = block_on(TcpStream::connect_async(address), "a test").unwrap();
                assert_eq!(block_on(stream.write_async(b"12"), "a test").unwrap(), 2);
                block_on(stream.readable_async(), "a test").unwrap();
            };
            let clients: Vec<_> = (0..10).map(|_| spawn_with(client, address)).collect();
            let streams: Vec<_> =
                (0..10).map(|_| block_on(listener.accept_async(), "a test").unwrap().0).collect();
            for stream in streams {
                assert_eq!(block_on(stream.read_async(&mut [0; 3]), "a test").unwrap(), 2);
            }
            clients.into_iter().for_each(|client| client.join());
        });
    }
}
