//! The command line.

use clap::Parser;
use gossamer::Config;
use std::path::PathBuf;

/// Counts the words of files and prints the most frequent, by count, then by word.
///
/// A word is a run of ASCII letters, ASCII digits and bytes above ASCII, so words
/// of all alphabets stay whole, in UTF-8 as in older encodings. A to Z count as
/// a to z. A word ends with its file. Words that differ only after their first
/// 65,536 bytes count as one. The output is that of
///
///   export LC_ALL=C
///   for file in FILES; do cat "$file"; echo; done |
///     tr -cs '0-9A-Za-z\200-\377' '\n' | tr A-Z a-z | cut -b -65536 |
///     grep -av '^$' | sort | uniq -c | sort -k1,1nr -k2 | head -n 20
///
/// and does not depend on the number of threads.
#[derive(Debug, Parser)]
#[command(
    name = "word_count",
    version,
    verbatim_doc_comment,
    after_long_help = "\
While it reads, it shows its progress on a terminal, unless its output goes into
a pipe. The environment variable GOSSAMER_THREADS overrides --threads.

Exit status: 0 if everything was counted; 1 if a file could not be read, whether
the others were counted or not, or if the output could not be written; 2 if the
command line is wrong."
)]
pub struct Options {
    /// Files to count; `-` is the standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,

    /// How many words to print; `all` or 0 prints every one
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = number_of_words)]
    pub top: usize,

    /// Count the others if a file cannot be read
    #[arg(short, long)]
    pub keep_going: bool,

    /// Threads that count [default: one for each processor]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
}

impl Options {
    /// How the runtime is to be set up.
    pub fn config(&self) -> Config {
        // The progress bar formats text in a fiber, which takes more stack than fibers usually have. Where other
        // programs run, perhaps more instances of this one, no thread should insist on its processor.
        let config = Config::default().stack_size(128 * 1024).pin(false);
        self.threads.map_or(config.clone(), |threads| config.threads(threads.into()))
    }
}

fn number_of_words(text: &str) -> Result<usize, String> {
    match text {
        "all" | "0" => Ok(usize::MAX),
        _ => text.parse().map_err(|_| "it is neither a number nor `all`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_options_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn all_and_zero_mean_every_word() {
        let top = |text| number_of_words(text).ok();
        assert_eq!([top("7"), top("0"), top("all")], [Some(7), Some(usize::MAX), Some(usize::MAX)]);
        assert_eq!([top("-1"), top(""), top("many")], [None; 3]);
    }
}
