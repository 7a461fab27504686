//! [`ReadHalf`] and [`WriteHalf`]: a connection that two fibers share.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

/// A connection with two directions, which can end separately.
pub trait Duplex {
    /// Ends a direction.
    ///
    /// # Errors
    /// An error of the system call.
    fn shut_down(&self, how: Shutdown) -> io::Result<()>;
}

/// The reading half of a [`TcpStream`](crate::net::TcpStream) or [`UnixStream`](crate::net::UnixStream): what `into_split` returns.
///
/// The connection closes when both halves are dropped. Use `as_ref` for its other methods, for example to set time
/// limits.
pub struct ReadHalf<S>(Arc<S>);

/// The writing half of a [`TcpStream`](crate::net::TcpStream) or [`UnixStream`](crate::net::UnixStream): what `into_split` returns.
///
/// Dropping it tells the peer that no more data will come, as `shutdown(Shutdown::Write)` does.
///
/// ```
/// use gossamer::net::{ReadHalf, TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// # gossamer::run(gossamer::Config::default().threads(2), || -> std::io::Result<()> {
/// # let listener = TcpListener::bind("127.0.0.1:0")?;
/// # let stream = TcpStream::connect(listener.local_addr()?)?;
/// # let (mut peer, _address) = listener.accept()?;
/// let (reader, mut writer) = stream.into_split();
/// let answer = gossamer::spawn_with(
///     |mut reader: ReadHalf<TcpStream>| {
///         let mut answer = String::new();
///         reader.read_to_string(&mut answer).map(|_| answer).expect("text")
///     },
///     reader,
/// );
/// writer.write_all(b"is anybody there?")?;
/// drop(writer); // the peer reads to the end
/// # let mut question = String::new();
/// # peer.read_to_string(&mut question)?;
/// # assert_eq!(question, "is anybody there?");
/// # peer.write_all(b"yes")?;
/// # drop(peer);
/// assert_eq!(answer.join(), "yes");
/// # Ok(())
/// # }).unwrap();
/// ```
pub struct WriteHalf<S: Duplex> {
    stream: Arc<S>,
    /// Whether dropping it ends its direction.
    ends: bool,
}

/// The two halves are not of the same connection; the error returns both.
pub struct ReuniteError<S: Duplex>(pub ReadHalf<S>, pub WriteHalf<S>);

/// Both halves of a connection.
pub(crate) fn split<S: Duplex>(stream: S) -> (ReadHalf<S>, WriteHalf<S>) {
    let stream = Arc::new(stream);
    (ReadHalf(Arc::clone(&stream)), WriteHalf { stream, ends: true })
}

impl<S: Duplex> ReadHalf<S> {
    /// The connection, put together from its halves.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (one, _other) = UnixStream::pair()?;
    /// let (reader, writer) = one.into_split();
    /// let _one = reader.reunite(writer).expect("both are of one connection");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Both halves, if they are of different connections.
    pub fn reunite(self, writer: WriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &writer.stream) {
            return Err(ReuniteError(self, writer));
        }
        writer.forget();
        // The other of its two holders is gone.
        Arc::try_unwrap(self.0).map_err(|stream| {
            let writer = WriteHalf { stream: Arc::clone(&stream), ends: true };
            ReuniteError(Self(stream), writer)
        })
    }
}

impl<S: Duplex> WriteHalf<S> {
    /// Drops this half, and leaves its direction open as long as the other half exists.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (one, other) = UnixStream::pair()?;
    /// let (reader, writer) = one.into_split();
    /// writer.forget(); // the other end is not told of an end
    /// let error = other.try_read(&mut [0; 16]).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    /// # drop(reader);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn forget(mut self) {
        self.ends = false;
    }
}

impl<S: Duplex> Drop for WriteHalf<S> {
    fn drop(&mut self) {
        if self.ends {
            // A connection that is gone has ended.
            let _gone = self.stream.shut_down(Shutdown::Write);
        }
    }
}

impl<S> AsRef<S> for ReadHalf<S> {
    fn as_ref(&self) -> &S {
        &self.0
    }
}

impl<S: Duplex> AsRef<S> for WriteHalf<S> {
    fn as_ref(&self) -> &S {
        &self.stream
    }
}

impl<S> Read for ReadHalf<S>
where
    for<'a> &'a S: Read,
{
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }

    #[track_caller]
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self.0).read_vectored(buffers)
    }
}

impl<S: Duplex> Write for WriteHalf<S>
where
    for<'a> &'a S: Write,
{
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.stream).write(bytes)
    }

    #[track_caller]
    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.stream).write_vectored(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.stream).flush()
    }
}

impl<S: fmt::Debug> fmt::Debug for ReadHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Duplex + fmt::Debug> fmt::Debug for WriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}

impl<S: Duplex> fmt::Debug for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReuniteError(..)")
    }
}

impl<S: Duplex> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these halves are of two connections: `reunite` takes both of one")
    }
}

impl<S: Duplex> std::error::Error for ReuniteError<S> {}
