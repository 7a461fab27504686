//! Copying bytes from one socket or file to another without looking at them: [`copy()`], [`copy_bidirectional`],
//! [`send_file`].
//!
//! The kernel moves them if it can, by `splice` and `sendfile`, so that they never reach the memory of the program.
//! For bytes that the program looks at, use `Read`, `BufRead` (a [`BufReader`](std::io::BufReader)), `Write` and
//! `std::io::copy`.
//!
//! ```
//! use gossamer::net::{TcpListener, TcpStream};
//! use gossamer::{fs, io};
//!
//! # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("gossamer-io-{}", std::process::id()));
//! # fs::write(&path, "all of a file")?;
//! # let listener = TcpListener::bind("127.0.0.1:0")?;
//! # let mut stream = TcpStream::connect(listener.local_addr()?)?;
//! # let (mut peer, _address) = listener.accept()?;
//! let sent = io::copy(&mut fs::File::open(&path)?, &mut stream)?;
//! assert_eq!(sent, 13);
//! # drop(stream);
//! # assert_eq!(std::io::read_to_string(&mut peer)?, "all of a file");
//! # fs::remove_file(&path)
//! # }).unwrap();
//! ```
//!
//! # Panics
//! All calls except the futures panic in a delegated closure or a callback, which cannot wait.

mod end;
mod files;
mod pipe;

pub use end::CopyEnd;
pub use files::send_file;

use crate::net::fiber_socket::check_may_wait;
use crate::waiting::block_on;
use end::{CopyPlace, StreamSocket};
use futures_util::future::try_join;
use pipe::SplicePipe;
use std::io::{self, Read, Write};
use std::net::Shutdown;

/// Copies the rest of a socket or a file to another; returns the number of bytes.
///
/// It is for [`TcpStream`](crate::net::TcpStream), [`UnixStream`](crate::net::UnixStream), their halves and [`File`](crate::fs::File).
/// Between sockets, and from a socket to a file, bytes go through a pipe by `splice`; from a file to a socket by
/// `sendfile`; between files in the way of `std::io::copy`. If a file system refuses that, it falls back to reads and
/// writes. Time limits of sockets apply to each wait.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// use gossamer::net::UnixStream;
/// use gossamer::{fs::File, io};
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("gossamer-example-upload-{}", std::process::id()));
/// let (mut client, mut server) = UnixStream::pair()?;
/// client.write_all(b"an upload")?;
/// drop(client);
/// assert_eq!(io::copy(&mut server, &mut File::create(&path)?)?, 9); // to the end
/// assert_eq!(gossamer::fs::read(&path)?, b"an upload");
/// # gossamer::fs::remove_file(&path)?;
/// # Ok(())
/// # }).unwrap();
/// ```
///
/// # Cost
/// A pipe, that is two descriptors, while it runs; two system calls for up to 64 KiB between sockets. With a file, a
/// thread of the pool for blocking work makes each step ([`fs`](crate::fs#cost)).
///
/// # Errors
/// Errors of reading or writing; bytes that were read but not written are then lost.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn copy<R, W>(from: &mut R, to: &mut W) -> io::Result<u64>
where
    R: Read + CopyEnd + ?Sized,
    W: Write + CopyEnd + ?Sized,
{
    check_may_wait("io::copy");
    let moved = match (from.place(), to.place()) {
        (CopyPlace::Socket(from), CopyPlace::Socket(to)) => between_sockets(from, to)?,
        (CopyPlace::File(from), CopyPlace::Socket(to)) => files::to_socket(from, to)?,
        (CopyPlace::Socket(from), CopyPlace::File(to)) => files::from_socket(from, to)?,
        (CopyPlace::File(from), CopyPlace::File(to)) => return files::to_file(from, to),
    };
    match moved {
        Moved::All(bytes) => Ok(bytes),
        Moved::Some(bytes) => Ok(bytes + io::copy(from, to)?),
    }
}

