//! The lines of a text file as a [`DistVec`].

use crate::collections::DistVec;
use crate::collections::exchange::balanced;
use crate::collections::files::text::{TextFile, TextSection};
use crate::collections::files::{FileFailure, all_done, regular};
use crate::trust::FibersOfCall;
use crate::{Trust, Trustee, entrust, spawn_on_with, unblock};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of the file that are read at once.
const SECTION: usize = 256 << 10;

impl DistVec<String> {
    /// The lines of a text file, without what ends them (`\n`, or `\r\n`), in blocks over all workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// # let path = std::env::temp_dir().join(format!("gossamer-lines-{}", std::process::id()));
    /// std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    /// let lines = gossamer::collections::DistVec::from_lines(&path).unwrap();
    /// assert_eq!(lines.to_vec(), ["one", "two", "three"]);
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Cost
    /// A thread of the [pool](crate::unblock) reads the same number of bytes for each worker, which gets the lines
    /// that begin in them. So all nodes need the file under this path. Lines then move to neighbours so that all
    /// workers have the same number. Four fibers on each worker.
    ///
    /// # Errors
    /// If a node cannot read the file, it is not a regular one or becomes shorter, or a line is not UTF-8. What is added
    /// to the file meanwhile is not read.
    ///
    /// # Panics
    /// Like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn from_lines(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_lines_on(path, &Trustee::all())
    }

    /// Like [`from_lines`](Self::from_lines), in blocks over these workers. Only their nodes, and the caller's, need
    /// the file.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(3), || {
    /// use gossamer::{Trustee, collections::DistVec};
    /// # let path = std::env::temp_dir().join(format!("gossamer-some-lines-{}", std::process::id()));
    /// std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    /// let lines = DistVec::from_lines_on(&path, &Trustee::all()[1..]).unwrap();
    /// assert_eq!((lines.to_vec().concat(), lines.trustees().len()), ("onetwothree".to_owned(), 2));
    /// # std::fs::remove_file(path).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// Like [`from_lines`](Self::from_lines).
    ///
    /// # Panics
    /// Like [`from_lines`](Self::from_lines); if `trustees` is empty.
    #[track_caller]
    pub fn from_lines_on(path: impl AsRef<Path>, trustees: &[Trustee]) -> io::Result<Self> {
        assert!(!trustees.is_empty(), "lines on no workers have no place");
        let path = path.as_ref();
        let len = regular::length("from_lines", "reading lines of", path)?;
        let read = const {
            |(path, range, len): (PathBuf, Range<u64>, u64)| -> Result<(Trust<Vec<String>>, usize), FileFailure> {
                let file = path.clone();
                let lines = unblock(move || read_lines(&file, range, len));
                let lines = lines.map_err(|error| FileFailure::new("reading lines of", &path, &error))?;
                let count = lines.len();
                Ok((entrust(lines), count))
            }
        };
        let cut = |part: usize| (u128::from(len) * part as u128 / trustees.len() as u128) as u64;
        let start = |(part, trustee): (usize, &Trustee)| {
            spawn_on_with(*trustee, read, (path.to_owned(), cut(part)..cut(part + 1), len))
        };
        let fibers: FibersOfCall<_> = trustees.iter().enumerate().map(start).collect();
        Ok(balanced(all_done(fibers.joined())?))
    }
}

/// The lines that begin in some bytes of a file, of which the first `len` are read.
fn read_lines(path: &Path, Range { start, end }: Range<u64>, len: u64) -> io::Result<Vec<String>> {
    let (file, mut lines, mut section) = (TextFile::open(path, len)?, Vec::new(), TextSection::default());
    for at in (start..end).step_by(SECTION) {
        section = file.read(at..end.min(at + SECTION as u64), section)?;
        let read = section.lines().map_err(|(line, wrong)| {
            io::Error::new(ErrorKind::InvalidData, format!("the line at byte {line} is {wrong}"))
        })?;
        lines.extend(read.map(|(_, line)| line.to_owned()));
    }
    Ok(lines)
}
