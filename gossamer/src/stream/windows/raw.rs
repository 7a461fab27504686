//! What both raw windows are: all bytes of a stream at their addresses, as memory. The contract of their pointers is in
//! the documentation of the module `stream`.

use crate::stream::Error;
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::geometry::OPEN_WINDOW;
use crate::stream::windows::faulting::Faulting;
use crate::stream::windows::window::Window;
use std::fmt;
use std::sync::Arc;

/// What both windows are: dropped in this order.
pub(super) struct Raw {
    pub(super) faulting: Faulting,
    window: Arc<Window>,
    pub(super) length: u64,
    pub(super) stream: StreamEnd,
}

impl Raw {
    pub(super) fn new(stream: StreamEnd, end: End) -> Result<Self, Error> {
        stream.check_process()?;
        let length = stream.length.unwrap_or(OPEN_WINDOW);
        let window = Arc::new(Window::new(&stream, end, length)?);
        let faulting = Faulting::start(&window, stream.faults)?;
        Ok(Self { faulting, window, length, stream })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.window.range().start().as_ptr()
    }

    pub(super) fn check(&self, forgiving: bool) -> Result<(), Error> {
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

    pub(super) fn try_with<R>(&mut self, body: impl FnOnce(*mut u8) -> R) -> Result<R, Error> {
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
    pub(super) fn parts(
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
    pub(super) fn close(self) -> Result<StreamEnd, Error> {
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
        ///
        /// ```
        /// let (sender, receiver) = gossamer::stream::pair(1 << 40, gossamer::stream::Geometry::default())?;
        /// let (sender, receiver) = (sender.into_window()?, receiver.into_window()?);
        /// assert_eq!((sender.len(), receiver.len()), (1 << 40, 1 << 40)); // addresses, not memory
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn len(&self) -> usize {
            self.0.length as usize
        }

        /// Whether the stream has no bytes.
        ///
        /// ```
        /// let (sender, receiver) = gossamer::stream::pair(0, gossamer::stream::Geometry::default())?;
        /// assert!(sender.into_window()?.is_empty() && receiver.into_window()?.is_empty());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn is_empty(&self) -> bool {
            self.0.length == 0
        }

        /// Whether pointers into the window can be passed to system calls, which userfaultfd makes possible
        /// ([`Faults`](crate::stream::Faults)). Without it, a system call that meets a block that is not there fails
        /// with `EFAULT`; use the safe calls of the stream's end instead, which need no window.
        ///
        /// ```
        /// use gossamer::stream::{self, Geometry};
        /// let (sender, _receiver) = stream::pair(5, Geometry::default())?;
        /// let mut window = sender.into_window()?;
        /// let mut file: &[u8] = b"hello";
        /// if window.serves_system_calls() {
        ///     println!("`read` may write to {:?}", window.as_mut_ptr());
        /// } else {
        ///     window.read_from(&mut file, 0, 5)?; // maps each block before the call
        /// }
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn serves_system_calls(&self) -> bool {
            self.0.faulting.serves_system_calls()
        }

        /// Whether anything has gone wrong so far. Raw accesses after such an error end the process, unless they are
        /// made in `try_with`.
        ///
        /// ```
        /// use gossamer::stream::{self, Geometry};
        /// let (sender, receiver) = stream::pair(5, Geometry::default())?;
        /// let (mut sender, mut receiver) = (sender.into_window()?, receiver.into_window()?);
        /// // SAFETY: the contract of windows: five bytes at the front, on a thread of the program's own.
        /// unsafe { sender.as_mut_ptr().write_bytes(7, 5) };
        /// assert!(sender.check().is_ok() && receiver.check().is_ok());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// What has gone wrong.
        pub fn check(&mut self) -> Result<(), Error> {
            self.0.check(false)
        }
    };
}

pub(super) use of_both_windows;
