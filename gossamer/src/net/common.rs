//! The methods that all sockets have in common: addresses, descriptors, time limits, and conversions from and to the
//! standard library.

/// The methods of every type whose only field is a socket, with this type of addresses. For their examples: how
/// `socket` is made, and what its address is.
macro_rules! every_socket {
    ($socket:ident, $address:ty, made: $made:expr, local: $local:expr) => {
        impl $socket {
            /// The address of this end.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $made]
            #[doc = $local]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// An error of the system call.
            pub fn local_addr(&self) -> std::io::Result<$address> {
                self.0.io().local_addr()
            }

            /// The error that is pending on the socket, if any; this clears it.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $made]
            /// assert!(socket.take_error()?.is_none()); // no call will report one
            /// # Ok(())
            /// # }).unwrap();
            /// ```
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
/// library. For their examples: how `socket` and `peer` are made, which are connected, what the address of the peer is,
/// and which calls send and receive without waiting.
macro_rules! limited_socket {
    (
        $socket:ident, $address:ty, $std:ty,
        made: $pair:expr, remote: $remote:expr, calls: $send:ident, $receive:ident
    ) => {
        impl $socket {
            /// The address of the other end.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = $remote]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// An error of the system call, for example because the socket is not connected.
            pub fn peer_addr(&self) -> std::io::Result<$address> {
                self.0.io().peer_addr()
            }

            /// Another handle of the same socket. It starts with the time limits of this one.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// let limit = Some(std::time::Duration::from_secs(5));
            /// socket.set_read_timeout(limit)?;
            /// assert_eq!(socket.try_clone()?.read_timeout()?, limit);
            /// # Ok(())
            /// # }).unwrap();
            /// ```
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
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            #[doc = concat!("peer.", stringify!($send), "(b\"hello\")?;")]
            /// socket.readable()?; // needs no buffer yet
            #[doc = concat!("assert_eq!(socket.", stringify!($receive), "(&mut [0; 16])?, 5);")]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
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
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// socket.writable()?;
            #[doc = concat!("assert_eq!(socket.", stringify!($send), "(b\"hello\")?, 5); // need not wait")]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
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
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// let silent = gossamer::timeout(std::time::Duration::from_millis(1), socket.readable_async());
            /// assert!(silent.is_err()); // nothing has arrived
            #[doc = concat!("peer.", stringify!($send), "(b\"hello\")?;")]
            /// gossamer::block_on(socket.readable_async())?;
            #[doc = concat!("assert_eq!(socket.", stringify!($receive), "(&mut [0; 16])?, 5);")]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// An error of the system call.
            pub async fn readable_async(&self) -> std::io::Result<()> {
                self.0.ready_async(crate::worker::fibers::readiness::Direction::Read).await
            }

            /// Like [`writable`](Self::writable), as a future for any executor, without a time limit.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// gossamer::block_on(socket.writable_async())?;
            #[doc = concat!("assert_eq!(socket.", stringify!($send), "(b\"hello\")?, 5); // need not wait")]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// An error of the system call.
            pub async fn writable_async(&self) -> std::io::Result<()> {
                self.0.ready_async(crate::worker::fibers::readiness::Direction::Write).await
            }

            /// How long a read or a receive by this handle waits before it fails with `TimedOut`; `None`, the default, for
            /// as long as it takes.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// socket.set_read_timeout(Some(std::time::Duration::from_millis(1)))?;
            /// let error = socket.readable().unwrap_err();
            /// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// `InvalidInput` for a limit of zero.
            pub fn set_read_timeout(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                self.0.limit(crate::worker::fibers::readiness::Direction::Read).set(limit)
            }

            /// How long a write or a send by this handle waits before it fails with `TimedOut`; `None`, the default,
            /// means no limit. `write_all` is several writes.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// socket.set_write_timeout(Some(std::time::Duration::from_secs(5)))?; // of each write
            #[doc = concat!("assert_eq!(socket.", stringify!($send), "(b\"hello\")?, 5);")]
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// `InvalidInput` for a limit of zero.
            pub fn set_write_timeout(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                self.0.limit(crate::worker::fibers::readiness::Direction::Write).set(limit)
            }

            /// The limit set by [`set_read_timeout`](Self::set_read_timeout).
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// assert_eq!(socket.read_timeout()?, None); // as long as it takes
            /// socket.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
            /// assert_eq!(socket.read_timeout()?, Some(std::time::Duration::from_secs(5)));
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn read_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Read).get())
            }

            /// The limit set by [`set_write_timeout`](Self::set_write_timeout).
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// assert_eq!(socket.write_timeout()?, None); // as long as it takes
            /// socket.set_write_timeout(Some(std::time::Duration::from_secs(5)))?;
            /// assert_eq!(socket.write_timeout()?, Some(std::time::Duration::from_secs(5)));
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn write_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                Ok(self.0.limit(crate::worker::fibers::readiness::Direction::Write).get())
            }

            /// Takes over a socket of the standard library and makes it non-blocking, clones of it included. Its time
            /// limits are not kept.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// socket.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
            #[doc = concat!("let socket = ", stringify!($socket), "::from_std(socket.into_std()?)?;")]
            /// assert_eq!(socket.read_timeout()?, None); // it is not kept
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// If it cannot be made non-blocking.
            pub fn from_std(socket: $std) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self(LimitedSocket::new(socket)))
            }

            /// Turns it into a socket of the standard library, in blocking mode.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $pair]
            /// let socket = socket.into_std()?; // for a library that knows no fibers
            /// socket.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
            /// assert_eq!(socket.read_timeout()?, Some(std::time::Duration::from_secs(5)));
            /// # Ok(())
            /// # }).unwrap();
            /// ```
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
