//! [`Sender`]: the end that writes, by blocks of the ring's home mapping: no window, no faults.
#![expect(unsafe_code, reason = "blocks are references into the ring")]

use crate::counters::stream::{SENDERS, Tally};
use crate::stream::Error;
use crate::stream::blocks::flow::Failure;
use crate::stream::ends::access::{is_plain, not_aligned};
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::geometry::LONGEST;
use crate::wire::NoRef;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The end of a stream that writes.
///
/// Its calls wait while the ring is full, which blocks only the fiber. Dropping it without [`finish`](Self::finish)
/// aborts the stream: the receiver gets an error.
pub struct Sender {
    pub(super) stream: StreamEnd,
    /// Where the next byte goes.
    pub(super) position: u64,
    /// All bytes below this were written or skipped.
    foremost: u64,
    written: Tally,
}

impl Sender {
    pub(crate) fn new(stream: StreamEnd) -> Self {
        Self { stream, position: 0, foremost: 0, written: Tally::new(&SENDERS) }
    }

    pub(crate) fn into_untouched_end(self) -> Result<StreamEnd, Error> {
        if self.position == 0 && self.foremost == 0 {
            Ok(self.stream)
        } else {
            Err(Error::Refused("something was written already: make the window before".into()))
        }
    }

    /// The length of the stream, if it was given at the start.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// assert_eq!(stream::pair(100, Geometry::default())?.0.length(), Some(100));
    /// assert_eq!(stream::pair(Length::Open, Geometry::default())?.0.length(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn length(&self) -> Option<u64> {
        self.stream.length
    }

    /// Where the next byte goes.
    ///
    /// ```
    /// let (mut sender, _receiver) = gossamer::stream::pair(100, gossamer::stream::Geometry::default())?;
    /// sender.write_everything(b"hello")?;
    /// assert_eq!(sender.position(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The first byte that can still be changed.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry};
    /// let (mut sender, _receiver) = stream::pair(4096 * 4, Geometry::new().block(4096).comeback(1))?;
    /// sender.write_everything(&[0; 4096 * 3 + 1])?; // into the fourth block
    /// assert_eq!(sender.first(), 4096 * 2); // one block before it is still here
    /// sender.write_at(sender.first(), b"late")?;
    /// assert!(sender.write_at(0, b"too late").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first(&self) -> u64 {
        let flow = self.stream.flow();
        self.stream.geometry().start_of(flow.written()).max(flow.flushed())
    }

    /// The rest of the block at the position, to be written; `None` at the end of a stream of known length. It is
    /// mapped: no fault happens. Dropping it counts all of it as written; see [`BlockMut::commit`].
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (mut sender, mut receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// let mut block = sender.next_block()?.expect("the stream has no known end");
    /// block[..5].copy_from_slice(b"hello");
    /// block.commit(5); // only these bytes were written
    /// sender.hand_over()?;
    /// assert_eq!(&*receiver.next_block()?.expect("a block"), b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn next_block(&mut self) -> Result<Option<BlockMut<'_>>, Error> {
        let block = self.stream.geometry().block_of(self.position);
        let end = self.stream.geometry().start_of(block + 1).min(self.stream.length.unwrap_or(LONGEST));
        if self.position >= end {
            return Ok(None);
        }
        self.reach(block)?;
        let bytes = (end - self.position) as usize;
        Ok(Some(BlockMut { bytes, sender: self, panicking: std::thread::panicking() }))
    }

    /// Makes a block writable: the position is in it.
    fn reach(&mut self, block: u64) -> Result<(), Error> {
        self.stream.check_process()?;
        let geometry = self.stream.geometry();
        let first = self.first();
        if self.position < first {
            return Err(Error::BehindComeback { offset: self.position, first });
        }
        if self.position > self.foremost {
            self.pass_over()?;
        }
        self.stream.flow().hand_over(block.saturating_sub(geometry.comeback_blocks()));
        if !self.stream.flow().is_labelled(block, &geometry) {
            self.stream.wait_for_room(block)?;
            self.stream.flow().label(block, &geometry);
            if geometry.start_of(block) != self.foremost {
                self.zero(block, 0, geometry.block_bytes());
            }
        }
        Ok(())
    }

    /// Writes zeros between the foremost byte and the position; whole blocks of them are holes.
    fn pass_over(&mut self) -> Result<(), Error> {
        let geometry = self.stream.geometry();
        let block = geometry.block_of(self.foremost);
        let start = (self.foremost - geometry.start_of(block)) as usize;
        if self.stream.flow().is_labelled(block, &geometry) {
            self.zero(block, start, geometry.block_bytes());
        }
        let at = geometry.block_of(self.position);
        // Skipped blocks are handed over, so that the block at the position is a new one.
        self.stream.flow().hand_over(at.saturating_sub(geometry.comeback_blocks()));
        if at > block {
            self.foremost = geometry.start_of(at);
        }
        if self.position > self.foremost && !self.stream.flow().is_labelled(at, &geometry) {
            // The block at the position begins with zeros. Only now can they be flushed: a caller that cannot wait
            // panics.
            self.stream.wait_for_room(at)?;
            self.stream.flow().label(at, &geometry);
            self.zero(at, 0, geometry.block_bytes());
        }
        self.foremost = self.position;
        Ok(())
    }

    fn zero(&mut self, block: u64, from: usize, to: usize) {
        let at = self.stream.ring.at(block).wrapping_add(from);
        // SAFETY: U3: the block is labelled and not handed over, and nothing behind the foremost byte was flushed, so these are the
        // sender's, whom this borrows.
        unsafe { at.write_bytes(0, to - from) };
    }

    fn bytes_at_position(&mut self, bytes: usize) -> &mut [u8] {
        let geometry = self.stream.geometry();
        let block = geometry.block_of(self.position);
        let at = self.stream.ring.at(block).wrapping_add((self.position - geometry.start_of(block)) as usize);
        // SAFETY: U3: as in `zero`: `reach` has seen that the position is not below what was flushed. The bytes are of this block, and
        // are borrowed as the sender is.
        unsafe { std::slice::from_raw_parts_mut(at, bytes) }
    }

    fn advance(&mut self, bytes: usize) {
        self.position += bytes as u64;
        self.written.add(bytes as u64);
        self.foremost = self.foremost.max(self.position);
    }

    /// Overwrites bytes that were written before and are still here, from [`first`](Self::first) on. The position
    /// stays.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(12, gossamer::stream::Geometry::default())?;
    /// sender.write_everything(&[0; 4])?; // room for the length, which is known later
    /// sender.write_everything(b"a record")?;
    /// sender.write_at(0, &8_u32.to_le_bytes())?;
    /// sender.hand_over()?;
    /// assert_eq!(receiver.next_block()?.expect("a block")[..4], [8, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `BehindComeback` or `Overrun`, if some of it is elsewhere; then nothing is written.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.foremost {
            return Err(Error::Overrun { offset: end, end: self.foremost });
        }
        let position = std::mem::replace(&mut self.position, offset);
        Elsewhere { position, sender: self }.sender.write_everything(bytes)
    }

    /// Writes all bytes, and waits for room.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// sender.write_everything(b"hello")?;
    /// assert!(sender.write_everything(b"!").is_err()); // the stream has 5 bytes
    /// sender.hand_over()?;
    /// assert_eq!(&*receiver.next_block()?.expect("a block"), b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream; `Overrun` if it does not fit into a stream of known length.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn write_everything(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let written = self.write_some(bytes)?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    pub(super) fn write_some(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let position = self.position;
        match self.next_block()? {
            Some(mut block) => {
                let count = block.len().min(bytes.len());
                block[..count].copy_from_slice(&bytes[..count]);
                block.commit(count);
                Ok(count)
            }
            None => Err(Error::Overrun { offset: position, end: position }),
        }
    }

    /// Gives everything written so far to the receiver, including a partial block; otherwise a block is handed over
    /// once it is full and behind the comeback. The bytes can no longer be changed. The receiver's safe calls see
    /// them at once, a window once their block is full.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (mut sender, mut receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// for line in ["first", "second"] {
    ///     sender.write_everything(line.as_bytes())?;
    ///     sender.hand_over()?; // although the block is not full
    ///     assert_eq!(&*receiver.next_block()?.expect("some bytes"), line.as_bytes());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream.
    pub fn hand_over(&mut self) -> Result<(), Error> {
        self.stream.check_process()?;
        self.stream.check_failure()?;
        let flow = self.stream.flow();
        flow.hand_over(self.stream.geometry().block_of(self.foremost));
        flow.flush(self.foremost);
        Ok(())
    }

    /// Waits until the receiver has confirmed all bytes, between machines with their checksum. A stream of open length
    /// ends at the foremost byte.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (mut sender, mut receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// let reading = std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()));
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?; // the receiver has all of it, and knows that it ends here
    /// assert_eq!(reading.join().unwrap()?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream early; `Length` if it was to have another one.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn finish(mut self) -> Result<(), Error> {
        self.stream.check_process()?;
        if self.position > self.foremost {
            self.pass_over()?;
        }
        match self.stream.length {
            Some(declared) if declared != self.foremost => {
                Err(Error::Length { declared, written: self.foremost })
            }
            _ => self.stream.finish_sending(self.foremost),
        }
    }
}

