//! [`Receiver`]: the end that reads, by blocks of the ring's home mapping: no window, no faults.
#![expect(unsafe_code, reason = "blocks are references into the ring")]

use crate::counters::stream::{RECEIVERS, Tally};
use crate::stream::Error;
use crate::stream::ends::access::{is_plain, not_aligned};
use crate::stream::ends::stream_end::StreamEnd;
use crate::sys::memory::range::{Access, Range};
use crate::wire::NoRef;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

/// The end of a stream that reads.
///
/// Its calls wait for data that was not sent yet, which blocks only the fiber. Reading to the end (a `None`, or zero
/// bytes) shows that the sender has finished, and confirms all bytes to it. Dropping a receiver before that aborts
/// the stream: the sender gets an error.
pub struct Receiver {
    pub(super) stream: StreamEnd,
    /// The next byte.
    pub(super) position: u64,
    /// The zeros that holes read as, once there was one.
    zeros: Option<Range>,
    pub(super) read: Tally,
}

impl Receiver {
    pub(crate) fn new(stream: StreamEnd) -> Self {
        Self { stream, position: 0, zeros: None, read: Tally::new(&RECEIVERS) }
    }

    pub(crate) fn into_untouched_end(self) -> Result<StreamEnd, Error> {
        if self.position == 0 {
            Ok(self.stream)
        } else {
            Err(Error::Refused("something was read already: make the window before".into()))
        }
    }