/// How many bytes the kernel has moved.
enum Moved {
    /// To the end.
    All(u64),
    /// This many; it refuses to move more.
    Some(u64),
}

#[track_caller]
fn between_sockets(from: StreamSocket<'_>, to: StreamSocket<'_>) -> io::Result<Moved> {
    let (pipe, mut total) = (SplicePipe::new()?, 0);
    loop {
        let mut left = match from.read_by("io::copy", |socket| pipe.fill(socket)) {
            Ok(0) => return Ok(Moved::All(total)),
            Ok(bytes) => bytes,
            Err(error) if is_refusal(&error) => return Ok(Moved::Some(total)),
            Err(error) => return Err(error),
        };
        while left > 0 {
            let bytes = to.write_by("io::copy", |socket| pipe.drain(socket, left))?;
            (left, total) = (left - bytes, total + bytes as u64);
        }
    }
}

/// Copies both ways between two sockets until both have ended; returns how many bytes went from the first to the
/// second, and back. The end of each direction is passed on while the other direction goes on, as in a proxy.
///
/// One fiber does both. Time limits do not apply here: see [`copy_bidirectional_async`].
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// use gossamer::{io, net::UnixStream};
/// use std::io::Write;
/// let (mut client, mut near) = UnixStream::pair()?;
/// let (mut far, mut server) = UnixStream::pair()?;
/// client.write_all(b"a question")?;
/// server.write_all(b"an answer")?;
/// client.shutdown(std::net::Shutdown::Write)?;
/// server.shutdown(std::net::Shutdown::Write)?;
/// assert_eq!(io::copy_bidirectional(&mut near, &mut far)?, (10, 9)); // a proxy between both
/// drop(far);
/// assert_eq!(std::io::read_to_string(&server)?, "a question");
/// # Ok(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// The first error of either direction, which also ends the other.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn copy_bidirectional<A, B>(one: &mut A, other: &mut B) -> io::Result<(u64, u64)>
where
    A: Read + Write + CopyEnd,
    B: Read + Write + CopyEnd,
{
    block_on(copy_bidirectional_async(one, other))
}

/// Like [`copy_bidirectional`], as a future for any executor; [`timeout`](crate::timeout) bounds its time.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// use gossamer::{io, net::UnixStream};
/// let (client, mut near) = UnixStream::pair()?;
/// let (mut far, server) = UnixStream::pair()?;
/// client.try_write(b"a question")?;
/// let limit = std::time::Duration::from_millis(100);
/// let outcome = gossamer::timeout(limit, io::copy_bidirectional_async(&mut near, &mut far));
/// assert!(outcome.is_err()); // neither end has closed
/// assert_eq!(server.try_read(&mut [0; 64])?, 10); // what came was passed on
/// # Ok(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// Like [`copy_bidirectional`], and `InvalidInput` for a file.
pub async fn copy_bidirectional_async<A, B>(one: &mut A, other: &mut B) -> io::Result<(u64, u64)>
where
    A: Read + Write + CopyEnd,
    B: Read + Write + CopyEnd,
{
    match (one.place(), other.place()) {
        (CopyPlace::Socket(one), CopyPlace::Socket(other)) => {
            try_join(one_way(one, other), one_way(other, one)).await
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "`copy_bidirectional` is for two sockets, and this is a file",
        )),
    }
}

async fn one_way(from: StreamSocket<'_>, to: StreamSocket<'_>) -> io::Result<u64> {
    let (pipe, mut total) = (SplicePipe::new()?, 0);
    loop {
        let mut left = from.read_by_async(|socket| pipe.fill(socket)).await?;
        if left == 0 {
            // A connection that is gone has ended.
            let _gone = to.shut_down(Shutdown::Write);
            return Ok(total);
        }
        while left > 0 {
            let bytes = to.write_by_async(|socket| pipe.drain(socket, left)).await?;
            (left, total) = (left - bytes, total + bytes as u64);
        }
    }
}

/// Whether the kernel cannot move bytes in this way between these two.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
