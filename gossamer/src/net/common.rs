//! What all sockets have in common: addresses, descriptors, time limits, and conversions from and to the standard
//! library.

use crate::net::fiber_socket::{Call, FiberSocket, is_ready};
use crate::net::limit::Limit;
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// A non-blocking socket with time limits for reads and writes.
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

    /// Like `FiberSocket::wait`, for a call that reads.
    ///
    /// # Errors
    /// Like `FiberSocket::wait`.
    #[track_caller]
    pub(crate) fn read<R>(
        &self,
        name: &'static str,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        let limit = self.read_limit.get();
        self.source.wait(Call::new(name, Direction::Read, limit), attempt)
    }

    /// Like `FiberSocket::wait_for_bytes`.
    ///
    /// # Errors
    /// Like `FiberSocket::wait`.
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

    /// Like `FiberSocket::wait`, for a call that writes.
    ///
    /// # Errors
    /// Like `FiberSocket::wait`.
    #[track_caller]
    pub(crate) fn write<R>(
        &self,
        name: &'static str,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.write_within(name, self.write_limit.get(), attempt)
    }

    /// Like `write`, with a limit of its own.
    ///
    /// # Errors
    /// Like `FiberSocket::wait`.
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
    /// Like `FiberSocket::wait`.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self, name: &'static str, direction: Direction) -> io::Result<()> {
        let limit = self.limit(direction).get();
        self.source.wait(Call::new(name, direction, limit), |io| is_ready(io, direction))
    }

    /// Like `wait_until_ready`, in any executor and without a limit.
    ///
    /// # Errors
    /// Like `FiberSocket::wait_async`.
    pub(crate) async fn ready_async(&self, direction: Direction) -> io::Result<()> {
        self.source.wait_async(direction, |io| is_ready(io, direction)).await
    }

    /// Like `FiberSocket::wait_async`, for a call that reads.
    ///
    /// # Errors
    /// Like `FiberSocket::wait_async`.
    pub(crate) async fn read_async<R>(&self, attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.source.wait_async(Direction::Read, attempt).await
    }

    /// Like `FiberSocket::wait_for_bytes_async`.
    ///
    /// # Errors
    /// Like `FiberSocket::wait_async`.
    pub(crate) async fn read_bytes_async(
        &self,
        capacity: usize,
        attempt: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.source.wait_for_bytes_async(capacity, attempt).await
    }

    /// Like `FiberSocket::wait_async`, for a call that writes.
    ///
    /// # Errors
    /// Like `FiberSocket::wait_async`.
    pub(crate) async fn write_async<R>(&self, attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.source.wait_async(Direction::Write, attempt).await
    }
}

/// The methods of every type whose only field is a socket, with this type of addresses.
macro_rules! every_socket {
    ($socket:ident, $address:ty) => {
        impl $socket {
            /// The address of this end.
            ///
            /// # Errors
            /// An error of the system call.
            pub fn local_addr(&self) -> std::io::Result<$address> {
                self.0.io().local_addr()
            }

            /// The error that is pending on the socket, if any; this clears it.
            ///
            /// # Errors
            /// An error of the system call.
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

/// The methods, beside `every_socket`, of a type whose only field is a `LimitedSocket` around one of the standard
/// library.
macro_rules! limited_socket {
    ($socket:ident, $address:ty, $std:ty) => {
        impl $socket {
            /// The address of the other end.
            ///
            /// # Errors
            /// An error of the system call, for example because the socket is not connected.
            pub fn peer_addr(&self) -> std::io::Result<$address> {
                self.0.io().peer_addr()
            }

            /// Another handle of the same socket. It starts with the time limits of this one.
            ///
            /// # Errors
            /// An error of the system call, for example because the process has too many open files.
            pub fn try_clone(&self) -> std::io::Result<Self> {
                Ok(Self(LimitedSocket::with_limits_of(self.0.io().try_clone()?, &self.0)))
            }

            /// Waits until a read or a receive would not block: because data has arrived, the other end has closed,
            /// or there is an error. So waiting for a peer that is mostly silent needs no buffer.
            ///
            /// Another fiber may be faster and take the data.
            ///
            /// # Errors
            /// `TimedOut` after the limit of [`set_read_timeout`](Self::set_read_timeout), or another error of the system.
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
            /// `TimedOut` after the limit of [`set_write_timeout`](Self::set_write_timeout), or another error of the system.
            ///
            /// # Panics
            /// In a delegated closure or a callback, which cannot wait.
            #[track_caller]
            pub fn writable(&self) -> std::io::Result<()> {
                let name = concat!(stringify!($socket), "::writable");
                self.0.wait_until_ready(name, crate::worker::fibers::readiness::Direction::Write)
            }

            /// Like [`readable`](Self::readable), as a future for any executor, without a time limit.
            ///
            /// # Errors
            /// An error of the system call.
            pub async fn readable_async(&self) -> std::io::Result<()> {
                self.0.ready_async(crate::worker::fibers::readiness::Direction::Read).await
            }

            /// Like [`writable`](Self::writable), as a future for any executor, without a time limit.
            ///
            /// # Errors
            /// An error of the system call.
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

            /// How long a write or a send by this handle waits before it fails with `TimedOut`; `None`, the default,
            /// means no limit. `write_all` is several writes.
            ///
            /// # Errors
            /// `InvalidInput` for a limit of zero.
            pub fn set_write_timeout(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                self.0.limit(crate::worker::fibers::readiness::Direction::Write).set(limit)
            }

            /// The limit set by [`set_read_timeout`](Self::set_read_timeout).
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn read_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Read).get())
            }

            /// The limit set by [`set_write_timeout`](Self::set_write_timeout).
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn write_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Write).get())
            }

            /// Takes over a socket of the standard library and makes it non-blocking, clones of it included. Its time
            /// limits are not kept.
            ///
            /// # Errors
            /// If it cannot be made non-blocking.
            pub fn from_std(socket: $std) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self(LimitedSocket::new(socket)))
            }

            /// Turns it into a socket of the standard library, in blocking mode.
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
