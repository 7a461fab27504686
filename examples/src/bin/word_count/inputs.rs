//! The inputs: files that fibers read piece by piece, and streams, which can only be read from the front.

use gossamer::NoRef;
use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a piece: large enough that handing it out costs nothing, small enough that all fibers end together.
const PIECE: u64 = 4 << 20;

/// An input, as the user named it, with its place among them.
#[derive(Clone, Debug, PartialEq, Eq, NoRef)]
pub struct Input {
    pub place: usize,
    pub path: PathBuf,
}

impl Input {
    /// Whether it stands for the standard input.
    pub fn is_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Says that it cannot be read.
    pub fn failed(&self, reason: &io::Error) -> Failure {
        Failure { place: self.place, text: format!("{}: {reason}", self.path.display()) }
    }
}

/// An input that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, NoRef)]
pub struct Failure {
    pub place: usize,
    text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A part of a file, with the words that begin in it.
#[derive(Debug, PartialEq, Eq, NoRef)]
pub struct Piece {
    pub input: Input,
    pub start: u64,
    /// Where the next piece starts. The last piece ends with the file, which may have grown.
    pub end: Option<u64>,
}

/// All inputs, by how they are read.
#[derive(Debug, Default)]
pub struct Inputs {
    pub files: Vec<(Input, u64)>,
    pub streams: Vec<Input>,
    pub failures: Vec<Failure>,
}

impl Inputs {
    /// Looks at each path, without reading.
    pub fn look_at(paths: &[PathBuf]) -> Self {
        let mut inputs = Self::default();
        for (place, path) in paths.iter().enumerate() {
            let input = Input { place, path: path.clone() };
            if input.is_standard_input() {
                inputs.streams.push(input);
                continue;
            }
            match size_of_file(path) {
                Ok(Some(size)) => inputs.files.push((input, size)),
                Ok(None) => inputs.streams.push(input),
                Err(reason) => inputs.failures.push(input.failed(&reason)),
            }
        }
        inputs
    }

    /// Bytes of all files; nothing if there are streams, whose sizes are not known.
    pub fn known_size(&self) -> Option<u64> {
        self.streams.is_empty().then(|| self.files.iter().map(|(_, size)| size).sum())
    }
}

/// The size of a file that can be read from anywhere, or nothing for a stream.
fn size_of_file(path: &Path) -> io::Result<Option<u64>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Files that the kernel makes up, as in /proc, have a size of 0 and are read to their end like a stream.
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    // So that an unreadable file is noticed before much work was done for the others.
    File::open(path)?;
    Ok(Some(metadata.len()))
}

/// What is still to be read: a property that hands out pieces to fibers that have time.
pub struct Agenda {
    /// The files with their sizes.
    files: VecDeque<(Input, u64)>,
    /// How much of the first file was handed out.
    taken: u64,
    keep_going: bool,
    failures: Vec<Failure>,
}

impl Agenda {
    /// The agenda for some files with their sizes.
    pub fn new(files: Vec<(Input, u64)>, failures: Vec<Failure>, keep_going: bool) -> Self {
        Self { files: files.into(), taken: 0, keep_going, failures }
    }
}

#[gossamer::delegate]
impl Agenda {
    /// The next piece to read.
    pub fn take(&mut self) -> Option<Piece> {
        let (input, size) = self.files.front()?;
        let (input, start) = (input.clone(), self.taken);
        self.taken += PIECE;
        if self.taken < *size {
            return Some(Piece { input, start, end: Some(self.taken) });
        }
        self.taken = 0;
        self.files.pop_front();
        Some(Piece { input, start, end: None })
    }

    /// Notes that an input failed. Unless as much as possible is to be counted, the inputs after it are no longer read.
    pub fn fail(&mut self, failure: Failure) {
        if !self.keep_going {
            // Inputs before it are still read, so that the first of several failures is found, whichever fiber is
            // faster.
            let current = self.files.front().map(|(input, _)| input.place);
            self.files.retain(|(input, _)| input.place < failure.place);
            if self.files.front().map(|(input, _)| input.place) != current {
                self.taken = 0;
            }
        }
        self.failures.push(failure);
    }

    /// Whether an input is still to be read.
    pub fn wants(&self, place: usize) -> bool {
        self.keep_going || self.failures.iter().all(|failure| place < failure.place)
    }

    /// Takes all failures out, in the order of the inputs.
    pub fn take_failures(&mut self) -> Vec<Failure> {
        let mut failures = std::mem::take(&mut self.failures);
        failures.sort_by_key(|failure| failure.place);
        // A file fails once for each of its pieces.
        failures.dedup_by_key(|failure| failure.place);
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(place: usize) -> Input {
        Input { place, path: format!("file{place}").into() }
    }

    fn failure(place: usize) -> Failure {
        input(place).failed(&io::Error::other("it is broken"))
    }

    fn agenda(keep_going: bool) -> Agenda {
        let files = [1, PIECE, 2 * PIECE + 5, 7].into_iter().enumerate();
        Agenda::new(files.map(|(place, size)| (input(place), size)).collect(), Vec::new(), keep_going)
    }

    fn pieces(mut agenda: Agenda) -> Vec<(usize, u64, Option<u64>)> {
        std::iter::from_fn(|| agenda.take())
            .map(|piece| (piece.input.place, piece.start, piece.end))
            .collect()
    }

    const ALL: [(usize, u64, Option<u64>); 6] = [
        (0, 0, None),
        (1, 0, None),
        (2, 0, Some(PIECE)),
        (2, PIECE, Some(2 * PIECE)),
        (2, 2 * PIECE, None),
        (3, 0, None),
    ];

    #[test]
    fn the_pieces_of_a_file_cover_it_and_the_last_one_is_open() {
        assert_eq!(pieces(agenda(false)), ALL);
    }

    #[test]
    fn after_a_failure_only_what_comes_before_it_is_read() {
        for taken in 0..ALL.len() {
            let mut agenda = agenda(false);
            (0..taken).for_each(|_| drop(agenda.take()));
            agenda.fail(failure(2));
            assert!(agenda.wants(1) && !agenda.wants(2) && !agenda.wants(3));
            let left: Vec<_> = ALL[taken..].iter().copied().filter(|(place, ..)| *place < 2).collect();
            assert_eq!(pieces(agenda), left, "{taken} pieces were taken");
        }
    }

    #[test]
    fn with_keep_going_a_failure_ends_nothing() {
        let mut agenda = agenda(true);
        agenda.fail(failure(0));
        assert!(agenda.wants(0) && agenda.wants(3));
        assert_eq!(pieces(agenda), ALL);
    }

    #[test]
    fn failures_are_told_once_each_and_in_order() {
        let mut agenda = agenda(true);
        [3, 1, 3, 0, 3].into_iter().for_each(|place| agenda.fail(failure(place)));
        assert_eq!(agenda.take_failures(), [failure(0), failure(1), failure(3)]);
        assert_eq!(failure(1).to_string(), "file1: it is broken");
    }
}