    /// The length of the stream, if it is known yet.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Length};
    /// let (mut sender, mut receiver) = stream::pair(Length::Open, Geometry::default())?;
    /// assert_eq!(receiver.length(), None); // the sender may write on
    /// let reading = std::thread::spawn(move || {
    ///     while receiver.next_block()?.is_some() {}
    ///     Ok::<_, stream::Error>(receiver.length())
    /// });
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// assert_eq!(reading.join().unwrap()?, Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn length(&self) -> Option<u64> {
        self.stream.length.or_else(|| self.stream.flow().length())
    }

    /// The next byte.
    ///
    /// ```
    /// use std::io::Read;
    /// let (mut sender, mut receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// sender.write_everything(b"hello")?;
    /// sender.hand_over()?;
    /// receiver.read_exact(&mut [0; 3])?;
    /// assert_eq!(receiver.position(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The first byte that can still be read.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry};
    /// use std::io::{Read, Seek, SeekFrom};
    /// let (mut sender, mut receiver) = stream::pair(4096 * 4, Geometry::new().block(4096).comeback(1))?;
    /// sender.write_everything(&[7; 4096 * 4])?;
    /// sender.hand_over()?;
    /// receiver.read_exact(&mut [0; 4096 * 3 + 1])?; // into the fourth block
    /// assert_eq!(receiver.first(), 4096 * 2); // one block before it is still there
    /// receiver.seek(SeekFrom::Start(receiver.first()))?;
    /// assert!(receiver.seek(SeekFrom::Start(0)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first(&self) -> u64 {
        self.stream.geometry().start_of(self.stream.flow().released())
    }

    /// The rest of the block at the position, or the part that the sender has [flushed](std::io::Write::flush);
    /// `None` at the end, which this confirms. It is mapped: no fault happens. Dropping it counts all of it as read.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || {
    ///     let mut bytes = 0;
    ///     while let Some(block) = receiver.next_block()? {
    ///         bytes += block.len(); // dropping it makes room for the sender
    ///     }
    ///     Ok::<usize, gossamer::stream::Error>(bytes)
    /// });
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// assert_eq!(reading.join().unwrap()?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream early.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, Error> {
        let Some(bytes) = self.reach(self.position, 1)? else {
            self.stream.finish_receiving()?;
            return Ok(None);
        };
        Ok(Some(Block { bytes, receiver: self }))
    }

    /// Releases the blocks before the comeback of an offset, and looks at the offset.
    pub(super) fn reach(&mut self, offset: u64, least: u64) -> Result<Option<usize>, Error> {
        self.stream.check_process()?;
        let geometry = self.stream.geometry();
        let first = self.first();
        if offset < first {
            return Err(Error::BehindComeback { offset, first });
        }
        let block = geometry.block_of(offset);
        self.stream.flow().release(block.saturating_sub(geometry.comeback_blocks()));
        self.look(offset, least)
    }

    /// Waits for `least` bytes from an offset on, or the rest of its block. Returns how many there are; none at the end.
    #[track_caller]
    fn look(&mut self, offset: u64, least: u64) -> Result<Option<usize>, Error> {
        let Some(bytes) = self.stream.wait_for_bytes(offset, least)? else { return Ok(None) };
        let geometry = self.stream.geometry();
        if self.zeros.is_none() && !self.stream.flow().is_labelled(geometry.block_of(offset), &geometry) {
            self.zeros = Some(zeros(geometry.block_bytes()).map_err(Error::io("memory for zeros"))?);
        }
        Ok(Some(bytes))
    }

    /// Bytes that were looked at.
    pub(super) fn bytes_at(&self, offset: u64, bytes: usize) -> &[u8] {
        let geometry = self.stream.geometry();
        let block = geometry.block_of(offset);
        let start = (offset - geometry.start_of(block)) as usize;
        let is_there = self.stream.flow().is_labelled(block, &geometry);
        let at = match &self.zeros {
            Some(zeros) if !is_there => zeros.at(start),
            _ => self.stream.ring.at(block).wrapping_add(start),
        };
        // SAFETY: U3 to U5: the bytes were handed over or flushed, and their block was not released, so they are there for the receiver,
        // whom this borrows, and nobody writes them. Zeros are as long as a block.
        unsafe { std::slice::from_raw_parts(at, bytes) }
    }

    /// Reads from anywhere between [`first`](Self::first) and the furthest that the sender can be ahead, and waits
    /// for it. The position stays.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// sender.write_everything(b"hello")?;
    /// sender.hand_over()?;
    /// let mut end = [0; 2];
    /// receiver.read_at(3, &mut end)?;
    /// assert_eq!((&end, receiver.position()), (b"lo", 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `BehindComeback` or `Overrun`, if some of it is elsewhere, and what has ended the stream before its time.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn read_at(&mut self, mut offset: u64, mut buffer: &mut [u8]) -> Result<(), Error> {
        self.stream.check_process()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let geometry = self.stream.geometry();
        if offset < self.first() {
            return Err(Error::BehindComeback { offset, first: self.first() });
        }
        // The sender gets this far without a release: its own comeback stays with it until it goes on.
        let reach = |receiver: &Self| {
            let slots = geometry.slots() as u64 - geometry.comeback_blocks();
            geometry.start_of(receiver.stream.flow().released().saturating_add(slots))
        };
        let end = offset
            .checked_add(buffer.len() as u64)
            .ok_or(Error::Overrun { offset: u64::MAX, end: reach(self) })?;
        if end > reach(self) {
            // The blocks that the position has left behind, except those to be read now.
            let left = geometry.block_of(self.position).saturating_sub(geometry.comeback_blocks());
            self.stream.flow().release(left.min(geometry.block_of(offset)));
        }
        let limit = reach(self).min(self.length().unwrap_or(u64::MAX));
        if end > limit {
            return Err(Error::Overrun { offset: end, end: limit });
        }
        while !buffer.is_empty() {
            let Some(bytes) = self.look(offset, buffer.len() as u64)? else {
                return Err(Error::Overrun { offset, end: self.length().unwrap_or_default() });
            };
            let count = bytes.min(buffer.len());
            let (now, later) = buffer.split_at_mut(count);
            now.copy_from_slice(self.bytes_at(offset, count));
            (offset, buffer) = (offset + count as u64, later);
        }
        Ok(())
    }

    /// All values of the rest of the stream, one by one. Blocks are faster: [`Block::typed`].
    ///
    /// An error ends the iteration.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(8 * 3, gossamer::stream::Geometry::default())?;
    /// [1_u64, 2, 3].into_iter().try_for_each(|value| sender.write_everything(&value.to_ne_bytes()))?;
    /// let sending = std::thread::spawn(move || sender.finish());
    /// let sum = receiver.values::<u64>().try_fold(0, |sum, value| Ok::<_, gossamer::stream::Error>(sum + value?))?;
    /// assert_eq!(sum, 6);
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values<T: NoRef>(&mut self) -> Values<'_, T> {
        const { assert!(is_plain::<T>(), "streams hold numbers and arrays of them") };
        Values { receiver: self, ended: false, of: PhantomData }
    }

    /// Calls `body` with all values of the rest of the stream, a block at a time.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(8 * 3, gossamer::stream::Geometry::default())?;
    /// [1_u64, 2, 3].into_iter().try_for_each(|value| sender.write_everything(&value.to_ne_bytes()))?;
    /// let sending = std::thread::spawn(move || sender.finish());
    /// let mut sum = 0;
    /// receiver.for_each_slice(|values: &[u64]| sum += values.iter().sum::<u64>())?;
    /// assert_eq!(sum, 6);
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream early; if a block does not consist of such values.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn for_each_slice<T: NoRef>(&mut self, mut body: impl FnMut(&[T])) -> Result<(), Error> {
        while let Some(block) = self.next_block()? {
            body(block.typed()?);
        }
        Ok(())
    }

    /// Waits until the sender has finished, and confirms all bytes, whether or not they were read.
    ///
    /// ```
    /// let (mut sender, receiver) = gossamer::stream::pair(5, gossamer::stream::Geometry::default())?;
    /// let reading = std::thread::spawn(move || receiver.finish()); // takes all bytes, and looks at none
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// reading.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What ended the stream early.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn finish(mut self) -> Result<(), Error> {
        self.stream.drain()?;
        self.stream.finish_receiving()
    }
}

