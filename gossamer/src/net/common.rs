//! What sockets have alike: addresses, descriptors, time limits, and their ways from and to the standard library.

use crate::net::fiber_socket::{Call, FiberSocket};
use crate::net::limit::Limit;
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// A non-blocking socket whose reads and writes may wait for so long.
pub(crate) struct LimitedSocket<S> {
    source: FiberSocket<S>,
    read_limit: Limit,
    write_limit: Limit,
}

impl<S: AsFd> LimitedSocket<S> {
    /// `io` is in non-blocking mode.
    pub(crate) fn new(io: S) -> Self {
        Self { source: FiberSocket::new(io), read_limit: Limit::default(), write_limit: Limit::default() }
    }

    /// Another handle of the same socket, which starts with the limits of this one.
    pub(crate) fn with_limits_of(io: S, other: &Self) -> Self {
        let (read_limit, write_limit) = (other.read_limit.clone(), other.write_limit.clone());
        Self { source: FiberSocket::new(io), read_limit, write_limit }
    }

    pub(crate) fn io(&self) -> &S {
        self.source.io()
    }

    pub(crate) fn into_io(self) -> S {
        self.source.into_io()
    }

    pub(crate) fn limit(&self, direction: Direction) -> &Limit {
        match direction {
            Direction::Read => &self.read_limit,
            Direction::Write => &self.write_limit,
        }
    }

    /// As `FiberSocket::wait`, for a call that reads.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    pub(crate) fn read<R>(
        &self,
        name: &'static str,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let limit = self.read_limit.get();
        self.source.wait(Call { name, direction: Direction::Read, limit }, attempt)
    }

    /// As `FiberSocket::wait`, for a call that writes.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    pub(crate) fn write<R>(
        &self,
        name: &'static str,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.write_within(name, self.write_limit.get(), attempt)
    }

    /// As `write`, with a limit of its own.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    pub(crate) fn write_within<R>(
        &self,
        name: &'static str,
        limit: Option<Duration>,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.source.wait(Call { name, direction: Direction::Write, limit }, attempt)
    }
}

/// What every socket has whose only field is a socket.
macro_rules! every_socket {
    ($socket:ident) => {
        impl $socket {
            /// The address of this end.
            ///
            /// # Errors
            /// The system's.
            pub fn local_addr(&self) -> std::io::Result<std::net::SocketAddr> {
                self.0.io().local_addr()
            }

            /// The error that is pending on the socket, if any; this clears it.
            ///
            /// # Errors
            /// The system's.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.0.io().take_error()
            }
        }

        impl std::fmt::Debug for $socket {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.io().fmt(f)
            }
        }

        impl std::os::fd::AsFd for $socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.0.io().as_fd()
            }
        }

        impl std::os::fd::AsRawFd for $socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.0.io().as_raw_fd()
            }
        }

        impl From<$socket> for std::os::fd::OwnedFd {
            fn from(socket: $socket) -> Self {
                socket.0.into_io().into()
            }
        }
    };
}

/// What a socket has whose only field is a `LimitedSocket`, beside `every_socket`.
macro_rules! limited_socket {
    ($socket:ident) => {
        impl $socket {
            /// The address of the other end.
            ///
            /// # Errors
            /// The system's, for example because the socket is not connected.
            pub fn peer_addr(&self) -> std::io::Result<std::net::SocketAddr> {
                self.0.io().peer_addr()
            }

            /// Another handle of the same socket. It starts with the time limits of this one.
            ///
            /// # Errors
            /// The system's, for example because the process has too many open files.
            pub fn try_clone(&self) -> std::io::Result<Self> {
                Ok(Self(LimitedSocket::with_limits_of(self.0.io().try_clone()?, &self.0)))
            }

            /// How long a read or a receive by this handle waits before it fails with `TimedOut`; `None`, the default, for
            /// as long as it takes.
            ///
            /// # Errors
            /// `InvalidInput` for a limit of zero.
            pub fn set_read_timeout(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                self.0.limit(crate::worker::fibers::readiness::Direction::Read).set(limit)
            }

            /// How long a write or a send by this handle waits before it fails with `TimedOut`; `None`, the default, for as
            /// long as it takes. `write_all` is several writes.
            ///
            /// # Errors
            /// `InvalidInput` for a limit of zero.
            pub fn set_write_timeout(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                self.0.limit(crate::worker::fibers::readiness::Direction::Write).set(limit)
            }

            /// Takes over a socket of the standard library and makes it non-blocking, clones of it included. Its time
            /// limits are not taken over.
            ///
            /// # Errors
            /// If it cannot be made non-blocking.
            pub fn from_std(socket: std::net::$socket) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self(LimitedSocket::new(socket)))
            }

            /// Gives the socket to the standard library, in blocking mode.
            ///
            /// # Errors
            /// If it cannot be made blocking.
            pub fn into_std(self) -> std::io::Result<std::net::$socket> {
                let socket = self.0.into_io();
                socket.set_nonblocking(false)?;
                Ok(socket)
            }
        }
    };
}

pub(crate) use {every_socket, limited_socket};
