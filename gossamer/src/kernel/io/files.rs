//! Copying from and to files: a thread of the pool for blocking work makes each step.

use crate::blocking::unblock_as;
use crate::fs::File;
use crate::kernel::io::end::{CopyEnd, CopyPlace, StreamSocket};
use crate::kernel::io::pipe::SplicePipe;
use crate::kernel::io::{Moved, is_refusal};
use crate::net::fiber_socket::check_may_wait;
use rustix::fs::sendfile;
use rustix::io::retry_on_intr;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;

/// The most that the kernel sends in one call.
const MOST: u64 = 0x7fff_f000;
/// Bytes of one read, where the kernel cannot send by itself.
const READ: usize = 256 * 1024;

/// Sends up to `length` bytes of a file, from `offset` on, to a socket; returns how many: fewer if the file ends
/// earlier. The file's position does not change.
///
/// ```
/// # use gossamer::{fs, io, net::UnixStream};
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("gossamer-send-file-{}", std::process::id()));
/// # fs::write(&path, "head, body, tail")?;
/// let (mut stream, mut peer) = UnixStream::pair()?;
/// let file = fs::File::open(&path)?;
/// assert_eq!(io::send_file(&file, 6, 4, &mut stream)?, 4);
/// drop(stream);
/// assert_eq!(std::io::read_to_string(&mut peer)?, "body");
/// # fs::remove_file(&path)
/// # }).unwrap();
/// ```
///
/// # Errors
/// Errors of reading or writing, and `InvalidInput` if `to` is a file.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn send_file(file: &File, offset: u64, length: u64, to: &mut (impl Write + CopyEnd)) -> io::Result<u64> {
    check_may_wait("io::send_file");
    let moved = match to.place() {
        CopyPlace::Socket(to) => send(file, offset, length, to)?,
        CopyPlace::File(_) => {
            let text = "`send_file` is for sockets, and this is a file: use `copy`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    };
    match moved {
        Moved::All(bytes) => Ok(bytes),
        Moved::Some(bytes) => send_by_reading(file, (offset, bytes, length), to),
    }
}

/// Lets the kernel send, until the file ends or `length` bytes are sent.
#[track_caller]
fn send(file: &File, offset: u64, length: u64, to: StreamSocket<'_>) -> io::Result<Moved> {
    let (socket, mut sent) = (Arc::new(to.descriptor()?), 0);
    while sent < length {
        to.writable()?;
        let (socket, mut from, most) =
            (Arc::clone(&socket), offset + sent, (length - sent).min(MOST) as usize);
        let outcome = file.call("io::send_file", move |file| {
            Ok(retry_on_intr(|| sendfile(&socket, file, Some(&mut from), most))?)
        });
        match outcome {
            Ok(0) => break,
            Ok(bytes) => sent += bytes as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if is_refusal(&error) => return Ok(Moved::Some(sent)),
            Err(error) => return Err(error),
        }
    }
    Ok(Moved::All(sent))
}

/// Sends the rest, after the bytes already sent, by reads and writes.
fn send_by_reading(
    file: &File,
    (offset, mut sent, length): (u64, u64, u64),
    to: &mut impl Write,
) -> io::Result<u64> {
    let mut buffer = vec![0; READ];
    while sent < length {
        let most = usize::try_from(length - sent).map_or(READ, |left| left.min(READ));
        let bytes = file.read_at(&mut buffer[..most], offset + sent)?;
        if bytes == 0 {
            break;
        }
        to.write_all(&buffer[..bytes])?;
        sent += bytes as u64;
    }
    Ok(sent)
}

/// From the file's position to its end.
pub(super) fn to_socket(from: &mut File, to: StreamSocket<'_>) -> io::Result<Moved> {
    let Ok(start) = from.stream_position() else { return Ok(Moved::Some(0)) };
    let moved = send(from, start, u64::MAX - start, to)?;
    let (Moved::All(bytes) | Moved::Some(bytes)) = moved;
    from.seek(SeekFrom::Start(start + bytes))?;
    Ok(moved)
}

/// From a socket, to its end, to the file's position.
#[track_caller]
pub(super) fn from_socket(from: StreamSocket<'_>, to: &mut File) -> io::Result<Moved> {
    to.go_back("io::copy")?;
    let (pipe, mut total) = (Arc::new(SplicePipe::large()?), 0);
    loop {
        let mut left = match from.read_by("io::copy", |socket| pipe.fill(socket)) {
            Ok(0) => return Ok(Moved::All(total)),
            Ok(bytes) => bytes,
            Err(error) if is_refusal(&error) => return Ok(Moved::Some(total)),
            Err(error) => return Err(error),
        };
        while left > 0 {
            let pipe_too = Arc::clone(&pipe);
            match to.call("io::copy", move |file| pipe_too.drain(file, left)) {
                Ok(bytes) => (left, total) = (left - bytes, total + bytes as u64),
                // A file that is only appended to, for example.
                Err(error) if is_refusal(&error) => {
                    to.write_all(&pipe.take(left)?)?;
                    return Ok(Moved::Some(total + left as u64));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Between files, from position to position.
#[track_caller]
pub(super) fn to_file(from: &mut File, to: &mut File) -> io::Result<u64> {
    from.go_back("io::copy")?;
    to.go_back("io::copy")?;
    let (from, to) = (from.shared(), to.shared());
    unblock_as("io::copy", move || io::copy(&mut &*from, &mut &*to))?
}
