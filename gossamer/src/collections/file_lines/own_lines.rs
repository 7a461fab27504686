//! [`OwnLines`]: what the fiber of one worker has of the lines of a file, and how it goes through them.

use crate::collections::element_loop::TURN;
use crate::collections::files::FileFailure;
use crate::collections::files::text::{TextFile, TextSection};
use crate::collections::par_fold::{ChunkValues, fold_chunks};
use crate::collections::self_scheduling::OwnNumbers;
use crate::lane::catch::{Caught, resume};
use crate::trust::spawned_at;
use crate::{NoRef, unblock, yield_now};
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The longest section of a file that is read at once, and the shortest, so that each worker gets some of a short file.
const LONGEST: u64 = 256 << 10;
const SHORTEST: u64 = 4 << 10;
/// Sections for each worker, if they are no longer and no shorter than that.
const SECTIONS: u64 = 16;
/// Lines between two looks at the clock.
const BETWEEN: usize = 16;

/// A file that is cut into sections of one length.
#[derive(Clone, Debug, NoRef)]
pub(super) struct Sections {
    path: PathBuf,
    len: u64,
    length: u64,
}

impl Sections {
    pub(super) fn new(path: PathBuf, len: u64, workers: usize) -> Self {
        Self { path, len, length: (len / (SECTIONS * workers as u64)).clamp(SHORTEST, LONGEST) }
    }

    pub(super) fn count(&self) -> usize {
        self.len.div_ceil(self.length) as usize
    }

    fn range(&self, number: usize) -> Range<u64> {
        let start = number as u64 * self.length;
        start..self.len.min(start + self.length)
    }
}

/// The sections of a file that one fiber gets.
pub struct OwnLines {
    pub(super) numbers: OwnNumbers,
    pub(super) sections: Sections,
}

impl OwnLines {
    /// Calls a closure for each line, with the place where it begins, until no sections are left.
    ///
    /// # Panics
    /// If the closure does, with the line; if the file cannot be read.
    pub(in crate::collections) fn for_each(&self, mut closure: impl FnMut(u64, &str)) {
        let reader = SectionReader::new(&self.sections);
        let visit = |number| reader.for_each(number, &mut closure);
        self.numbers.for_each_saying(visit, |_, message| reader.said(message));
    }

    /// Folds the lines of each chunk.
    ///
    /// # Panics
    /// Like [`for_each`](Self::for_each).
    pub(super) fn fold<A>(
        &self,
        initial: impl Fn() -> Option<A>,
        step: impl Fn(Option<A>, u64, &str) -> Option<A>,
    ) -> ChunkValues<A> {
        let reader = SectionReader::new(&self.sections);
        let fold = |mut value: Option<A>, number| {
            reader.for_each(number, &mut |at, line: &str| value = step(value.take(), at, line));
            value
        };
        fold_chunks(&self.numbers, initial, fold, |_, message| reader.said(message))
    }
}

/// Reads the sections of a file, one after another.
struct SectionReader<'a> {
    sections: &'a Sections,
    file: RefCell<Option<Arc<TextFile>>>,
    /// The memory of the latest section.
    spare: Cell<TextSection>,
    /// Where the line begins that the closure has.
    at: Cell<Option<u64>>,
}

impl<'a> SectionReader<'a> {
    fn new(sections: &'a Sections) -> Self {
        Self { sections, file: RefCell::new(None), spare: Cell::default(), at: Cell::new(None) }
    }

    fn for_each(&self, number: usize, closure: &mut impl FnMut(u64, &str)) {
        let section = self.read(self.sections.range(number)).unwrap_or_else(|error| self.fail(&error));
        let lines = section.lines().unwrap_or_else(|(line, wrong)| {
            self.fail(&io::Error::other(format!("the line at byte {line} is {wrong}")))
        });
        let mut begun = Instant::now();
        for (count, (at, line)) in lines.enumerate() {
            self.at.set(Some(at));
            closure(at, line);
            if count % BETWEEN == BETWEEN - 1 && begun.elapsed() > TURN {
                yield_now();
                begun = Instant::now();
            }
        }
        self.at.set(None);
        self.spare.set(section);
    }

    fn read(&self, range: Range<u64>) -> io::Result<TextSection> {
        let (spare, opened) = (self.spare.take(), self.file.borrow().clone());
        let Sections { path, len, .. } = self.sections.clone();
        let (file, section) = unblock(move || -> io::Result<_> {
            let file = opened.map_or_else(|| TextFile::open(&path, len).map(Arc::new), Ok)?;
            let section = file.read(range, spare)?;
            Ok((file, section))
        })?;
        *self.file.borrow_mut() = Some(file);
        Ok(section)
    }

    fn fail(&self, error: &io::Error) -> ! {
        let FileFailure { message, .. } = FileFailure::new("reading lines of", &self.sections.path, error);
        resume(Caught { message, place: Some(spawned_at().to_string()) })
    }

    /// The message of a panic, with the line that the closure had.
    fn said(&self, message: String) -> String {
        match self.at.get() {
            Some(at) => format!("the line at byte {at} of {}: {message}", self.sections.path.display()),
            None => message,
        }
    }
}
