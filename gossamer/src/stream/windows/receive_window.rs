//! [`ReceiveWindow`]: the raw window of a receiver.
#![expect(unsafe_code, reason = "slices of windows")]

use crate::stream::error::End;
use crate::stream::windows::raw::{Raw, of_both_windows};
use crate::stream::{Error, Receiver};

/// The window of a [`Receiver`]: what was written into the
/// [`SendWindow`](crate::stream::SendWindow) of the other end (Network Vortex, 3.1).
#[derive(Debug)]
pub struct ReceiveWindow(Raw);

impl ReceiveWindow {
    of_both_windows!();

    /// The start of the window. See the [contract](crate::stream#raw-windows) for what may be done there.
    ///
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let sending = std::thread::spawn(move || sender.write_everything(b"hello").and_then(|()| sender.finish()));
    /// let window = receiver.into_window()?;
    /// // SAFETY: the contract of windows: bytes of the stream. The thread waits for them.
    /// assert_eq!(unsafe { window.as_ptr().cast::<[u8; 5]>().read() }, *b"hello");
    /// window.finish()?;
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_ptr(&self) -> *const u8 {
        self.0.start()
    }

    /// All bytes as a slice.
    ///
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let sending = std::thread::spawn(move || sender.write_everything(b"hello").and_then(|()| sender.finish()));
    /// let window = receiver.into_window()?;
    /// // SAFETY: the contract of windows: read from the front to the back.
    /// let bytes = unsafe { window.as_slice() };
    /// assert_eq!(bytes.iter().filter(|byte| **byte == b'l').count(), 2);
    /// window.finish()?;
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// use gossamer::stream::{self, End, Error, Geometry};
    /// let (mut sender, receiver) = stream::pair(1 << 20, Geometry::default())?;
    /// sender.write_everything(b"hello")?;
    /// drop(sender); // the rest will not come
    /// let mut window = receiver.into_window()?;
    /// let bytes = 0..window.len();
    /// // SAFETY: the contract of windows: bytes of the stream, from the front to the back.
    /// let sum = window.try_with(|start| bytes.map(|at| unsafe { start.add(at).read() } as u64).sum::<u64>());
    /// assert!(matches!(sum, Err(Error::Aborted { by: End::Sender, .. }))); // instead of a SIGBUS
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What has gone wrong.
    pub fn try_with<R>(&mut self, body: impl FnOnce(*const u8) -> R) -> Result<R, Error> {
        self.0.try_with(|start| body(start))
    }

    /// Writes `bytes` bytes of the window to a file or a socket, block by block, each mapped before the call. It
    /// works everywhere, also where pointers into the window cannot be passed to system calls.
    ///
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(10, gossamer::stream::Geometry::default())?;
    /// let sending = std::thread::spawn(move || sender.write_everything(b"oh, a gust").and_then(|()| sender.finish()));
    /// let mut window = receiver.into_window()?;
    /// let mut file = Vec::new(); // or a file
    /// window.write_to(&mut file, 6, 4)?;
    /// assert_eq!(file, b"gust");
    /// window.finish()?;
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (mut sender, receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// let sending = std::thread::spawn(move || sender.write_everything(b"hello").and_then(|()| sender.finish()));
    /// let mut window = receiver.into_window()?;
    /// assert_eq!(window.stream_len()?, 5); // waits until the sender finishes
    /// window.finish()?;
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let sending = std::thread::spawn(move || sender.write_everything(b"hello").and_then(|()| sender.finish()));
    /// let window = receiver.into_window()?;
    /// // SAFETY: the contract of windows: a byte of the stream.
    /// let first = unsafe { window.as_ptr().read() };
    /// window.finish()?; // takes the rest, and tells the sender
    /// assert_eq!(first, b'h');
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

impl Receiver {
    /// The stream as one piece of memory, for raw use. Nothing may have been read yet.
    ///
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(8 * 1000, gossamer::stream::Geometry::default())?;
    /// let sending = std::thread::spawn(move || {
    ///     (0..1000_u64).try_for_each(|number| sender.write_everything(&number.to_ne_bytes()))?;
    ///     sender.finish()
    /// });
    /// let window = receiver.into_window()?;
    /// // SAFETY: the contract of windows: read from the front to the back.
    /// let numbers = unsafe { std::slice::from_raw_parts(window.as_ptr().cast::<u64>(), window.len() / 8) };
    /// assert_eq!(numbers.iter().sum::<u64>(), 499_500);
    /// window.finish()?;
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If something was, if there is not enough address space, or if the requested way of faulting is not available.
    pub fn into_window(self) -> Result<ReceiveWindow, Error> {
        Raw::new(self.into_untouched_end()?, End::Receiver).map(ReceiveWindow)
    }
}
