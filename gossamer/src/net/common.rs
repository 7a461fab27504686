//! What sockets have alike: addresses, descriptors, time limits, and their ways from and to the standard library.

use crate::net::fiber_socket::{Call, FiberSocket, is_ready};
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
    #[track_caller]
    pub(crate) fn read<R>(
        &self,
        name: &'static str,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let limit = self.read_limit.get();
        self.source.wait(Call::new(name, Direction::Read, limit), attempt)
    }

    /// As `FiberSocket::wait_for_bytes`.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    #[track_caller]
    pub(crate) fn read_bytes(
        &self,
        name: &'static str,
        capacity: usize,
        attempt: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let limit = self.read_limit.get();
        self.source.wait_for_bytes(Call::new(name, Direction::Read, limit), capacity, attempt)
    }

    /// As `FiberSocket::wait`, for a call that writes.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    #[track_caller]
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
    #[track_caller]
    pub(crate) fn write_within<R>(
        &self,
        name: &'static str,
        limit: Option<Duration>,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.source.wait(Call::new(name, Direction::Write, limit), attempt)
    }

    /// Waits until an operation in this direction would not block.
    ///
    /// # Errors
    /// As `FiberSocket::wait`.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self, name: &'static str, direction: Direction) -> io::Result<()> {
        let limit = self.limit(direction).get();
        self.source.wait(Call::new(name, direction, limit), |io| is_ready(io, direction))
    }

    /// As `wait_until_ready`, in any executor, and without a limit.
    ///
    /// # Errors
    /// As `FiberSocket::wait_async`.
    pub(crate) async fn ready_async(&self, direction: Direction) -> io::Result<()> {
        self.source.wait_async(direction, |io| is_ready(io, direction)).await
    }

    /// As `FiberSocket::wait_async`, for a call that reads.
    ///
    /// # Errors
    /// As `FiberSocket::wait_async`.
    pub(crate) async fn read_async<R>(&self, attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.source.wait_async(Direction::Read, attempt).await
    }

    /// As `FiberSocket::wait_for_bytes_async`.
    ///
    /// # Errors
    /// As `FiberSocket::wait_async`.
    pub(crate) async fn read_bytes_async(
        &self,
        capacity: usize,
        attempt: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.source.wait_for_bytes_async(capacity, attempt).await
    }

    /// As `FiberSocket::wait_async`, for a call that writes.
    ///
    /// # Errors
    /// As `FiberSocket::wait_async`.
    pub(crate) async fn write_async<R>(&self, attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.source.wait_async(Direction::Write, attempt).await
    }
}

/// What every socket has whose only field is a socket, with addresses of a type.
macro_rules! every_socket {
    ($socket:ident, $address:ty) => {
        impl $socket {
            /// The address of this end.
            ///
            /// # Errors
            /// The system's.
            pub fn local_addr(&self) -> std::io::Result<$address> {
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

/// What a socket has whose only field is a `LimitedSocket` around one of the standard library, beside `every_socket`.
macro_rules! limited_socket {
    ($socket:ident, $address:ty, $std:ty) => {
        impl $socket {
            /// The address of the other end.
            ///
            /// # Errors
            /// The system's, for example because the socket is not connected.
            pub fn peer_addr(&self) -> std::io::Result<$address> {
                self.0.io().peer_addr()
            }

            /// Another handle of the same socket. It starts with the time limits of this one.
            ///
            /// # Errors
            /// The system's, for example because the process has too many open files.
            pub fn try_clone(&self) -> std::io::Result<Self> {
                Ok(Self(LimitedSocket::with_limits_of(self.0.io().try_clone()?, &self.0)))
            }

            /// Waits until a read or a receive would not block: because something has come, the other end has closed, or there is
            /// an error. So who waits for a peer that is mostly silent needs no buffer meanwhile.
            ///
            /// Another fiber may be faster and take what has come.
            ///
            /// # Errors
            /// `TimedOut` after the limit of [`set_read_timeout`](Self::set_read_timeout), or the system's.
            ///
            /// # Panics
            /// In a delegated closure or a callback, which cannot wait.
            #[track_caller]
            pub fn readable(&self) -> std::io::Result<()> {
                let name = concat!(stringify!($socket), "::readable");
                self.0.wait_until_ready(name, crate::worker::fibers::readiness::Direction::Read)
            }

            /// Waits until a write or a send would not block, or would fail.
            ///
            /// # Errors
            /// `TimedOut` after the limit of [`set_write_timeout`](Self::set_write_timeout), or the system's.
            ///
            /// # Panics
            /// In a delegated closure or a callback, which cannot wait.
            #[track_caller]
            pub fn writable(&self) -> std::io::Result<()> {
                let name = concat!(stringify!($socket), "::writable");
                self.0.wait_until_ready(name, crate::worker::fibers::readiness::Direction::Write)
            }

            /// As [`readable`](Self::readable), as a future for any executor, without a time limit.
            ///
            /// # Errors
            /// The system's.
            pub async fn readable_async(&self) -> std::io::Result<()> {
                self.0.ready_async(crate::worker::fibers::readiness::Direction::Read).await
            }

            /// As [`writable`](Self::writable), as a future for any executor, without a time limit.
            ///
            /// # Errors
            /// The system's.
            pub async fn writable_async(&self) -> std::io::Result<()> {
                self.0.ready_async(crate::worker::fibers::readiness::Direction::Write).await
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

            /// What [`set_read_timeout`](Self::set_read_timeout) has set.
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn read_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Read).get())
            }

            /// What [`set_write_timeout`](Self::set_write_timeout) has set.
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn write_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Write).get())
            }

            /// Takes over a socket of the standard library and makes it non-blocking, clones of it included. Its time
            /// limits are not taken over.
            ///
            /// # Errors
            /// If it cannot be made non-blocking.
            pub fn from_std(socket: $std) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self(LimitedSocket::new(socket)))
            }

            /// Gives the socket to the standard library, in blocking mode.
            ///
            /// # Errors
            /// If it cannot be made blocking.
            pub fn into_std(self) -> std::io::Result<$std> {
                let socket = self.0.into_io();
                socket.set_nonblocking(false)?;
                Ok(socket)
            }
        }
    };
}

pub(crate) use {every_socket, limited_socket};
