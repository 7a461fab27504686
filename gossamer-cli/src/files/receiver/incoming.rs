//! The receiver's end of the stream: records become files. Their contents come from outside.

use crate::exit::{self, Failure};
use crate::files::content::digest::Hasher;
use crate::files::content::file::SLICE;
use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::protocol::message::Answer;
use crate::files::protocol::record::{Record, Records};
use crate::files::receiver::announcements::Announcements;
use crate::files::receiver::destination::Destination;
use crate::files::receiver::ledger::Ledger;
use crate::files::receiver::location::explain;
use crate::files::receiver::partial_file::{PartialFile, WriteError};
use crate::files::receiver::tree::{Found, Tree};

/// The state of a transfer.
pub struct Incoming<'a> {
    destination: Destination,
    found: Vec<Found>,
    ledger: Ledger<'a>,
    announcements: Announcements,
    current: Option<(usize, Current)>,
    unpacked: Vec<u8>,
}

/// What happens to the contents of the current entry.
enum Current {
    PartialFile(PartialFile),
    Output(Box<Hasher>),
    /// They are compared: the file that is here is the same.
    Same,
    /// They are dropped: the entry has failed.
    Discard,
}

pub(super) fn malformed(what: &str) -> Failure {
    Failure::new(
        exit::FAILED,
        format!("what the sender says makes no sense ({what}); run one version on both sides"),
    )
}

impl<'a> Incoming<'a> {
    /// For a transfer of the ledger's entries, of which this was found here.
    #[must_use]
    pub fn new(
        destination: Destination,
        found: Vec<Found>,
        ledger: Ledger<'a>,
        announcements: Announcements,
        block: usize,
    ) -> Self {
        Self { destination, found, ledger, announcements, current: None, unpacked: vec![0; block] }
    }

