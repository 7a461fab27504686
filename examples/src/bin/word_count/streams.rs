//! Reads streams: the standard input, pipes, terminals, devices.
//!
//! Nothing tells when a stream has something to read, and a fiber that waits in a `read` of the system keeps its whole
//! worker waiting. So a separate thread reads the streams, one after another, and gives fibers what it has read to
//! count.

use crate::counts::{Counter, Counts};
use crate::inputs::{Agenda, Input};
use crate::progress::Progress;
use crate::words::{LONGEST, Splitter, is_word_byte};
use gossamer::{JoinHandle, Trust, Trustee};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::panic;
use std::thread;
use std::time::Duration;

/// Bytes that a fiber counts.
const PART: usize = 2 << 20;
/// Parts in memory, for each worker.
const PARTS: usize = 2;
/// Bytes of one read, so that the progress moves.
const BLOCK: usize = 256 * 1024;
/// How often a fiber looks whether the thread has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Reads and counts the streams. Returns how many words had to be shortened.
pub fn read_all(streams: Vec<Input>, agenda: &Trust<Agenda>, counts: &Counts, progress: &Progress) -> u64 {
    if streams.is_empty() {
        return 0;
    }
    let (agenda, progress) = (agenda.clone(), progress.clone());
    let mut fibers = Fibers {
        counts: counts.clone(),
        trustees: Trustee::all(),
        next: 0,
        running: VecDeque::new(),
        shortened: 0,
    };
    let reader = thread::spawn(move || {
        for input in streams {
            if agenda.wants(input.place)
                && let Err(reason) = read(&input, &mut fibers, &progress)
            {
                agenda.fail(input.failed(&reason));
            }
        }
        fibers.finish()
    });
    // A fiber cannot wait for a thread, but it can look.
    while !reader.is_finished() {
        gossamer::sleep(LOOK);
    }
    reader.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// Reads a stream to its end. If that fails, what came before is counted.
fn read(input: &Input, fibers: &mut Fibers, progress: &Progress) -> io::Result<()> {
    let mut stream: Box<dyn Read> = if input.is_standard_input() {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&input.path)?)
    };
    let mut part = Vec::new();
    loop {
        let outcome = fill(&mut part, &mut stream, progress);
        if !matches!(outcome, Ok(true)) {
            fibers.count(part);
            return outcome.map(drop);
        }
        // The last word continues in the next part. Of a long word only the bytes that count are kept.
        let end = part.iter().rposition(|byte| !is_word_byte(*byte)).map_or(0, |last| last + 1);
        let mut begun = part.split_off(end);
        begun.truncate(LONGEST + 1);
        fibers.count(std::mem::replace(&mut part, begun));
    }
}

/// Reads until there is a whole part. False at the end of the stream.
fn fill(part: &mut Vec<u8>, stream: &mut impl Read, progress: &Progress) -> io::Result<bool> {
    let mut length = part.len();
    part.resize(PART, 0);
    let outcome = loop {
        let end = PART.min(length + BLOCK);
        match stream.read(&mut part[length..end]) {
            Ok(0) => break Ok(length == PART),
            Ok(bytes) => {
                length += bytes;
                progress.advance(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => (),
            Err(error) => break Err(error),
        }
    };
    part.truncate(length);
    outcome
}

/// The fibers that count, on all workers in turn.
struct Fibers {
    counts: Counts,
    trustees: Vec<Trustee>,
    next: usize,
    running: VecDeque<JoinHandle<u64>>,
    shortened: u64,
}

impl Fibers {
    /// Has a fiber count a part, which ends between words. Waits if many are still at it.
    #[gossamer::delegate]
    fn count(&mut self, part: Vec<u8>) {
        if part.is_empty() {
            return;
        }
        if self.running.len() == PARTS * self.trustees.len()
            && let Some(oldest) = self.running.pop_front()
        {
            self.shortened += oldest.join();
        }
        let trustee: Trustee = self.trustees[self.next % self.trustees.len()];
        let counts = self.counts.clone();
        self.next += 1;
        self.running.push_back(trustee.spawn(move || count_part(part, counts)));
    }

    fn finish(self) -> u64 {
        self.running.into_iter().map(JoinHandle::join).fold(self.shortened, |sum, shortened| sum + shortened)
    }
}

fn count_part(mut part: Vec<u8>, counts: Counts) -> u64 {
    let (mut counter, mut splitter) = (Counter::new(&counts), Splitter::default());
    for block in part.chunks_mut(BLOCK) {
        counter.feed(&mut splitter, block);
        gossamer::yield_now();
    }
    counter.finish(&mut splitter);
    counter.hand_over();
    splitter.shortened()
}
