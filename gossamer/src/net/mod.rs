//! Sockets whose calls block the calling fiber only: [`TcpListener`], [`TcpStream`] and [`UdpSocket`], with the methods
//! of their namesakes in `std::net`.
//!
//! - In a fiber, a call that would block suspends the fiber; the worker goes on with its other fibers and its
//!   trustee, and wakes the fiber when the socket is ready. When `main` returns, fibers that wait are cancelled.
//! - On a thread that is no worker a call blocks the thread. No runtime is needed for that.
//! - In a delegated closure or a callback, which cannot wait, every call that might block panics, also when it would
//!   not have blocked this time.
//! - In a destructor that runs while its fiber unwinds from a panic, a call that would block returns an error of kind
//!   [`WouldBlock`](std::io::ErrorKind::WouldBlock) instead.
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

mod address;
mod common;
mod fiber_socket;
mod limit;
mod listener;
mod stream;
mod travel;
mod udp;

pub use address::ToSocketAddrs;
pub use listener::{Incoming, TcpListener};
pub use stream::TcpStream;
pub use udp::UdpSocket;