/// A sender that writes somewhere else; its position is restored, even if it cannot wait and panics.
struct Elsewhere<'a> {
    position: u64,
    sender: &'a mut Sender,
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        self.sender.position = self.position;
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("position", &self.position).finish_non_exhaustive()
    }
}

/// The rest of a block, to be written. If a panic drops it, the stream is aborted, since its content is unknown.
#[derive(Debug)]
pub struct BlockMut<'a> {
    sender: &'a mut Sender,
    bytes: usize,
    /// It was made in a destructor, by a panic before it.
    panicking: bool,
}

impl BlockMut<'_> {
    /// Ends the block after its first `bytes` bytes: the next bytes follow directly.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// use std::io::Read;
    /// let (mut sender, _receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// let mut source: &[u8] = b"hello"; // or a socket, which gives as many bytes as it has
    /// let mut block = sender.next_block()?.expect("the stream has no known end");
    /// let read = source.read(&mut block)?;
    /// block.commit(read);
    /// assert_eq!(sender.position(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If it has fewer bytes.
    pub fn commit(mut self, bytes: usize) {
        assert!(bytes <= self.bytes, "{bytes} bytes of a block that has {}", self.bytes);
        self.bytes = bytes;
    }

    /// The block as values of a plain type.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(8 * 1000, gossamer::stream::Geometry::default())?;
    /// let mut block = sender.next_block()?.expect("a block");
    /// block.typed::<u64>()?.iter_mut().zip(0..).for_each(|(value, number)| *value = number * number);
    /// drop(block); // all of it counts as written
    /// sender.hand_over()?;
    /// assert_eq!(receiver.next_block()?.expect("a block").typed::<u64>()?[9], 81);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the block does not begin or end where such a value does.
    pub fn typed<T: NoRef>(&mut self) -> Result<&mut [T], Error> {
        const { assert!(is_plain::<T>(), "blocks hold numbers and arrays of them") };
        // SAFETY: any bytes are a plain value, and those of any are bytes.
        let (before, values, behind) = unsafe { self.align_to_mut::<T>() };
        if before.is_empty() && behind.is_empty() { Ok(values) } else { Err(not_aligned::<T>()) }
    }
}

impl Deref for BlockMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let geometry = self.sender.stream.geometry();
        let block = geometry.block_of(self.sender.position);
        let start = (self.sender.position - geometry.start_of(block)) as usize;
        let at = self.sender.stream.ring.at(block).wrapping_add(start);
        // SAFETY: U3, as in `bytes_at_position`.
        unsafe { std::slice::from_raw_parts(at, self.bytes) }
    }
}

impl DerefMut for BlockMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.sender.bytes_at_position(self.bytes)
    }
}

impl Drop for BlockMut<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicking {
            return self.sender.stream.flow().fail(Failure::SenderAborted);
        }
        self.sender.advance(self.bytes);
    }
}
