//! Connections of both kinds.

use gossamer::net::{TcpStream, UnixStream};
use std::io::{self, Write};
use std::net::Shutdown;

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The same call of both.
macro_rules! both {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
        }
    };
}

impl Stream {
    pub fn read_available(&self, to: &mut Vec<u8>) -> io::Result<usize> {
        both!(self, stream => stream.read_available(to))
    }

    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        both!(self, stream => { let mut stream = stream; stream.write_all(bytes) })
    }

    /// Completes when there is something to read, or the connection has ended.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable_async().await,
            Self::Unix(stream) => stream.readable_async().await,
        }
    }

    /// Ends the connection for the fibers that read or write.
    pub fn close(&self) -> io::Result<()> {
        both!(self, stream => stream.shutdown(Shutdown::Both))
    }

    pub fn shutdown(&self) -> io::Result<()> {
        both!(self, stream => stream.shutdown(Shutdown::Write))
    }

    /// The address of the client, as CLIENT INFO shows it.
    pub fn peer(&self) -> String {
        match self {
            Self::Tcp(stream) => stream.peer_addr().map_or_else(|_| String::new(), |peer| peer.to_string()),
            Self::Unix(_) => "unix".to_owned(),
        }
    }

    /// The address at which the client has connected.
    pub fn local(&self) -> String {
        match self {
            Self::Tcp(stream) => {
                stream.local_addr().map_or_else(|_| String::new(), |local| local.to_string())
            }
            Self::Unix(_) => "unix".to_owned(),
        }
    }
}
