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
        write_soon(2, &self.bytes[..self.length]);
    }
}

/// How long a handler waits, in milliseconds, for a reader to make room for what it writes.
pub(crate) const PATIENCE: libc::c_int = 2000;

/// Writes in one call, from a signal handler. It does not wait for a pipe that stays full, since nobody may read it.
pub(crate) fn write_soon(descriptor: libc::c_int, bytes: &[u8]) {
    let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: poll(2) is async-signal-safe; one entry, ours, is read and written.
    let is_full = unsafe { libc::poll(&raw mut entry, 1, PATIENCE) } == 0;
    if !is_full {
        // SAFETY: write(2) is async-signal-safe, and the bytes are the caller's. A pipe that has room has it for a page.
        unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
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