    /// Takes a block.
    ///
    /// # Errors
    /// If the transfer cannot go on.
    pub fn take(&mut self, block: &[u8]) -> Result<(), Failure> {
        for record in Records::of(block) {
            match record.map_err(|_| malformed("a record"))? {
                Record::Begin { entry, at } => self.begin(entry as usize, at)?,
                Record::Data { at, bytes } => {
                    self.ledger.moved(bytes.len());
                    self.data(at, bytes)?;
                }
                Record::Compressed { at, plain, bytes } => {
                    self.ledger.moved(bytes.len());
                    self.compressed(at, plain, bytes)?;
                }
                Record::End => self.end()?,
                Record::Fail { entry, why } => self.failed_there(entry as usize, why)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: usize, at: u64) -> Result<(), Failure> {
        let (true, Some(entry), Some(found)) =
            (self.ledger.is_open(index), self.ledger.entry(index), self.found.get_mut(index))
        else {
            return Err(malformed("an entry that is not expected"));
        };
        if self.current.is_some() {
            return Err(malformed("an entry within another"));
        }
        let begun = match (&self.destination, start(found, entry, at)?) {
            (_, None) => Ok(Current::Same),
            (Destination::Output(_), Some(hasher)) => Ok(Current::Output(hasher)),
            (Destination::Tree(tree), Some(hasher)) => {
                let location = tree.locate(entry).map_err(WriteError::from);
                let begun = location.and_then(|location| PartialFile::begin(location, hasher, found.seen));
                begun.map(Current::PartialFile)
            }
        };
        let current = match begun {
            Ok(current) => current,
            Err(error) => {
                self.ledger.unwritable(index, error)?;
                Current::Discard
            }
        };
        self.current = Some((index, current));
        self.ledger.reach(at);
        Ok(())
    }

    fn compressed(&mut self, at: u64, plain: usize, bytes: &[u8]) -> Result<(), Failure> {
        let mut unpacked = std::mem::take(&mut self.unpacked);
        let room = unpacked.get_mut(..plain).ok_or_else(|| malformed("a compressed record"))?;
        match zstd::bulk::decompress_to_buffer(bytes, room) {
            Ok(count) if count == plain => self.data(at, room)?,
            _ => return Err(malformed("a compressed record")),
        }
        self.unpacked = unpacked;
        Ok(())
    }

    fn data(&mut self, mut at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let Some((index, mut current)) = self.current.take() else {
            return Err(malformed("contents of nothing"));
        };
        self.check_end(index, at, bytes)?;
        // Slice by slice, each hashed and written while it is still in the processor's cache.
        for slice in bytes.chunks(SLICE) {
            if let Err(error) = self.slice(&mut current, at, slice)? {
                self.ledger.unwritable(index, error)?;
                current = Current::Discard;
            }
            at += slice.len() as u64;
        }
        self.current = Some((index, current));
        self.ledger.reach(at);
        Ok(())
    }

    /// Whether the contents belong to the current entry.
    fn check_end(&self, index: usize, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let end = at.checked_add(bytes.len() as u64).filter(|end| i64::try_from(*end).is_ok());
        let limit = self.ledger.entry(index).filter(|entry| entry.kind != Kind::Pipe).map(Entry::bytes);
        match end {
            Some(end) if limit.is_none_or(|limit| end <= limit) => Ok(()),
            _ => Err(malformed("contents behind the end")),
        }
    }

    /// Hashes and writes contents. The inner error is about this file only.
    fn slice(
        &mut self,
        current: &mut Current,
        at: u64,
        bytes: &[u8],
    ) -> Result<Result<(), WriteError>, Failure> {
        match (current, &mut self.destination) {
            (Current::Discard, _) => {}
            (Current::PartialFile(file), _) if at >= file.at() => return Ok(file.write(at, bytes)),
            (Current::Output(hasher), Destination::Output(output)) if at >= hasher.at() => {
                output.put(hasher.at(), at, bytes)?;
                hasher.update(at, bytes);
            }
            _ => return Err(malformed("contents twice")),
        }
        Ok(Ok(()))
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some((index, current)) = self.current.take() else { return Err(malformed("an end of nothing")) };
        let (bytes, digest) = self.announcements.of(index)?;
        let Some(entry) = self.ledger.entry(index) else { return Err(malformed("an end of nothing")) };
        if entry.kind != Kind::Pipe && bytes != entry.bytes() {
            return Err(malformed("an end at another length"));
        }
        let outcome = match (current, &mut self.destination) {
            (Current::Discard, _) => return Ok(()),
            (Current::Same, destination) => {
                let seen = self.found.get(index).and_then(|found| found.seen);
                destination.confirm(entry, seen).map_err(WriteError::from)
            }
            (Current::PartialFile(file), Destination::Tree(tree)) if bytes >= file.at() => {
                file.finish(entry, bytes, digest, tree.overwrites())
            }
            (Current::Output(hasher), Destination::Output(output)) if bytes >= hasher.at() => {
                output.put(hasher.at(), bytes, &[])?;
                match hasher.finish(bytes) == digest {
                    true => Ok(()),
                    false => Err(WriteError::ThisFile(
                        "arrived with contents other than those that were sent".into(),
                    )),
                }
            }
            _ => return Err(malformed("an end in the middle")),
        };
        match outcome {
            Ok(()) => {
                self.ledger.settle_with(index, bytes);
                Ok(())
            }
            Err(error) => self.ledger.unwritable(index, error),
        }
    }

    fn failed_there(&mut self, index: usize, why: &str) -> Result<(), Failure> {
        match self.ledger.outcome(index) {
            None if self.ledger.is_open(index) => self.ledger.fail(index, &format!("the sender: {why}")),
            Some(false) => {}
            _ => return Err(malformed("a failure of what was done")),
        }
        self.current = None;
        Ok(())
    }

    /// Call it when the stream has ended well: makes links and finishes directories. Returns how many files there are.
    #[must_use]
    pub fn finish(self) -> usize {
        let Self { destination, found, mut ledger, .. } = self;
        for index in 0..ledger.count() {
            if ledger.is_open(index) {
                ledger.fail_here(index, "was not sent");
            }
        }
        if let Destination::Tree(tree) = &destination {
            finish_tree(tree, &found, &mut ledger);
        }
        ledger.files()
    }
}

/// A hasher of what is here of an entry that begins at an offset; nothing if all of it is here.
fn start(found: &mut Found, entry: &Entry, at: u64) -> Result<Option<Box<Hasher>>, Failure> {
    match (&found.answer, at) {
        (Answer::Compare { .. }, at) if at == entry.bytes() => Ok(None),
        (Answer::Compare { replace: true, .. } | Answer::Send | Answer::Have { .. }, 0) => {
            Ok(Some(Box::default()))
        }
        (Answer::Have { bytes, .. }, at) if *bytes == at => Ok(found.hasher.take()),
        _ => Err(malformed("an entry from the middle on")),
    }
}

/// Links come last, so that nothing is written through them; a directory comes after everything in it.
fn finish_tree(tree: &Tree, found: &[Found], ledger: &mut Ledger<'_>) {
    for index in (0..ledger.count()).rev() {
        let (Some(entry), Some(true)) = (ledger.entry(index), ledger.outcome(index)) else { continue };
        let outcome = match &entry.kind {
            Kind::Link(target) => tree.make_link(entry, target),
            Kind::Directory => tree.finish_directory(entry, found.get(index).and_then(|found| found.seen)),
            Kind::File(_) | Kind::Pipe => Ok(()),
        };
        if let Err(error) = outcome {
            ledger.fail_here(index, &explain(error));
        }
    }
    if let Err(error) = tree.finish() {
        ledger.fail_beside(".", &explain(error));
    }
}
