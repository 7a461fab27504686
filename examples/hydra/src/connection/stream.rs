//! Connections of both kinds.

use gossamer::net::{TcpStream, UnixStream};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

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
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        both!(self, stream => stream.read(buffer))
    }

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        both!(self, stream => stream.write_all(bytes))
    }

    pub fn readable(&self) -> io::Result<()> {
        both!(self, stream => stream.readable())
    }

    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        both!(self, stream => stream.set_read_timeout(limit))
    }

    pub fn shutdown(&self) -> io::Result<()> {
        both!(self, stream => stream.shutdown(Shutdown::Write))
    }

    /// Where the client is, as CLIENT INFO has it.
    pub fn peer(&self) -> String {
        match self {
            Self::Tcp(stream) => stream.peer_addr().map_or_else(|_| String::new(), |peer| peer.to_string()),
            Self::Unix(_) => "unix".to_owned(),
        }
    }
}
