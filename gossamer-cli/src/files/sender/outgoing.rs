//! The sender's end of the stream: contents are read straight into its blocks.

use crate::files::protocol::record::{HEAD, Record};
use crate::files::sender::compression::{Compressor, Placed, place};
use crate::files::sender::rate_limit::RateLimit;
use gossamer::stream::{self, Error};
use std::io;

/// If a block has less room than this, the next one is begun.
const LEAST: usize = 32 << 10;

/// The stream.
pub struct Outgoing {
    stream: stream::Sender,
    block: usize,
    compressor: Option<Compressor>,
    limit: Option<RateLimit>,
}

/// Why contents were not sent.
#[derive(Debug)]
pub enum ContentError {
    /// They could not be read.
    Read(io::Error),
    /// The stream has ended.
    Stream(Error),
}

impl From<Error> for ContentError {
    fn from(error: Error) -> Self {
        Self::Stream(error)
    }
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
        let compressor = level.map(Compressor::new).transpose()?;
        Ok(Self { stream, block, compressor, limit: rate.map(RateLimit::new) })
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

    /// Sends contents that belong at an offset: at most `most` bytes, and as many as fit. `read` gets the place in the
    /// block where they belong. Returns how many bytes came, and how many they took.
    ///
    /// # Errors
    /// The error of `read`, after which these contents are not sent; or what has ended the stream.
    pub fn data(
        &mut self,
        at: u64,
        most: u64,
        read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<(usize, usize), ContentError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.make_room(HEAD + most.min(LEAST))?;
        let Some(mut block) = self.stream.next_block()? else { return Ok((0, 0)) };
        let Some((head, room)) = block.split_first_chunk_mut::<HEAD>() else { return Ok((0, 0)) };
        let most = most.min(room.len());
        let room = room.get_mut(..most).unwrap_or_default();
        let placed = match &mut self.compressor {
            Some(compressor) => compressor.place(at, room, read),
            None => place(at, room, read),
        };
        match placed {
            Ok(Placed { plain: 0, .. }) => {
                block.commit(0);
                Ok((0, 0))
            }
            Ok(placed) => {
                *head = placed.head;
                block.commit(HEAD + placed.taken);
                if let Some(limit) = &mut self.limit {
                    limit.spend(HEAD + placed.taken);
                }
                Ok((placed.plain, placed.taken))
            }
            Err(error) => {
                block.commit(0);
                Err(ContentError::Read(error))
            }
        }
    }

    /// Sends everything so far on its way, though the block is not full.
    ///
    /// # Errors
    /// What has ended the stream.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.stream.hand_over()
    }

    /// Goes to the next block if this one has less room than that.
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

    /// Call it when everything was sent: waits until the receiver has it.
    ///
    /// # Errors
    /// Why the stream has ended early.
    pub fn finish(self) -> Result<(), Error> {
        self.stream.finish()
    }
}
