//! Standard input, read as it comes: what comes slowly does not stay here until it fills a block.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

/// What is read in pieces: only the first bytes of a piece are waited for.
#[derive(Debug)]
pub struct Input {
    file: File,
    waits: bool,
}

impl Input {
    /// Standard input.
    ///
    /// # Errors
    /// If it is closed.
    pub fn open() -> io::Result<Self> {
        Ok(Self { file: File::from(io::stdin().as_fd().try_clone_to_owned()?), waits: true })
    }

    /// Reads more of a piece; nothing, if more would have to be waited for.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let waits = std::mem::take(&mut self.waits);
        if waits || self.has_more() { self.file.read(place) } else { Ok(0) }
    }

    /// The next piece begins; whether it has to be waited for.
    pub fn begin_piece(&mut self) -> bool {
        self.waits = true;
        !self.has_more()
    }

    fn has_more(&self) -> bool {
        let mut wanted = [PollFd::new(&self.file, PollFlags::IN)];
        // Whoever cannot tell waits.
        poll(&mut wanted, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}
