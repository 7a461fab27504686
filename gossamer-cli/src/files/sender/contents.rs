//! The contents of one entry on their way into the stream, as handed from step to step.

use crate::files::content::digest::Hasher;
use crate::files::content::file::SLICE;
use crate::files::pairing::control::ControlSender;
use crate::files::protocol::message::SenderMessage;
use crate::files::protocol::record::Record;
use crate::files::sender::feedback::Feedback;
use crate::files::sender::outgoing::{ContentError, Outgoing};
use crate::files::sender::tally::Tally;
use gossamer::stream::Error;
use std::io;

/// What all entries of a transfer are sent with.
pub struct Channels<'a> {
    /// The stream.
    pub out: Outgoing,
    /// The control connection beside it.
    pub control: ControlSender,
    /// What the receiver says meanwhile.
    pub feedback: Feedback,
    /// What the user is told.
    pub tally: Tally<'a>,
}

/// Why an entry was not sent.
#[derive(Debug)]
pub enum Unsent {
    /// It cannot be read, or must not be replaced at the receiver.
    Entry(String),
    /// The receiver no longer wants it, and has said why.
    Refused,
    /// The stream has ended.
    Stream(Error),
}

impl From<Error> for Unsent {
    fn from(error: Error) -> Self {
        Self::Stream(error)
    }
}

impl From<ContentError> for Unsent {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Read(error) => error.into(),
            ContentError::Stream(error) => Self::Stream(error),
        }
    }
}

impl From<io::Error> for Unsent {
    fn from(error: io::Error) -> Self {
        Self::Entry(format!("cannot be read: {error}"))
    }
}

/// An entry that has begun.
pub struct Contents<'c, 'a> {
    channels: &'c mut Channels<'a>,
    index: usize,
    hasher: Hasher,
}

impl<'c, 'a> Contents<'c, 'a> {
    /// Begins an entry, behind the bytes that `hasher` has taken.
    ///
    /// # Errors
    /// If the stream has ended.
    pub fn begin(channels: &'c mut Channels<'a>, index: usize, hasher: Hasher) -> Result<Self, Unsent> {
        channels.out.put(Record::Begin { entry: entry_number(index), at: hasher.at() })?;
        Ok(Self { channels, index, hasher })
    }

    /// How far it is.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.hasher.at()
    }

    /// Skips a hole, up to an offset.
    pub fn pass_over(&mut self, offset: u64) {
        self.hasher.pass_over(offset);
    }

    /// Sends a piece of contents, of `most` bytes; `read` gets a buffer and an offset. False if nothing came.
    ///
    /// # Errors
    /// Why the rest of the entry is not to be sent.
    pub fn piece(
        &mut self,
        most: u64,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> Result<bool, Unsent> {
        self.check_wanted()?;
        let Self { channels: Channels { out, tally, .. }, hasher, .. } = self;
        // Each slice is read and hashed while it is in the processor's cache.
        let (count, taken) = out.data(hasher.at(), most, |place| {
            let slice = place.len().min(SLICE);
            let count = read(place.get_mut(..slice).unwrap_or_default(), hasher.at())?;
            hasher.update(hasher.at(), place.get(..count).unwrap_or_default());
            Ok(count)
        })?;
        tally.moved(taken);
        tally.reach(hasher.at());
        Ok(count > 0)
    }

    /// Whether the receiver still wants the entry. The stream would report that only once a block is full, which takes
    /// long if input is slow, or if much input compresses to few bytes.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_wanted(&mut self) -> Result<(), Unsent> {
        let Channels { feedback, tally, .. } = &mut *self.channels;
        if feedback.poll(tally) {
            return Err(Unsent::Stream(Error::PeerLost { at: self.hasher.at() }));
        }
        if tally.has_failed(self.index) { Err(Unsent::Refused) } else { Ok(()) }
    }

    /// Sends everything so far on its way, though the block is not full.
    ///
    /// # Errors
    /// If the stream has ended.
    pub fn flush(&mut self) -> Result<(), Unsent> {
        Ok(self.channels.out.flush()?)
    }

    /// All was sent: the entry had this many bytes.
    ///
    /// # Errors
    /// If the receiver is lost.
    pub fn end(self, bytes: u64) -> Result<(), Unsent> {
        let (entry, digest) = (entry_number(self.index), self.hasher.finish(bytes));
        let said = self.channels.control.send(&SenderMessage::Sent { entry, bytes, digest });
        said.map_err(|_| Unsent::Stream(Error::PeerLost { at: bytes }))?;
        Ok(self.channels.out.put(Record::End)?)
    }
}

/// The number by which records name an entry.
#[must_use]
pub fn entry_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
