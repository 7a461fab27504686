//! Standard output, even if another process that shares it has made it non-blocking.

use crate::exit::{self, Failure};
use crate::node::signal::PIPE;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

/// Standard output, which contents go to.
#[derive(Debug)]
pub struct Output(File);

impl Output {
    /// Not Rust's standard output, which searches everything for line ends.
    ///
    /// # Errors
    /// If it is closed.
    pub fn open() -> Result<Self, Failure> {
        let output = io::stdout().as_fd().try_clone_to_owned();
        output
            .map(|output| Self(File::from(output)))
            .map_err(|error| Failure::new(exit::FAILED, format!("cannot use standard output: {error}")))
    }

    /// Writes contents that belong at an offset, after those up to `from`; a hole in the file becomes zeros.
    ///
    /// # Errors
    /// If it cannot be written, or nobody reads it.
    pub fn put(&mut self, from: u64, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let zeros = io::copy(&mut io::Read::take(io::repeat(0), at.saturating_sub(from)), self);
        zeros.and_then(|_| self.write_all(bytes)).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => {
                Failure::new(exit::SIGNALLED + PIPE, "the reader of standard output has closed it")
            }
            _ => Failure::new(exit::OUTPUT, format!("cannot write to standard output: {error}")),
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    retry_on_intr(|| poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None))?;
                }
                outcome => return outcome,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
