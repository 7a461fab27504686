//! Standard input, read as it comes: slow input is not held back until it fills a block.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// Input that is read in pieces: only for the first bytes of a piece does it wait.
#[derive(Debug)]
pub struct Input {
    file: File,
    waits: bool,
    ended: bool,
}

impl Input {
    /// Standard input.
    ///
    /// # Errors
    /// If it is closed.
    pub fn open() -> io::Result<Self> {
        Ok(Self { file: File::from(io::stdin().as_fd().try_clone_to_owned()?), waits: true, ended: false })
    }

    /// Waits this long for something to read, or the end of the input; false if there is neither.
    pub fn wait(&self, most: Duration) -> bool {
        self.ended || self.is_ready(Timespec::try_from(most).ok().as_ref())
    }

    /// Reads more of a piece; nothing, if it would have to wait.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let waits = std::mem::take(&mut self.waits);
        // A terminal reports the end of its input only once.
        if self.ended || !waits && !self.has_more() {
            return Ok(0);
        }
        let count = loop {
            match self.file.read(place) {
                // A process at the other end may have made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => drop(self.is_ready(None)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.ended = count == 0 && !place.is_empty();
        Ok(count)
    }

    /// Begins the next piece, and returns whether its first bytes have to be waited for.
    pub fn begin_piece(&mut self) -> bool {
        self.waits = true;
        !self.has_more()
    }

    fn has_more(&self) -> bool {
        self.is_ready(Some(&Timespec::default()))
    }

    fn is_ready(&self, most: Option<&Timespec>) -> bool {
        let mut wanted = [PollFd::new(&self.file, PollFlags::IN)];
        // If that cannot be found out, it waits.
        retry_on_intr(|| poll(&mut wanted, most)).is_ok_and(|ready| ready > 0)
    }
}
