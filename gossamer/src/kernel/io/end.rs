//! [`CopyEnd`]: the source or target of a copy.

use crate::fs::File;
use crate::net::{ReadHalf, TcpStream, UnixStream, WriteHalf};
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What [`copy`](crate::io::copy()) copies from and to: sockets, their halves, and files. No other type can implement it.
pub trait CopyEnd {
    #[doc(hidden)]
    fn place(&mut self) -> CopyPlace<'_>;
}

/// The kind of an end.
pub enum CopyPlace<'a> {
    /// A connection.
    Socket(StreamSocket<'a>),
    /// A file.
    File(&'a mut File),
}

/// A connection of either kind.
#[derive(Clone, Copy)]
pub enum StreamSocket<'a> {
    /// Between machines.
    Tcp(&'a TcpStream),
    /// Within this machine.
    Unix(&'a UnixStream),
}

/// Calls a method of either connection.
macro_rules! of_either {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            StreamSocket::Tcp($stream) => $call,
            StreamSocket::Unix($stream) => $call,
        }
    };
}

impl StreamSocket<'_> {
    pub(super) fn read_by<R>(
        self,
        name: &'static str,
        attempt: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        of_either!(self, stream => stream.read_by(name, attempt))
    }

    pub(super) fn write_by<R>(
        self,
        name: &'static str,
        attempt: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        of_either!(self, stream => stream.write_by(name, attempt))
    }

    pub(super) async fn read_by_async<R>(
        self,
        attempt: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        of_either!(self, stream => stream.read_by_async(attempt).await)
    }

    pub(super) async fn write_by_async<R>(
        self,
        attempt: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        of_either!(self, stream => stream.write_by_async(attempt).await)
    }

    pub(super) fn writable(self) -> io::Result<()> {
        of_either!(self, stream => stream.writable())
    }

    pub(super) fn shut_down(self, how: Shutdown) -> io::Result<()> {
        of_either!(self, stream => stream.shutdown(how))
    }

    /// A descriptor of it for another thread.
    pub(super) fn descriptor(self) -> io::Result<OwnedFd> {
        of_either!(self, stream => stream.as_fd().try_clone_to_owned())
    }
}

/// An end that is a connection, however it is held.
macro_rules! socket_end {
    ($kind:ident: $($end:ty),+) => {
        $(impl CopyEnd for $end {
            fn place(&mut self) -> CopyPlace<'_> {
                CopyPlace::Socket(StreamSocket::$kind((*self).as_ref()))
            }
        })+
    };
}

/// An end that is a connection itself, or a reference to one.
macro_rules! stream_end {
    ($($stream:ident: $kind:ident),+) => {
        $(
            impl CopyEnd for $stream {
                fn place(&mut self) -> CopyPlace<'_> {
                    CopyPlace::Socket(StreamSocket::$kind(self))
                }
            }

            impl CopyEnd for &$stream {
                fn place(&mut self) -> CopyPlace<'_> {
                    CopyPlace::Socket(StreamSocket::$kind(self))
                }
            }

            socket_end! { $kind: ReadHalf<$stream>, WriteHalf<$stream> }
        )+
    };
}

stream_end! { TcpStream: Tcp, UnixStream: Unix }

impl CopyEnd for File {
    fn place(&mut self) -> CopyPlace<'_> {
        CopyPlace::File(self)
    }
}
