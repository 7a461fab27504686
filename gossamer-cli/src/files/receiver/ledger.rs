//! Which entries are done, and which have failed. Both the user and the sender are told.

use crate::exit::{Failure, OUTPUT};
use crate::files::pairing::control::ControlSender;
use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::protocol::message::{Answer, ReceiverMessage};
use crate::files::receiver::partial_file::WriteError;
use crate::files::receiver::tree::Found;
use crate::files::reporter::Reporter;

/// The entries of a transfer.
#[derive(Debug)]
pub struct Ledger<'a> {
    entries: Vec<Entry>,
    /// Whether they are done; nothing as long as they may still come.
    settled: Vec<Option<bool>>,
    /// Bytes of the entries that are settled.
    behind: u64,
    control: &'a mut ControlSender,
    reporter: &'a mut Reporter,
}

impl<'a> Ledger<'a> {
    /// A ledger of these entries, some of which were settled by what was found here.
    pub fn new(
        entries: Vec<Entry>,
        found: &[Found],
        control: &'a mut ControlSender,
        reporter: &'a mut Reporter,
    ) -> Self {
        let settled = vec![None; entries.len()];
        let mut ledger = Self { entries, settled, behind: 0, control, reporter };
        for (index, found) in found.iter().enumerate() {
            match &found.answer {
                Answer::Done => ledger.settle(index),
                Answer::Refused(why) => ledger.fail(index, why),
                _ => {}
            }
        }
        ledger
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Whether an entry is done; nothing as long as it may still come, or if there is no such entry.
    #[must_use]
    pub fn outcome(&self, index: usize) -> Option<bool> {
        self.settled.get(index).copied().flatten()
    }

    /// Whether an entry may still come.
    #[must_use]
    pub fn is_open(&self, index: usize) -> bool {
        self.settled.get(index) == Some(&None)
    }

    /// Counts bytes that came over the network.
    pub fn moved(&mut self, bytes: usize) {
        self.reporter.moved(bytes);
    }

    /// Counts bytes of the entry that is being received as dealt with.
    pub fn reach(&mut self, at: u64) {
        self.reporter.reach(self.behind + at);
    }

    /// An entry is done.
    pub fn settle(&mut self, index: usize) {
        self.set(index, true);
    }

    /// An entry is done that has turned out to have this many bytes.
    pub fn settle_with(&mut self, index: usize, bytes: u64) {
        let more = bytes.saturating_sub(self.entry(index).map_or(0, Entry::bytes));
        self.behind = self.behind.saturating_add(more);
        self.set(index, true);
    }

    fn set(&mut self, index: usize, is_done: bool) {
        if let Some(settled) = self.settled.get_mut(index)
            && settled.replace(is_done).is_none()
        {
            self.behind += self.entries.get(index).map_or(0, Entry::bytes);
            self.reporter.reach(self.behind);
        }
    }

    /// An entry has failed, and the sender knows it.
    pub fn fail(&mut self, index: usize, why: &str) {
        let name = self.entry(index).map(Entry::name).unwrap_or_default();
        self.reporter.fail(&name, why);
        self.set(index, false);
    }

    /// An entry has failed here: the sender is told.
    pub fn fail_here(&mut self, index: usize, why: &str) {
        self.fail(index, why);
        let entry = u32::try_from(index).unwrap_or(u32::MAX);
        // If the sender is gone, the stream reports that.
        let _told = self.control.send(&ReceiverMessage::Failed { entry, why: why.into() });
    }

    /// Something other than an entry has failed.
    pub fn fail_beside(&mut self, name: &str, why: &str) {
        self.reporter.fail(name, why);
    }

    /// An entry could not be written.
    ///
    /// # Errors
    /// If no other entry can be written, either.
    pub fn unwritable(&mut self, index: usize, error: WriteError) -> Result<(), Failure> {
        match error {
            WriteError::ThisFile(why) => {
                self.fail_here(index, &why);
                Ok(())
            }
            WriteError::EveryFile(why) => {
                let name = self.entry(index).map(Entry::name).unwrap_or_default();
                let left = self.settled.iter().filter(|settled| settled.is_none()).count();
                let what = format!(
                    "cannot write {name}: {why}; what has arrived is kept, {left} entries are missing: make room, and \
                     run both commands again"
                );
                Err(Failure::new(OUTPUT, what))
            }
        }
    }

    /// How many files are done.
    #[must_use]
    pub fn files(&self) -> usize {
        let counts = |(entry, settled): (&Entry, &Option<bool>)| {
            entry.kind != Kind::Directory && *settled == Some(true)
        };
        self.entries.iter().zip(&self.settled).filter(|pair| counts(*pair)).count()
    }
}
