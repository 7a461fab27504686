//! The progress of a transfer, and which entries have failed: what the user is told about it.

use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::reporter::Reporter;
use crate::files::sender::listing::Listing;
use std::collections::HashSet;

/// The state of all entries.
#[derive(Debug)]
pub struct Tally<'a> {
    listing: &'a Listing,
    reporter: &'a mut Reporter,
    failed: HashSet<usize>,
    /// Bytes of the entries that are done.
    done: u64,
}

impl<'a> Tally<'a> {
    /// Of a transfer that begins.
    #[must_use]
    pub fn begin(listing: &'a Listing, reporter: &'a mut Reporter) -> Self {
        let sizes = listing.entries.iter().all(|entry| entry.kind != Kind::Pipe);
        reporter.begin(sizes.then(|| listing.entries.iter().map(Entry::bytes).sum()));
        Self { listing, reporter, failed: HashSet::new(), done: 0 }
    }

    /// What is sent.
    #[must_use]
    pub fn listing(&self) -> &'a Listing {
        self.listing
    }

    /// An entry has failed. The first reason counts.
    pub fn fail(&mut self, index: usize, why: &str) {
        let Some(entry) = self.listing.entries.get(index) else { return };
        if self.failed.insert(index) {
            self.reporter.fail(&entry.name(), why);
        }
    }

    /// Whether an entry has failed.
    #[must_use]
    pub fn has_failed(&self, index: usize) -> bool {
        self.failed.contains(&index)
    }

    /// This many bytes were on their way.
    pub fn moved(&mut self, bytes: usize) {
        self.reporter.moved(bytes);
    }

    /// This many bytes of the entry that is being sent are dealt with.
    pub fn reach(&mut self, at: u64) {
        self.reporter.reach(self.done + at);
    }

    /// An entry of this many bytes is dealt with.
    pub fn settle(&mut self, bytes: u64) {
        self.done += bytes;
        self.reporter.reach(self.done);
    }

    /// How many files have not failed.
    #[must_use]
    pub fn files(&self) -> usize {
        let entries = self.listing.entries.iter().enumerate();
        let files = entries.filter(|(_, entry)| entry.kind != Kind::Directory);
        files.filter(|(index, _)| !self.has_failed(*index)).count()
    }
}
