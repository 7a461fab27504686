//! [`LimitedSocket`]: what is within connections and sockets of datagrams.

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
