//! Standard output, also if whoever has its other end has made it so that nobody waits.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// A file that is waited for.
#[derive(Debug)]
pub struct Output<'a>(pub &'a mut File);

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    retry_on_intr(|| poll(&mut [PollFd::new(&*self.0, PollFlags::OUT)], None))?;
                }
                outcome => return outcome,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
