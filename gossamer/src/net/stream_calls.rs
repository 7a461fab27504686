//! What connections of every kind have in common: writes, calls that never wait, halves, futures.

/// The methods, beside `limited_socket`, of a connection whose only field is a `LimitedSocket`, and which implements
/// `Read` by reference. Its examples begin with `$connected`, which makes `socket` and `peer`. It is read with the named
/// method of that socket, and the capacity.
macro_rules! stream_calls {
    ($stream:ident, $connected:expr, $read:ident $(, $capacity:expr)?) => {
        impl $stream {
            /// Reads what has arrived, without ever waiting: 0 bytes at the end. So it may be called in a delegated
            /// closure too.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $connected]
            /// let mut buffer = [0; 16];
            /// let error = socket.try_read(&mut buffer).unwrap_err();
            /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock); // nothing has arrived
            /// drop(peer);
            /// assert_eq!(socket.try_read(&mut buffer)?, 0); // the end
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing has arrived yet, or another error of the
            /// system.
            pub fn try_read(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
                std::io::Read::read(&mut self.0.io(), buffer)
            }

            /// Waits until data arrives, and appends up to 64 KiB of it to a vector: 0 bytes at the end. The vector
            /// grows only by the data, not while this waits, so a server needs no buffer for a silent client. The
            /// data is read into memory that all connections of a thread share, and copied once.
            ///
            /// ```
            /// # use std::io::Write;
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            /// # let listener = gossamer::net::TcpListener::bind("127.0.0.1:0")?;
            /// # let mut client = gossamer::net::TcpStream::connect(listener.local_addr()?)?;
            /// # let (stream, _) = listener.accept()?;
            /// # client.write_all(b"one line\nand a half")?;
            /// # drop(client);
            /// let mut received = Vec::new();
            /// let mut lines = 0;
            /// while stream.read_available(&mut received)? > 0 {
            ///     while let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            ///         lines += 1;
            ///         received.drain(..=end);
            ///     }
            /// }
            /// assert_eq!((lines, received.as_slice()), (1, b"and a half".as_slice()));
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
            pub fn read_available(&self, to: &mut Vec<u8>) -> std::io::Result<usize> {
                let name = concat!(stringify!($stream), "::read_available");
                self.0.$read(name $(, $capacity)?, |stream| crate::net::available::append_available(stream, to))
            }

            /// Like [`try_read`](Self::try_read), into several buffers in order.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $connected]
            /// peer.try_write(b"key=value")?;
            /// socket.readable()?;
            /// let (mut key, mut value) = ([0; 4], [0; 16]);
            /// let mut buffers = [&mut key[..], &mut value[..]].map(std::io::IoSliceMut::new);
            /// assert_eq!(socket.try_read_vectored(&mut buffers)?, 9);
            /// assert_eq!((&key, &value[..5]), (b"key=", &b"value"[..]));
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// Like [`try_read`](Self::try_read).
            pub fn try_read_vectored(
                &self,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                std::io::Read::read_vectored(&mut self.0.io(), buffers)
            }

            /// Writes as much as the system takes at once, without ever waiting; returns how much that was.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $connected]
            /// let mut taken = 0;
            /// while let Ok(bytes) = socket.try_write(&[0; 4096]) {
            ///     taken += bytes;
            /// }
            /// assert!(taken > 0); // as much as the system keeps for a peer that does not read
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if it takes nothing now, or another error of the system.
            pub fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
                std::io::Write::write(&mut self.0.io(), bytes)
            }

            /// Like [`try_write`](Self::try_write), for several buffers in order.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $connected]
            /// let (head, body) = (b"length=5;", b"hello");
            /// let message = [&head[..], &body[..]].map(std::io::IoSlice::new);
            /// assert_eq!(socket.try_write_vectored(&message)?, 14); // in one call of the system
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// Like [`try_write`](Self::try_write).
            pub fn try_write_vectored(&self, buffers: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                std::io::Write::write_vectored(&mut self.0.io(), buffers)
            }

            /// The reading and the writing half, for two fibers. They share the connection, without a second
            /// descriptor.
            ///
            /// `Read` and `Write` are also implemented for references, so fibers that may borrow
            /// ([`scope`](crate::scope)) do not need this.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            #[doc = $connected]
            /// use std::io::{Read, Write};
            /// let (mut reader, mut writer) = socket.into_split();
            /// writer.write_all(b"the last question")?;
            /// drop(writer); // the peer reads to the end
            /// assert_eq!(std::io::read_to_string(&peer)?, "the last question");
            /// (&peer).write_all(b"an answer")?; // the other direction goes on
            /// drop(peer);
            /// assert_eq!(std::io::read_to_string(&mut reader)?, "an answer");
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            pub fn into_split(self) -> (crate::net::ReadHalf<Self>, crate::net::WriteHalf<Self>) {
                crate::net::split::split(self)
            }
        }

        impl crate::net::split::Duplex for $stream {
            fn shut_down(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                self.shutdown(how)
            }
        }

        impl std::io::Write for &$stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let name = concat!(stringify!($stream), "::write");
                self.0.write(name, |mut stream| std::io::Write::write(&mut stream, bytes))
            }

            #[track_caller]
            fn write_vectored(&mut self, buffers: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                let name = concat!(stringify!($stream), "::write");
                self.0.write(name, |mut stream| std::io::Write::write_vectored(&mut stream, buffers))
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }

        impl std::io::Read for $stream {
            #[track_caller]
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                (&*self).read(buffer)
            }

            #[track_caller]
            fn read_vectored(&mut self, buffers: &mut [std::io::IoSliceMut<'_>]) -> std::io::Result<usize> {
                (&*self).read_vectored(buffers)
            }
        }

        impl std::io::Write for $stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                (&*self).write(bytes)
            }

            #[track_caller]
            fn write_vectored(&mut self, buffers: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                (&*self).write_vectored(buffers)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }

        /// For code that moves bytes without looking at them.
        impl $stream {
            pub(crate) fn read_by<R>(
                &self,
                name: &'static str,
                mut attempt: impl FnMut(std::os::fd::BorrowedFd<'_>) -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.0.read(name, |stream| attempt(std::os::fd::AsFd::as_fd(stream)))
            }

            pub(crate) fn write_by<R>(
                &self,
                name: &'static str,
                mut attempt: impl FnMut(std::os::fd::BorrowedFd<'_>) -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.0.write(name, |stream| attempt(std::os::fd::AsFd::as_fd(stream)))
            }

            pub(crate) async fn read_by_async<R>(
                &self,
                mut attempt: impl FnMut(std::os::fd::BorrowedFd<'_>) -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.0.read_async(|stream| attempt(std::os::fd::AsFd::as_fd(stream))).await
            }

            pub(crate) async fn write_by_async<R>(
                &self,
                mut attempt: impl FnMut(std::os::fd::BorrowedFd<'_>) -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.0.write_async(|stream| attempt(std::os::fd::AsFd::as_fd(stream))).await
            }
        }
    };
}

pub(crate) use stream_calls;
