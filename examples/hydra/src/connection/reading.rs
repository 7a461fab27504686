//! What a client has sent and was not done yet: a small buffer at first, a larger one while much comes, none while nothing does.

use crate::connection::plan::Plan;
use crate::connection::stream::Stream;
use std::io;
use std::time::Duration;

const SMALL: usize = 1024;
const LARGE: usize = 16 * 1024;
/// A request that is longer ends its connection.
const LARGEST: usize = 1 << 30;
/// After so long without a request a large buffer is given back.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Input {
    buffer: Vec<u8>,
    filled: usize,
}

impl Input {
    /// Waits for bytes; returns how many there are, 0 at the end.
    pub fn read(&mut self, stream: &mut Stream, plan: &mut Plan) -> io::Result<usize> {
        if self.filled == self.buffer.len() {
            self.grow(stream)?;
        }
        loop {
            match stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Ok(0),
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => self.rest(stream, plan)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn grow(&mut self, stream: &Stream) -> io::Result<()> {
        if self.filled >= LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request is too long"));
        }
        let longer = match self.filled {
            0 => SMALL,
            filled => (2 * filled).max(LARGE),
        };
        if longer >= LARGE {
            stream.set_read_timeout(Some(PATIENCE))?;
        }
        self.buffer.resize(longer, 0);
        Ok(())
    }

    /// Nothing has come for a while: waits without buffers, unless part of a request is there.
    fn rest(&mut self, stream: &Stream, plan: &mut Plan) -> io::Result<()> {
        plan.shrink();
        stream.set_read_timeout(None)?;
        if self.filled > 0 {
            self.buffer.truncate((2 * self.filled).max(SMALL));
            self.buffer.shrink_to_fit();
            return Ok(());
        }
        self.buffer = Vec::new();
        stream.readable()?;
        self.buffer = vec![0; SMALL];
        Ok(())
    }

    /// What there is, to be put back.
    #[inline]
    pub fn take(&mut self) -> Taken {
        Taken { buffer: std::mem::take(&mut self.buffer), filled: self.filled }
    }

    /// Puts back what was not used.
    #[inline]
    pub fn put_back(&mut self, taken: Taken, used: usize) {
        self.buffer = taken.buffer;
        if used > 0 {
            self.buffer.copy_within(used..self.filled, 0);
            self.filled -= used;
            if self.buffer.len() > LARGE && self.filled < LARGE {
                self.buffer.truncate(LARGE);
                self.buffer.shrink_to_fit();
            }
        }
    }
}

/// A buffer that is being worked on.
pub struct Taken {
    buffer: Vec<u8>,
    filled: usize,
}

impl std::ops::Deref for Taken {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }
}
