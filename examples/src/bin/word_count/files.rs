//! Fibers that read files: each takes a piece from the agenda, counts it, and takes the next.

use crate::counts::{Counter, Counts};
use crate::inputs::{Agenda, Input, Piece};
use crate::progress::Progress;
use crate::words::{LONGEST, Splitter, is_word_byte};
use gossamer::{JoinHandle, Trust, Trustee};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

/// Bytes of one read. Between two reads the worker serves its trustee, so counting a block must not take long.
const BLOCK: usize = 128 * 1024;
/// Fibers on each worker: while one waits for others, another counts.
const FIBERS: usize = 2;

/// Starts fibers on all workers, which end when the agenda is empty. Each returns how many words it had to shorten.
#[gossamer::delegate]
pub fn start(agenda: &Trust<Agenda>, counts: &Counts, progress: &Progress) -> Vec<JoinHandle<u64>> {
    let mut fibers = Vec::new();
    for trustee in Trustee::all() {
        for _ in 0..FIBERS {
            let (agenda, counts, progress) = (agenda.clone(), counts.clone(), progress.clone());
            fibers.push(trustee.spawn(move || read_all(&agenda, &counts, &progress)));
        }
    }
    fibers
}

fn read_all(agenda: &Trust<Agenda>, counts: &Counts, progress: &Progress) -> u64 {
    let mut reader = Reader { file: None, block: vec![0; BLOCK], counter: Counter::new(counts), progress };
    let mut shortened = 0;
    while let Some(piece) = agenda.take() {
        let mut splitter = Splitter::default();
        if let Err(reason) = reader.read(&piece, &mut splitter) {
            agenda.fail(piece.input.failed(&reason));
        }
        shortened += splitter.shortened();
    }
    reader.counter.hand_over();
    shortened
}

/// What a fiber keeps from one piece to the next.
struct Reader<'a> {
    /// The file of the last piece: the next one is often of the same.
    file: Option<(usize, File)>,
    block: Vec<u8>,
    counter: Counter,
    progress: &'a Progress,
}

impl Reader<'_> {
    /// Counts the words that begin in a piece. If the file cannot be read to the end, the words before are counted.
    fn read(&mut self, piece: &Piece, splitter: &mut Splitter) -> io::Result<()> {
        let outcome = self.open(&piece.input).and_then(|()| self.read_words(piece, splitter));
        self.counter.finish(splitter);
        outcome
    }

    fn open(&mut self, input: &Input) -> io::Result<()> {
        if self.file.as_ref().is_none_or(|(place, _)| *place != input.place) {
            self.file = Some((input.place, File::open(&input.path)?));
        }
        Ok(())
    }

    fn read_words(&mut self, piece: &Piece, splitter: &mut Splitter) -> io::Result<()> {
        if let Some(before) = piece.start.checked_sub(1)
            && self.read_at(before, 1)? == 1
            && is_word_byte(self.block[0])
        {
            *splitter = Splitter::within_a_word();
        }
        let mut offset = piece.start;
        while piece.end.is_none_or(|end| offset < end) {
            let left = piece.end.map_or(u64::MAX, |end| end - offset);
            let length = self.read_at(offset, left)?;
            if length == 0 {
                return Ok(());
            }
            self.counter.feed(splitter, &mut self.block[..length]);
            offset += length as u64;
            self.progress.advance(length);
            gossamer::yield_now();
        }
        self.read_rest_of_word(offset, splitter)
    }

    /// Reads the rest of the last word, beyond the end of the piece.
    fn read_rest_of_word(&mut self, mut offset: u64, splitter: &mut Splitter) -> io::Result<()> {
        while splitter.wants_more() {
            let length = self.read_at(offset, LONGEST as u64)?;
            let rest = self.block[..length].iter().position(|byte| !is_word_byte(*byte));
            self.counter.feed(splitter, &mut self.block[..rest.unwrap_or(length)]);
            if rest.is_some() || length == 0 {
                return Ok(());
            }
            offset += length as u64;
        }
        Ok(())
    }

    /// Reads a block of at most `most` bytes; returns nothing at the end of the file.
    fn read_at(&mut self, offset: u64, most: u64) -> io::Result<usize> {
        let Some((_, file)) = &self.file else { return Ok(0) };
        let most = BLOCK.min(usize::try_from(most).unwrap_or(BLOCK));
        loop {
            match file.read_at(&mut self.block[..most], offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                outcome => return outcome,
            }
        }
    }
}
