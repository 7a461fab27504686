//! Counts the words of files, on all cores: the first real program on Gossamer.
//!
//! `cargo run --release -p examples --bin word_count -- FILES…`; `--help` says what a word is.
//!
//! Nothing is locked. An *agenda*, a property, hands out pieces of the files to fibers, two on each worker. They add what they find to
//! the *counts*, maps that are spread over all workers: equal words are added up before they are sent, by many to a request. The *progress
//! bar* is another property. Streams, which cannot be read in pieces, are read by a thread, which hands what it has read to fibers as well.
//! Memory is bounded by the number of different words.

mod counts;
mod files;
mod inputs;
mod options;
mod progress;
mod short;
mod streams;
mod words;

use crate::counts::{Counted, Counts};
use crate::inputs::{Agenda, Failure, Inputs};
use crate::options::Options;
use crate::progress::Progress;
use clap::Parser;
use gossamer::JoinHandle;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

/// Exit status when a file could not be read, or the output not be written.
const FAILED: u8 = 1;
/// Exit status when the command line or the environment is wrong; clap's own.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    let keep_going = options.keep_going;
    let report = match gossamer::try_run(options.config(), move || count(options)) {
        Ok(report) => report,
        Err(error) => return complain(&error, WRONG_USAGE),
    };
    for failure in &report.failures {
        complain(failure, FAILED);
        if !keep_going {
            return FAILED.into();
        }
    }
    if report.shortened > 0 {
        let longest = words::LONGEST;
        eprintln!("word_count: of {} very long words only the first {longest} bytes count", report.shortened);
    }
    match print(&report.words) {
        // The reader of the output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => (),
        Err(error) => return complain(&format_args!("standard output: {error}"), FAILED),
        Ok(()) => (),
    }
    if report.failures.is_empty() { ExitCode::SUCCESS } else { FAILED.into() }
}

fn complain(problem: &dyn std::fmt::Display, status: u8) -> ExitCode {
    eprintln!("word_count: {problem}");
    status.into()
}

/// The result.
struct Report {
    words: Vec<Counted>,
    failures: Vec<Failure>,
    /// How many words were so long that only their beginnings count.
    shortened: u64,
}

/// The first fiber.
fn count(options: Options) -> Report {
    let inputs = Inputs::look_at(&options.files);
    if !inputs.failures.is_empty() && !options.keep_going {
        return Report { words: Vec::new(), failures: inputs.failures, shortened: 0 };
    }
    let progress = Progress::new(inputs.known_size());
    let agenda = gossamer::entrust(Agenda::new(inputs.files, inputs.failures, options.keep_going));
    let counts = Counts::new();
    let fibers = files::start(&agenda, &counts, &progress);
    let shortened = streams::read_all(inputs.streams, &agenda, &counts, &progress);
    let shortened =
        fibers.into_iter().map(JoinHandle::join).fold(shortened, |sum, shortened| sum + shortened);
    progress.finish();
    Report { words: counts.first(options.top), failures: agenda.take_failures(), shortened }
}

/// Prints counts and words as `uniq -c` does.
fn print(words: &[Counted]) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for Counted { count, word } in words {
        write!(output, "{count:>7} ")?;
        output.write_all(word)?;
        output.write_all(b"\n")?;
    }
    output.flush()
}
