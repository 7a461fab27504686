//! The receiver's end of the stream: records become files. What is in them is from outside.

use crate::exit::{self, Failure};
use crate::files::digest::Hasher;
use crate::files::link::Link;
use crate::files::manifest::{Entry, Kind};
use crate::files::message::{Answer, Answered};
use crate::files::output::Output;
use crate::files::part::{Part, Trouble, finish_file};
use crate::files::record::{Record, Records};
use crate::files::show::Show;
use crate::files::source::SLICE;
use crate::files::tree::{Found, Tree, explain};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Where contents go.
#[derive(Debug)]
pub enum Target {
    /// Into files.
    Tree(Tree),
    /// To standard output.
    Output(File),
}

/// The state of a transfer.
pub struct Incoming<'a> {
    target: Target,
    entries: Vec<Entry>,
    found: Vec<Found>,
    /// Which entries are done, or have failed.
    settled: Vec<Option<bool>>,
    current: Option<(usize, Current)>,
    /// Bytes of the entries that are settled.
    behind: u64,
    unpacked: Vec<u8>,
    link: &'a mut Link,
    show: &'a mut Show,
}

/// What becomes of what comes.
enum Current {
    Part(Part),
    Output(Box<Hasher>),
    /// The file there is the same.
    Same,
    /// It has failed: the rest of it is of no use.
    Discard,
}

fn malformed(what: &str) -> Failure {
    Failure::new(
        exit::FAILED,
        format!("what the sender says makes no sense ({what}); run one version on both sides"),
    )
}

impl<'a> Incoming<'a> {
    /// A transfer of these entries, for which this was found.
    pub fn new(
        target: Target,
        entries: Vec<Entry>,
        found: Vec<Found>,
        block: usize,
        link: &'a mut Link,
        show: &'a mut Show,
    ) -> Self {
        let settled = vec![None; entries.len()];
        let unpacked = vec![0; block];
        let mut this =
            Self { target, entries, found, settled, current: None, behind: 0, unpacked, link, show };
        for index in 0..this.entries.len() {
            match this.found.get(index).map(|found| found.answer.clone()) {
                Some(Answer::Done) => this.settle(index, true),
                Some(Answer::Refused(why)) => this.fail(index, &why, false),
                _ => {}
            }
        }
        this
    }

    /// A block has come.
    ///
    /// # Errors
    /// If the transfer cannot go on.
    pub fn take(&mut self, block: &[u8]) -> Result<(), Failure> {
        for record in Records::of(block) {
            match record.map_err(|_| malformed("a record"))? {
                Record::Begin { entry, at } => self.begin(entry as usize, at)?,
                Record::Data { at, bytes } => {
                    self.show.moved(bytes.len());
                    self.data(at, bytes)?;
                }
                Record::Packed { at, plain, bytes } => {
                    self.show.moved(bytes.len());
                    let mut unpacked = std::mem::take(&mut self.unpacked);
                    let place = unpacked.get_mut(..plain).ok_or_else(|| malformed("a compressed record"))?;
                    match zstd::bulk::decompress_to_buffer(bytes, place) {
                        Ok(count) if count == plain => self.data(at, place)?,
                        _ => return Err(malformed("a compressed record")),
                    }
                    self.unpacked = unpacked;
                }
                Record::End { bytes, digest } => self.end(bytes, digest)?,
                Record::Fail { entry, why } => self.failed_there(entry as usize, why)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: usize, at: u64) -> Result<(), Failure> {
        let (Some(entry), Some(found), Some(None)) =
            (self.entries.get(index), self.found.get_mut(index), self.settled.get(index))
        else {
            return Err(malformed("an entry that is not expected"));
        };
        if self.current.is_some() {
            return Err(malformed("an entry within another"));
        }
        let hasher = match (&found.answer, at) {
            (Answer::Compare { .. }, at) if at == entry.bytes() => None,
            (Answer::Compare { replace: true, .. } | Answer::Send | Answer::Have { .. }, 0) => {
                Some(Box::default())
            }
            (Answer::Have { bytes, .. }, at) if *bytes == at => found.hasher.take(),
            _ => return Err(malformed("an entry from the middle on")),
        };
        let current = match (&self.target, hasher) {
            (_, None) => Current::Same,
            (Target::Output(_), Some(hasher)) => Current::Output(hasher),
            (Target::Tree(tree), Some(hasher)) => {
                let part = tree.place(entry).map_err(Trouble::from);
                match part.and_then(|place| Part::begin(place, hasher)) {
                    Ok(part) => Current::Part(part),
                    Err(trouble) => {
                        self.trouble(index, trouble)?;
                        Current::Discard
                    }
                }
            }
        };
        self.current = Some((index, current));
        self.show.reach(self.behind + at);
        Ok(())
    }

    fn data(&mut self, mut at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let Some((index, mut current)) = self.current.take() else {
            return Err(malformed("contents of nothing"));
        };
        let end = at.checked_add(bytes.len() as u64).filter(|end| i64::try_from(*end).is_ok());
        let limit = self.entries.get(index).filter(|entry| entry.kind != Kind::Pipe).map(Entry::bytes);
        if end.is_none_or(|end| limit.is_some_and(|limit| end > limit)) {
            return Err(malformed("contents behind the end"));
        }
        // Each slice is hashed and written while it is still in the processor's cache.
        for slice in bytes.chunks(SLICE) {
            let outcome = match &mut current {
                Current::Discard => Ok(()),
                Current::Part(part) if at >= part.at() => part.write(at, slice),
                Current::Output(hasher) if at >= hasher.at() => {
                    self.put_out(hasher.at(), at, slice)?;
                    hasher.update(at, slice);
                    Ok(())
                }
                _ => return Err(malformed("contents twice")),
            };
            if let Err(trouble) = outcome {
                self.trouble(index, trouble)?;
                current = Current::Discard;
            }
            at += slice.len() as u64;
        }
        self.current = Some((index, current));
        self.show.reach(self.behind + at);
        Ok(())
    }

    /// Writes to standard output: zeros where a file has a hole.
    fn put_out(&mut self, from: u64, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let Target::Output(output) = &mut self.target else { return Ok(()) };
        let output = &mut Output(output);
        let zeros = io::copy(&mut io::Read::take(io::repeat(0), at.saturating_sub(from)), output);
        zeros.and_then(|_| output.write_all(bytes)).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => {
                Failure::new(exit::SIGNALLED + 13, "whoever read standard output has closed it")
            }
            _ => Failure::new(exit::OUTPUT, format!("cannot write to standard output: {error}")),
        })
    }

