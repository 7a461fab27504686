//! Raw windows: all bytes of a stream at their addresses, as memory. The contract of their pointers is in the documentation of
//! the module `stream`.
#![expect(unsafe_code, reason = "slices of windows")]

use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::geometry::OPEN_WINDOW;
use crate::stream::windows::faulting::Faulting;
use crate::stream::windows::window::Window;
use crate::stream::{Error, Receiver, Sender};
use std::fmt;
use std::sync::Arc;

/// What both windows are: dropped in this order.
struct Raw {
    faulting: Faulting,
    window: Arc<Window>,
    length: u64,
    stream: StreamEnd,
}

impl Raw {
    fn new(stream: StreamEnd, end: End) -> Result<Self, Error> {
        stream.check_process()?;
        let length = stream.length.unwrap_or(OPEN_WINDOW);
        let window = Arc::new(Window::new(&stream, end, length)?);
        let faulting = Faulting::start(&window, stream.faults)?;
        Ok(Self { faulting, window, length, stream })
    }

    fn start(&self) -> *mut u8 {
        self.window.range().start().as_ptr()
    }

    fn check(&self, forgiving: bool) -> Result<(), Error> {
        self.stream.check_process()?;
        let error = self.window.forgive(forgiving).map_err(Error::io("mapping a block"))?;
        match error {
            Some(error) => {
                let error = error.to_error(self.stream.flow(), &self.stream.geometry());
                Err(self.stream.ring.in_words(error))
            }
            None => Ok(()),
        }
    }

    fn try_with<R>(&mut self, body: impl FnOnce(*mut u8) -> R) -> Result<R, Error> {
        let strict_again = StrictAgain(&self.window);
        self.check(true)?;
        let result = body(self.start());
        drop(strict_again);
        self.check(false).map(|()| result)
    }

    /// Waits for the block at `offset`; its bytes from there on, as far as it and the stream go, but no more than `most`.
    fn part(&mut self, offset: u64, most: u64) -> Result<(*mut u8, usize), Error> {
        self.stream.check_process()?;
        let geometry = self.stream.geometry();
        self.window.touch(self.start() as usize + offset as usize).map_err(Error::io("mapping a block"))?;
        self.check(false)?;
        let length = self.stream.flow().length().unwrap_or(self.length);
        let end = geometry.start_of(geometry.block_of(offset) + 1).min(length);
        let bytes = end.saturating_sub(offset).min(most) as usize;
        Ok((self.start().wrapping_add(offset as usize), bytes))
    }

    /// Calls `each` with the bytes from `offset` on, block by block.
    fn parts(
        &mut self,
        offset: u64,
        bytes: u64,
        mut each: impl FnMut(*mut u8, usize) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes {
            let (start, count) = self.part(offset + done, bytes - done)?;
            if count == 0 {
                return Err(Error::Overrun { offset: offset + done, end: offset + done });
            }
            each(start, count).map_err(Error::io("a call on bytes of a window"))?;
            done += count as u64;
        }
        Ok(())
    }

    /// Unmaps the blocks before the other end may use their memory.
    fn close(self) -> Result<StreamEnd, Error> {
        self.check(false)?;
        self.window.close().map_err(Error::io("closing a window"))?;
        let Self { stream, .. } = self;
        Ok(stream)
    }
}

/// Makes a window strict again, even if the body panicked.
struct StrictAgain<'a>(&'a Window);

impl Drop for StrictAgain<'_> {
    fn drop(&mut self) {
        // The next request for errors tries it again, and reports the failure.
        let _again = self.0.forgive(false);
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.faulting.serves_system_calls();
        f.debug_struct("Window").field("length", &self.length).field("system_calls", &calls).finish()
    }
}

macro_rules! of_both_windows {
    () => {
        /// The size of the window in bytes: that of the stream, or 4 TiB if its length is open.
        pub fn len(&self) -> usize {
            self.0.length as usize
        }

        /// Whether the stream has no bytes.
        pub fn is_empty(&self) -> bool {
            self.0.length == 0
        }

        /// Whether pointers into the window can be passed to system calls, which userfaultfd makes possible
        /// ([`Faults`](crate::stream::Faults)). Without it, a system call that meets a block that is not there fails
        /// with `EFAULT`; use the safe calls of the stream's end instead, which need no window.
        pub fn serves_system_calls(&self) -> bool {
            self.0.faulting.serves_system_calls()
        }

        /// Whether anything has gone wrong so far. Raw accesses after such an error end the process, unless they are
        /// made in `try_with`.
        ///
        /// # Errors
        /// What has gone wrong.
        pub fn check(&mut self) -> Result<(), Error> {
            self.0.check(false)
        }
    };
}

/// The window of a [`Sender`]: what is written there arrives in the [`ReceiveWindow`] of the other end (Network Vortex, 3.1).
#[derive(Debug)]
pub struct SendWindow(Raw);

impl SendWindow {
    of_both_windows!();