/// Memory that reads as zeros and takes none.
fn zeros(bytes: usize) -> io::Result<Range> {
    let range = Range::reserve(bytes, 4096)?;
    // SAFETY: a new range: nobody refers to anything in it.
    unsafe { range.clear(0, bytes, Access::Read) }?;
    Ok(range)
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("position", &self.position).finish_non_exhaustive()
    }
}

/// The rest of a block.
#[derive(Debug)]
pub struct Block<'a> {
    receiver: &'a mut Receiver,
    bytes: usize,
}

impl Block<'_> {
    /// The block as values of a plain type.
    ///
    /// ```
    /// let (mut sender, mut receiver) = gossamer::stream::pair(8 * 3, gossamer::stream::Geometry::default())?;
    /// [1_u64, 2, 3].into_iter().try_for_each(|value| sender.write_everything(&value.to_ne_bytes()))?;
    /// sender.hand_over()?;
    /// let block = receiver.next_block()?.expect("a block");
    /// assert_eq!(block.typed::<u64>()?, [1, 2, 3]); // not copied
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the block does not begin or end where such a value does.
    pub fn typed<T: NoRef>(&self) -> Result<&[T], Error> {
        const { assert!(is_plain::<T>(), "blocks hold numbers and arrays of them") };
        // SAFETY: any bytes are a plain value.
        let (before, values, behind) = unsafe { self.align_to::<T>() };
        if before.is_empty() && behind.is_empty() { Ok(values) } else { Err(not_aligned::<T>()) }
    }
}

impl Deref for Block<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.receiver.bytes_at(self.receiver.position, self.bytes)
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.receiver.read.add(self.bytes as u64);
        self.receiver.position += self.bytes as u64;
    }
}

/// The values of a stream: [`Receiver::values`].
#[derive(Debug)]
pub struct Values<'a, T> {
    receiver: &'a mut Receiver,
    ended: bool,
    of: PhantomData<T>,
}

impl<T: NoRef> Iterator for Values<'_, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let value = match self.receiver.reach(self.receiver.position, size_of::<T>() as u64) {
            Ok(Some(bytes)) if bytes >= size_of::<T>() => {
                let at = self.receiver.bytes_at(self.receiver.position, size_of::<T>()).as_ptr();
                self.receiver.read.add(size_of::<T>() as u64);
                self.receiver.position += size_of::<T>() as u64;
                // SAFETY: any bytes are a plain value, and these are as many as it has.
                return Some(Ok(unsafe { at.cast::<T>().read_unaligned() }));
            }
            Ok(Some(_)) => Some(Err(not_aligned::<T>())),
            Ok(None) => self.receiver.stream.finish_receiving().err().map(Err),
            Err(error) => Some(Err(error)),
        };
        self.ended = true;
        value
    }
}
