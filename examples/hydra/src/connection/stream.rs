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

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        both!(self, stream => stream.write_all(bytes))
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