    /// The start of the window. See the [contract](crate::stream#raw-windows) for what may be done there.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.start()
    }

    /// All bytes as a slice.
    ///
    /// # Safety
    /// The caller follows the [contract](crate::stream#raw-windows).
    pub unsafe fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the caller's: the range is as long, and what is touched is mapped when it is.
        unsafe { std::slice::from_raw_parts_mut(self.0.start(), self.len()) }
    }

    /// Runs `body` on the start of the window, and returns errors instead of raising signals: after an error, what
    /// `body` writes is lost, and its result is dropped.
    ///
    /// # Errors
    /// What has gone wrong.
    pub fn try_with<R>(&mut self, body: impl FnOnce(*mut u8) -> R) -> Result<R, Error> {
        self.0.try_with(body)
    }

    /// Reads `bytes` bytes from a file or a socket into the window, block by block, each mapped before the call. It
    /// works everywhere, also where pointers into the window cannot be passed to system calls.
    ///
    /// # Errors
    /// An error of the window or of the source; at the end of the source, `UnexpectedEof`.
    pub fn read_from(&mut self, from: &mut impl std::io::Read, offset: u64, bytes: u64) -> Result<(), Error> {
        self.0.parts(offset, bytes, |start, count| {
            // SAFETY: U7: the block is mapped, and the sender's, whom this borrows; the contract leaves it to nobody else.
            from.read_exact(unsafe { std::slice::from_raw_parts_mut(start, count) })
        })
    }

    /// Waits until the receiver has confirmed all bytes and their checksum.
    ///
    /// # Errors
    /// What ended the stream early. A stream of open length is finished by [`finish_at`](Self::finish_at).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn finish(self) -> Result<(), Error> {
        let length = self.0.length;
        if self.0.stream.length.is_none() {
            return Err(Error::Refused("the length of the stream is open: end it by `finish_at`".into()));
        }
        send_rest(self.0.close()?, length)
    }

    /// Like `finish`, for a stream of open length, which ends after `length` bytes.
    ///
    /// # Errors
    /// Like `finish`; `Length` if another one was agreed on; `BehindComeback` if more was handed over already.
    ///
    /// # Panics
    /// Like `finish`.
    pub fn finish_at(self, length: u64) -> Result<(), Error> {
        match self.0.stream.length {
            Some(declared) if declared != length => Err(Error::Length { declared, written: length }),
            _ if length > self.0.length => Err(Error::Overrun { offset: length, end: self.0.length }),
            _ => {
                let stream = self.0.close()?;
                let first = stream.geometry().start_of(stream.flow().written());
                if length < first {
                    return Err(Error::BehindComeback { offset: length, first });
                }
                send_rest(stream, length)
            }
        }
    }
}

/// The window of a [`Receiver`]: what was written into the [`SendWindow`] of the other end (Network Vortex, 3.1).
#[derive(Debug)]
pub struct ReceiveWindow(Raw);

impl ReceiveWindow {
    of_both_windows!();

    /// The start of the window. See the [contract](crate::stream#raw-windows) for what may be done there.
    pub fn as_ptr(&self) -> *const u8 {
        self.0.start()
    }

    /// All bytes as a slice.
    ///
    /// # Safety
    /// The caller follows the [contract](crate::stream#raw-windows).
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the caller's: the range is as long, and what is touched is mapped when it is.
        unsafe { std::slice::from_raw_parts(self.0.start(), self.len()) }
    }

    /// Runs `body` on the start of the window, and returns errors instead of raising signals: after an error, `body`
    /// reads zeros, and its result is dropped.
    ///
    /// # Errors
    /// What has gone wrong.
    pub fn try_with<R>(&mut self, body: impl FnOnce(*const u8) -> R) -> Result<R, Error> {
        self.0.try_with(|start| body(start))
    }

    /// Writes `bytes` bytes of the window to a file or a socket, block by block, each mapped before the call. It
    /// works everywhere, also where pointers into the window cannot be passed to system calls.
    ///
    /// # Errors
    /// An error of the window or of the target; `Overrun` after the end of the stream.
    pub fn write_to(&mut self, to: &mut impl std::io::Write, offset: u64, bytes: u64) -> Result<(), Error> {
        self.0.parts(offset, bytes, |start, count| {
            // SAFETY: U7: the block is mapped, and the receiver's, whom this borrows; nobody writes it.
            to.write_all(unsafe { std::slice::from_raw_parts(start, count) })
        })
    }

    /// The length of the stream; waits until the sender has said it.
    ///
    /// # Errors
    /// What ended the stream early.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn stream_len(&mut self) -> Result<u64, Error> {
        match self.0.stream.length {
            Some(length) => Ok(length),
            None => {
                self.0.stream.wait(|flow| flow.length().is_some())?;
                Ok(self.0.stream.flow().length().unwrap_or_default())
            }
        }
    }

    /// Waits until the sender has finished, and confirms all bytes, whether or not they were read.
    ///
    /// # Errors
    /// What ended the stream early.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn finish(self) -> Result<(), Error> {
        let mut stream = self.0.close()?;
        let first = stream.geometry().start_of(stream.flow().released());
        stream.drain()?;
        let length = stream.flow().length().unwrap_or(first);
        End::Receiver.counters().note_bytes(length.saturating_sub(first));
        stream.finish_receiving()
    }
}

/// Ends the stream of a window, and hands over the rest.
fn send_rest(mut stream: StreamEnd, length: u64) -> Result<(), Error> {
    let first = stream.geometry().start_of(stream.flow().written());
    End::Sender.counters().note_bytes(length.saturating_sub(first));
    stream.finish_sending(length)
}

impl Sender {
    /// The stream as one piece of memory, for raw use. Nothing may have been written yet.
    ///
    /// # Errors
    /// If something was, if there is not enough address space, or if the requested way of faulting is not available.
    pub fn into_window(self) -> Result<SendWindow, Error> {
        Raw::new(self.into_untouched_end()?, End::Sender).map(SendWindow)
    }
}

impl Receiver {
    /// The stream as one piece of memory, for raw use. Nothing may have been read yet.
    ///
    /// # Errors
    /// If something was, if there is not enough address space, or if the requested way of faulting is not available.
    pub fn into_window(self) -> Result<ReceiveWindow, Error> {
        Raw::new(self.into_untouched_end()?, End::Receiver).map(ReceiveWindow)
    }
}
