//! [`File`]: an open file that reads ahead. `file_calls` has the calls that need no position.

use crate::blocking::unblock_as;
use crate::kernel::fs::OpenOptions;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Bytes that a small read takes from the kernel, for the reads that follow.
const READ_AHEAD: usize = 64 * 1024;
/// The most bytes of one call, since they are copied on their way.
pub(super) const LARGEST: usize = 1 << 20;

/// An open file, like [`std::fs::File`]; its calls block only the fiber.
///
/// Reads of less than 64 KiB are served from a read-ahead buffer, so that not each of them waits for another thread.
/// Every write goes to the kernel at once, and none is lost when the file is dropped; use
/// [`BufWriter`](std::io::BufWriter) for many small writes. The read-ahead buffer may miss what another handle of the
/// file writes.
pub struct File {
    inner: Arc<std::fs::File>,
    /// What was read ahead; the kernel's position is after it.
    buffer: Vec<u8>,
    /// How much of it has been read.
    taken: usize,
}

impl File {
    /// Takes over a file of the standard library.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-from-std-{}", std::process::id()));
    /// let plain = std::fs::File::create(&path)?; // or one that a library has opened
    /// let file = File::from_std(plain);
    /// file.write_at(b"hello", 0)?;
    /// assert_eq!(gossamer::fs::read(&path)?, b"hello");
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn from_std(file: std::fs::File) -> Self {
        Self { inner: Arc::new(file), buffer: Vec::new(), taken: 0 }
    }

    /// Turns it into a file of the standard library, at the present position.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-into-std-{}", std::process::id()));
    /// use std::io::Read;
    /// gossamer::fs::write(&path, "one\ntwo\n")?;
    /// let mut file = File::open(&path)?;
    /// file.read_exact(&mut [0; 4])?;
    /// let rest = std::io::read_to_string(file.into_std()?)?; // what was read ahead is not lost
    /// assert_eq!(rest, "two\n");
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn into_std(mut self) -> io::Result<std::fs::File> {
        self.go_back("File::into_std")?;
        Arc::try_unwrap(self.inner).or_else(|shared| shared.try_clone())
    }

    /// Opens a file for reading.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-open-{}", std::process::id()));
    /// gossamer::fs::write(&path, "hello")?;
    /// assert_eq!(File::open(&path)?.metadata()?.len(), 5);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`std::fs::File::open`].
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        unblock_as("File::open", move || std::fs::File::open(path))?.map(Self::from_std)
    }

    /// Opens a file for writing; creates it if it does not exist, and empties it if it does.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-create-{}", std::process::id()));
    /// let file = File::create(&path)?; // empty, also if it was there
    /// assert_eq!(file.metadata()?.len(), 0);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`std::fs::File::create`].
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        unblock_as("File::create", move || std::fs::File::create(path))?.map(Self::from_std)
    }

    /// Other ways to open a file.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-options-{}", std::process::id()));
    /// let file = File::options().append(true).create(true).open(&path)?;
    /// # drop(file);
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Another handle of the file, which shares its position.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::fs::File;
    /// let path = std::env::temp_dir().join(format!("gossamer-example-clone-{}", std::process::id()));
    /// use std::io::Read;
    /// gossamer::fs::write(&path, "hello")?;
    /// let mut file = File::open(&path)?;
    /// let mut other = file.try_clone()?;
    /// file.read_exact(&mut [0; 5])?;
    /// assert_eq!(other.read(&mut [0; 5])?, 0); // it is at the end, too
    /// # gossamer::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    #[track_caller]
    pub fn try_clone(&mut self) -> io::Result<Self> {
        self.go_back("File::try_clone")?;
        self.call("File::try_clone", |file| file.try_clone()).map(Self::from_std)
    }

    pub(in crate::kernel) fn call<R: Send + 'static>(
        &self,
        name: &'static str,
        f: impl FnOnce(&std::fs::File) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        let file = Arc::clone(&self.inner);
        unblock_as(name, move || f(&file))?
    }

    /// The file for another thread: its kernel position is after what was read ahead.
    pub(in crate::kernel) fn shared(&self) -> Arc<std::fs::File> {
        Arc::clone(&self.inner)
    }

    /// What was read ahead.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    fn forget_rest(&mut self) {
        self.buffer.clear();
        self.taken = 0;
    }

    /// Moves the kernel's position back to that of this file.
    pub(in crate::kernel) fn go_back(&mut self, name: &'static str) -> io::Result<()> {
        let ahead = self.rest().len();
        if ahead > 0 {
            self.call(name, move |file| step_back(file, ahead))?;
            self.forget_rest();
        }
        Ok(())
    }

    fn read_rest_into(&mut self, buffer: &mut [u8]) -> usize {
        let length = self.rest().len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest()[..length]);
        self.taken += length;
        length
    }

    /// Reads up to `length` bytes from the kernel into `bytes`, whose memory it uses.
    #[track_caller]
    fn read_kernel(&self, mut bytes: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
        bytes.resize(length, 0);
        self.call("File::read", move |mut file| {
            let length = file.read(&mut bytes)?;
            bytes.truncate(length);
            Ok(bytes)
        })
    }
}

/// Moves the position back by what was read ahead.
fn step_back(mut file: &std::fs::File, ahead: usize) -> io::Result<()> {
    file.seek(SeekFrom::Current(-(ahead as i64))).map(drop)
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest().is_empty() && !buffer.is_empty() {
            if buffer.len() >= READ_AHEAD {
                let bytes = self.read_kernel(Vec::new(), buffer.len().min(LARGEST))?;
                buffer[..bytes.len()].copy_from_slice(&bytes);
                return Ok(bytes.len());
            }
            let memory = std::mem::take(&mut self.buffer);
            self.taken = 0;
            self.buffer = self.read_kernel(memory, READ_AHEAD)?;
        }
        Ok(self.read_rest_into(buffer))
    }

    #[track_caller]
    fn read_to_end(&mut self, all: &mut Vec<u8>) -> io::Result<usize> {
        let more = self.call("File::read_to_end", |mut file| {
            let mut more = Vec::new();
            file.read_to_end(&mut more).map(|_length| more)
        })?;
        let ahead = self.rest().len();
        all.extend_from_slice(self.rest());
        self.forget_rest();
        all.extend_from_slice(&more);
        Ok(ahead + more.len())
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        let read =
            std::str::from_utf8(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        text.push_str(read);
        Ok(read.len())
    }
}

impl Write for File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (bytes, ahead) = (bytes[..bytes.len().min(LARGEST)].to_owned(), self.rest().len());
        let (length, is_back) = self.call("File::write", move |mut file| {
            // A pipe or a terminal has no position, and its two directions are independent.
            let is_back = ahead > 0 && step_back(file, ahead).is_ok();
            Ok((file.write(&bytes), is_back))
        })?;
        if is_back {
            self.forget_rest();
        }
        length
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    #[track_caller]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Current(by) => {
                let by = by.checked_sub(self.rest().len() as i64);
                let too_far =
                    || io::Error::new(io::ErrorKind::InvalidInput, "before the beginning of the file");
                SeekFrom::Current(by.ok_or_else(too_far)?)
            }
            other => other,
        };
        let position = self.call("File::seek", move |mut file| file.seek(to))?;
        self.forget_rest();
        Ok(position)
    }

    #[track_caller]
    fn stream_position(&mut self) -> io::Result<u64> {
        let position = self.call("File::stream_position", |mut file| file.stream_position())?;
        Ok(position.saturating_sub(self.rest().len() as u64))
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
