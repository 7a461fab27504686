//! [`SendWindow`]: the raw window of a sender.
#![expect(unsafe_code, reason = "slices of windows")]

use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::windows::raw::{Raw, of_both_windows};
use crate::stream::{Error, Sender};

/// The window of a [`Sender`]: what is written there arrives in the
/// [`ReceiveWindow`](crate::stream::ReceiveWindow) of the other end (Network Vortex, 3.1).
#[derive(Debug)]
pub struct SendWindow(Raw);

impl SendWindow {
    of_both_windows!();

    /// The start of the window. See the [contract](crate::stream#raw-windows) for what may be done there.
    ///
    /// ```
    /// let (sender, receiver) = gossamer::stream::pair(8 * 3, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(receiver));
    /// let mut window = sender.into_window()?;
    /// // SAFETY: the contract of windows: bytes of the stream, from the front to the back, and all of them.
    /// unsafe { std::ptr::copy_nonoverlapping(b"eight bytes, three times".as_ptr(), window.as_mut_ptr(), 24) };
    /// window.finish()?;
    /// assert_eq!(reading.join().unwrap()?, "eight bytes, three times");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.start()
    }

    /// All bytes as a slice.
    ///
    /// ```
    /// let (sender, mut receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(&mut receiver));
    /// let mut window = sender.into_window()?;
    /// // SAFETY: the contract of windows: all bytes are written, from the front to the back.
    /// let bytes = unsafe { window.as_mut_slice() };
    /// bytes.copy_from_slice(b"hello");
    /// window.finish()?;
    /// assert_eq!(reading.join().unwrap()?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// use gossamer::stream::{self, End, Error, Geometry};
    /// let (sender, receiver) = stream::pair(1 << 40, Geometry::default())?;
    /// let mut window = sender.into_window()?;
    /// drop(receiver); // so there will be no room for all of it
    /// // SAFETY: the contract of windows: bytes of the stream, from the front to the back.
    /// let wrote = window.try_with(|start| unsafe { (0..1 << 30).for_each(|at| start.add(at).write(7)) });
    /// assert!(matches!(wrote, Err(Error::Aborted { by: End::Receiver, .. }))); // instead of a SIGBUS
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What has gone wrong.
    pub fn try_with<R>(&mut self, body: impl FnOnce(*mut u8) -> R) -> Result<R, Error> {
        self.0.try_with(body)
    }

    /// Reads `bytes` bytes from a file or a socket into the window, block by block, each mapped before the call. It
    /// works everywhere, also where pointers into the window cannot be passed to system calls.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry};
    /// let (sender, receiver) = stream::pair(10, Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(receiver));
    /// let mut window = sender.into_window()?;
    /// let mut file: &[u8] = b"hello, world"; // or a file
    /// window.read_from(&mut file, 0, 5)?;
    /// window.read_from(&mut file, 5, 5)?;
    /// window.finish()?;
    /// assert_eq!(reading.join().unwrap()?, "hello, wor");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// let (sender, receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(receiver));
    /// let mut window = sender.into_window()?;
    /// window.read_from(&mut &b"hello"[..], 0, 5)?;
    /// window.finish()?; // the receiver has all of it
    /// assert_eq!(reading.join().unwrap()?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (sender, receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(receiver));
    /// let mut window = sender.into_window()?; // of 4 TiB
    /// window.read_from(&mut &b"hello"[..], 0, 5)?;
    /// window.finish_at(5)?;
    /// assert_eq!(reading.join().unwrap()?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// Ends the stream of a window, and hands over the rest.
fn send_rest(mut stream: StreamEnd, length: u64) -> Result<(), Error> {
    let first = stream.geometry().start_of(stream.flow().written());
    End::Sender.counters().note_bytes(length.saturating_sub(first));
    stream.finish_sending(length)
}

impl Sender {
    /// The stream as one piece of memory, for raw use. Nothing may have been written yet.
    ///
    /// ```
    /// let (sender, receiver) = gossamer::stream::pair(1 << 20, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || receiver.finish());
    /// let mut window = sender.into_window()?;
    /// // SAFETY: the contract of windows: every byte is written, from the front to the back.
    /// let numbers = unsafe { std::slice::from_raw_parts_mut(window.as_mut_ptr().cast::<u64>(), window.len() / 8) };
    /// numbers.iter_mut().zip(0..).for_each(|(place, number)| *place = number * number);
    /// window.finish()?;
    /// reading.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If something was, if there is not enough address space, or if the requested way of faulting is not available.
    pub fn into_window(self) -> Result<SendWindow, Error> {
        Raw::new(self.into_untouched_end()?, End::Sender).map(SendWindow)
    }
}