    fn end(&mut self, bytes: u64, digest: u128) -> Result<(), Failure> {
        let Some((index, current)) = self.current.take() else { return Err(malformed("an end of nothing")) };
        let Some(entry) = self.entries.get(index) else { return Err(malformed("an end of nothing")) };
        if entry.kind != Kind::Pipe && bytes != entry.bytes() {
            return Err(malformed("an end at another length"));
        }
        let outcome = match current {
            Current::Discard => return Ok(()),
            Current::Same => self.confirm(entry).map_err(Trouble::from),
            Current::Part(part) if bytes >= part.at() => {
                let overwrite = matches!(&self.target, Target::Tree(tree) if tree.overwrites());
                part.finish(entry, bytes, digest, overwrite)
            }
            Current::Output(hasher) if bytes >= hasher.at() => {
                self.put_out(hasher.at(), bytes, &[])?;
                match hasher.finish(bytes) == digest {
                    true => Ok(()),
                    false => Err(Trouble::Here("arrived with other contents than were sent".into())),
                }
            }
            _ => return Err(malformed("an end in the middle")),
        };
        match outcome {
            Ok(()) => {
                let more = bytes.saturating_sub(self.entries.get(index).map_or(0, Entry::bytes));
                self.behind = self.behind.saturating_add(more);
                self.settle(index, true);
                Ok(())
            }
            Err(trouble) => self.trouble(index, trouble),
        }
    }

    /// The file that is there already gets the time and permissions of the sender's.
    fn confirm(&self, entry: &Entry) -> Result<(), rustix::io::Errno> {
        match &self.target {
            Target::Tree(tree) => finish_file(&tree.place(entry)?.open(OFlags::RDONLY)?, entry),
            Target::Output(_) => Ok(()),
        }
    }

    fn failed_there(&mut self, index: usize, why: &str) -> Result<(), Failure> {
        match self.settled.get(index) {
            Some(None) => self.fail(index, &format!("the sender: {why}"), false),
            Some(Some(false)) => {}
            _ => return Err(malformed("a failure of what was done")),
        }
        self.current = None;
        Ok(())
    }

    fn trouble(&mut self, index: usize, trouble: Trouble) -> Result<(), Failure> {
        match trouble {
            Trouble::Here(why) => {
                self.fail(index, &why, true);
                Ok(())
            }
            Trouble::Everywhere(why) => {
                let name = self.entries.get(index).map(Entry::name).unwrap_or_default();
                let left = self.settled.iter().filter(|settled| settled.is_none()).count();
                let what = format!(
                    "cannot write {name}: {why}; what has arrived is kept, {left} entries are missing: make room, and \
                     run both commands again"
                );
                Err(Failure::new(exit::OUTPUT, what))
            }
        }
    }

    fn settle(&mut self, index: usize, is_done: bool) {
        if let Some(settled) = self.settled.get_mut(index)
            && settled.replace(is_done).is_none()
        {
            self.behind += self.entries.get(index).map_or(0, Entry::bytes);
            self.show.reach(self.behind);
        }
    }

    /// An entry has failed; the sender is told unless it knows.
    fn fail(&mut self, index: usize, why: &str, tell: bool) {
        let name = self.entries.get(index).map(Entry::name).unwrap_or_default();
        self.show.fail(&name, why);
        self.settle(index, false);
        if tell {
            let entry = u32::try_from(index).unwrap_or(u32::MAX);
            // If it is gone, the stream says so.
            let _told = self.link.send(&Answered::Failed { entry, why: why.into() });
        }
    }

    /// The stream has ended well: makes links, finishes directories. Returns how many files there are.
    pub fn finish(mut self) -> usize {
        for index in 0..self.entries.len() {
            if self.settled.get(index) == Some(&None) {
                self.fail(index, "was not sent", true);
            }
        }
        // Links last, so that nothing is written through them; a directory behind all that is in it.
        for index in (0..self.entries.len()).rev() {
            let (Target::Tree(tree), Some(entry), Some(Some(true))) =
                (&self.target, self.entries.get(index), self.settled.get(index))
            else {
                continue;
            };
            let outcome = match &entry.kind {
                Kind::Link(target) => tree.make_link(entry, target),
                Kind::Directory => tree.finish_directory(entry),
                Kind::File(_) | Kind::Pipe => Ok(()),
            };
            if let Err(error) = outcome {
                self.fail(index, &explain(error), true);
            }
        }
        if let Target::Tree(tree) = &self.target
            && let Err(error) = tree.finish()
        {
            self.show.fail(".", &explain(error));
        }
        let counts = |(entry, settled): (&Entry, &Option<bool>)| {
            entry.kind != Kind::Directory && *settled == Some(true)
        };
        self.entries.iter().zip(&self.settled).filter(|pair| counts(*pair)).count()
    }
}
