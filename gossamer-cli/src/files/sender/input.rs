//! Standard input, read as it comes: slow input does not stay here until it fills a block.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

/// Input that is read in pieces: only the first bytes of a piece are waited for.
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

    /// Waits for so long until there is something to read, or its end; false if there is nothing.
    pub fn wait(&self, most: Duration) -> bool {
        self.ended || self.is_ready(Timespec::try_from(most).ok().as_ref())
    }

    /// Reads more of a piece; nothing, if more would have to be waited for.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let waits = std::mem::take(&mut self.waits);
        // A terminal says only once that its input has ended.
        if self.ended || !waits && !self.has_more() {
            return Ok(0);
        }
        let count = loop {
            match self.file.read(place) {
                // A process that has the other end may have made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => drop(self.is_ready(None)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.ended = count == 0 && !place.is_empty();
        Ok(count)
    }

    /// The next piece begins; whether it has to be waited for.
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
