//! The sender's end of the stream: contents are read straight into its blocks.

use crate::files::record::{HEAD, Record};
use crate::files::source::fill;
use gossamer::stream::{self, Error};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// With less room than this a block is left, and the next one begun.
const LEAST: usize = 32 << 10;
/// Compressed at a time.
const PIECE: usize = 512 << 10;

/// The stream.
pub struct Outgoing {
    stream: stream::Sender,
    block: usize,
    packer: Option<Packer>,
    limit: Option<Limit>,
}

/// Why contents were not sent.
#[derive(Debug)]
pub enum Trouble {
    /// They could not be read.
    Read(io::Error),
    /// The stream has ended.
    Stream(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Stream(error)
    }
}

/// Compresses.
struct Packer {
    zstd: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
}

impl Outgoing {
    /// Over a stream with blocks of this size; with a level of compression, and a limit of bytes per second.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(
        stream: stream::Sender,
        block: usize,
        level: Option<i32>,
        rate: Option<u64>,
    ) -> io::Result<Self> {
        let packer = |level| {
            Ok::<_, io::Error>(Packer { zstd: zstd::bulk::Compressor::new(level)?, plain: vec![0; PIECE] })
        };
        let packer = level.map(packer).transpose()?;
        let limit = rate.map(|rate| Limit { rate, next: Instant::now() });
        Ok(Self { stream, block, packer, limit })
    }

    /// Sends a record without contents.
    ///
    /// # Errors
    /// What has ended the stream.
    pub fn put(&mut self, record: Record<'_>) -> Result<(), Error> {
        let (head, bytes) = record.parts();
        self.make_room(HEAD + bytes.len())?;
        self.stream.write_everything(&head)?;
        self.stream.write_everything(bytes)
    }

    /// Sends contents that belong at an offset, `most` of them and as many as fit: `read` gets the place where they belong in the
    /// block. Returns how many came, and how many bytes they took.
    ///
    /// # Errors
    /// Of `read`, whose contents are then not sent; what has ended the stream.
    pub fn data(
        &mut self,
        at: u64,
        most: u64,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<(usize, usize), Trouble> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.make_room(HEAD + most.min(LEAST))?;
        let Some(mut block) = self.stream.next_block()? else { return Ok((0, 0)) };
        let Some((head, room)) = block.split_first_chunk_mut::<HEAD>() else { return Ok((0, 0)) };
        let most = most.min(room.len());
        let outcome = match &mut self.packer {
            Some(packer) => packer.pack(at, room, most, &mut read),
            None => fill(room.get_mut(..most).unwrap_or_default(), &mut read).map(|count| Packed {
                plain: count,
                taken: count,
                head: Record::Data { at, bytes: room.get(..count).unwrap_or_default() }.parts().0,
            }),
        };
        match outcome {
            Ok(Packed { plain: 0, .. }) => {
                block.commit(0);
                Ok((0, 0))
            }
            Ok(packed) => {
                *head = packed.head;
                block.commit(HEAD + packed.taken);
                if let Some(limit) = &mut self.limit {
                    limit.spend(HEAD + packed.taken);
                }
                Ok((packed.plain, packed.taken))
            }
            Err(error) => {
                block.commit(0);
                Err(Trouble::Read(error))
            }
        }
    }

    /// Has what was put so far arrive, though its block is not full.
    ///
    /// # Errors
    /// What has ended the stream.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.stream.hand_over()
    }

    /// Goes to the next block if this one has less room.
    fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        let room = self.block - (self.stream.position() % self.block as u64) as usize;
        if room < bytes
            && let Some(mut rest) = self.stream.next_block()?
        {
            let unused = rest.len().min(HEAD);
            rest.get_mut(..unused).unwrap_or_default().fill(0);
        }
        Ok(())
    }

    /// All was sent: waits until the receiver has it.
    ///
    /// # Errors
    /// What has ended the stream before its time.
    pub fn finish(self) -> Result<(), Error> {
        self.stream.finish()
    }
}

/// A record of contents whose bytes are in their place.
struct Packed {
    plain: usize,
    taken: usize,
    head: [u8; HEAD],
}

impl Packer {
    fn pack(
        &mut self,
        at: u64,
        room: &mut [u8],
        most: usize,
        read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Packed> {
        let most = most.min(self.plain.len());
        let plain = fill(self.plain.get_mut(..most).unwrap_or_default(), read)?;
        let contents = self.plain.get(..plain).unwrap_or_default();
        // It fails if it would take more room than the contents, which then go as they are.
        let least = room.get_mut(..plain).unwrap_or_default();
        let taken = self.zstd.compress_to_buffer(contents, least).unwrap_or(plain);
        if taken < plain {
            let bytes = least.get(..taken).unwrap_or_default();
            return Ok(Packed { plain, taken, head: Record::Packed { at, plain, bytes }.parts().0 });
        }
        least.copy_from_slice(contents);
        Ok(Packed { plain, taken: plain, head: Record::Data { at, bytes: contents }.parts().0 })
    }
}

/// Lets so many bytes a second pass.
struct Limit {
    rate: u64,
    /// When the next bytes may go.
    next: Instant,
}

impl Limit {
    fn spend(&mut self, bytes: usize) {
        let now = Instant::now();
        // What was not used for so long is lost: later bytes are not faster for it.
        let least = now.checked_sub(Duration::from_millis(200)).unwrap_or(now);
        self.next = self.next.max(least) + Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        thread::sleep(self.next.saturating_duration_since(now));
    }
}
