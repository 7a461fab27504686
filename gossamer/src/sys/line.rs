//! A line of text for the standard error, made and written in a signal handler.

use std::fmt;

/// A line in memory of its own: formatting into it allocates nothing.
pub(crate) struct Line {
    bytes: [u8; 512],
    length: usize,
}

impl Line {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 512], length: 0 }
    }

    /// Writes it to the standard error, in one call.
    pub(crate) fn print(&self) {
        // SAFETY: write(2) is async-signal-safe, and the bytes are ours.
        unsafe { libc::write(2, self.bytes.as_ptr().cast(), self.length) };
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let count = text.len().min(room.len());
        room[..count].copy_from_slice(&text.as_bytes()[..count]);
        self.length += count;
        Ok(())
    }
}
