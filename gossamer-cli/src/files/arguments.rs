//! The command lines of `send` and `recv`.

use crate::exit::{Failure, USAGE};
use crate::files::pairing::code::{Code, key_of_rack};
use crate::files::reporter::Reporter;
use crate::rack::config::{self, Rack};
use crate::secure::key::Key;
use crate::values;
use std::path::PathBuf;
use std::time::Duration;

/// Send files, directories or standard input to `gossamer recv` on another machine
///
/// Contents are encrypted, and checked on arrival, and files get their names only once they are complete. If a
/// transfer is interrupted, run both commands again, and it continues where it stopped.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = help(SEND_EXAMPLES))]
pub struct SendArguments {
    /// What to send: files, directories with all their content, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the receiver waits: the address that it has printed
    #[arg(long, value_name = "HOST:PORT")]
    pub to: String,
    /// The code that the receiver has printed [default: that in the environment variable GOSSAMER_CODE]
    #[arg(long, value_name = "CODE", conflicts_with = "rack")]
    pub code: Option<String>,
    #[command(flatten)]
    pub secret: Secret,
    /// Do not encrypt contents: somebody on the way can read them, but not change anything
    #[arg(long)]
    pub plain: bool,
    /// Send contents over this many TCP connections [default: one, or shared memory within a machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub streams: Option<u8>,
    /// Send at most this many bytes per second; K, M and G are powers of 1024
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub limit_rate: Option<u64>,
    /// Retry when the receiver is lost, after pauses of 1 s, 2 s, 4 s … 60 s: give up after this many tries without
    /// progress
    ///
    /// Data that has arrived is not sent again. The receiver waits meanwhile, with its port and its code; one that
    /// was restarted at the same port is found if both use the key of the rack. Standard input cannot be sent again.
    #[arg(long, value_name = "TRIES", num_args = 0..=1, require_equals = true, default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub retry: Option<u32>,
    /// Give up after this time, with status 124: 90, 30s, 5m, 1h 30m
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub timeout: Option<Duration>,
    /// Compress contents, with a level from 1 (the default) to 19
    #[arg(long, value_name = "zstd[:LEVEL]", value_parser = level)]
    pub compress: Option<i32>,
    #[command(flatten)]
    pub output_format: OutputArguments,
}

/// Receive what `gossamer send` sends from another machine
///
/// Prints the address and a code that works once, which the sender needs, and waits.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help(RECV_EXAMPLES))]
pub struct RecvArguments {
    /// Where to wait; instead of port 0 the kernel chooses a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:0")]
    pub listen: String,
    /// The directory for the files, or `-` for standard output, for a single file
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub output: PathBuf,
    /// Replace existing files that have other contents
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub secret: Secret,
    #[command(flatten)]
    pub output_format: OutputArguments,
}

// No documentation: `clap` would take it for the text of the command.
// What both sides know.
#[derive(Clone, Debug, clap::Args)]
pub struct Secret {
    /// Use the key of the rack instead of a code
    #[arg(long)]
    pub rack: bool,
    /// The configuration of the rack
    #[arg(long, value_name = "FILE", default_value = config::PATH, requires = "rack")]
    pub config: PathBuf,
}

// What the user wants to see.
#[derive(Clone, Debug, clap::Args)]
pub struct OutputArguments {
    /// Report everything as lines of JSON, on standard error
    #[arg(long)]
    pub json: bool,
    /// Report only what goes wrong
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
}

const STATUS: &str = "\
Exit status:
  0    everything is in its place, on disk, and was checked
  1    some files were not transferred; each was named, the others are in their places
  2    mistake on the command line or in a configuration file
  3    the other side was not reached, or has another code
  74   the receiver could not write any more, on a full disk for example
  75   the other side was lost; what has arrived is kept for the next try
  124  not everything was sent in time (--timeout)
  141  the reader of standard output has closed it";

fn help(examples: &str) -> String {
    format!("{examples}\n\n{STATUS}")
}

const SEND_EXAMPLES: &str = "\
Examples:
  gossamer send disk.img results/ --to node7:40123 --code 7m2k-…
  pg_dump db | gossamer send - --to node7:40123 --code 7m2k-…
  gossamer send big.tar --to node7:7412 --rack        with the rack's key, without a code
  gossamer send --retry --timeout 6h big.tar --to …   over a bad line, and across reboots

Links are sent as links, but a link named here is followed. Mode and time of change are
kept, owners are not. Holes stay holes. Everything is encrypted between machines, and
a file that was changed on the way never gets its name. With --plain, contents can be read there.";

const RECV_EXAMPLES: &str = "\
Examples:
  gossamer recv                                       into this directory
  gossamer recv --output - | psql db                  a pipe
  gossamer recv --listen 0.0.0.0:7412 --rack          with the rack's key, without a code

Files that exist are kept: those of the same size and time, or with the same contents,
count as received, others are refused without --overwrite. A file that is incomplete is
called NAME.gossamer-part; the next transfer goes on with it. Names and links that lead
out of the directory are refused.";

impl OutputArguments {
    /// As the user asked for it.
    #[must_use]
    pub fn reporter(&self) -> Reporter {
        Reporter::new(self.json, self.quiet)
    }
}

impl Secret {
    /// The rack's key, if that was asked for.
    ///
    /// # Errors
    /// If there is none.
    pub fn key(&self) -> Result<Option<Key>, Failure> {
        if !self.rack {
            return Ok(None);
        }
        let rack = Rack::read(&self.config)?;
        Ok(Some(key_of_rack(&Key::read(&rack.key)?)))
    }
}

impl SendArguments {
    /// How often to try again.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn tries(&self) -> Result<u32, Failure> {
        match self.retry {
            Some(_) if self.files.iter().any(|file| file.as_os_str() == "-") => {
                Err(Failure::new(USAGE, "--retry: what was read from standard input cannot be sent again"))
            }
            tries => Ok(tries.unwrap_or(0)),
        }
    }

    /// What proves to the receiver who the sender is.
    ///
    /// # Errors
    /// If there is no code, or it is not valid.
    pub fn key(&self) -> Result<Key, Failure> {
        if let Some(key) = self.secret.key()? {
            return Ok(key);
        }
        let wrong = |what: &str| Failure::new(USAGE, what);
        let code = self.code.clone().or_else(|| std::env::var("GOSSAMER_CODE").ok()).ok_or_else(|| {
            wrong("give the code that `gossamer recv` has printed with --code, or --rack for the rack's key")
        })?;
        let code = Code::parse(&code).ok_or_else(|| {
            wrong("the code does not have 20 letters and digits, as `gossamer recv` prints them: check it")
        })?;
        Ok(code.key())
    }
}

fn rate(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((end, 'k' | 'K')) => (text.get(..end), 1 << 10),
        Some((end, 'm' | 'M')) => (text.get(..end), 1 << 20),
        Some((end, 'g' | 'G')) => (text.get(..end), 1 << 30),
        _ => (Some(text), 1),
    };
    let number = digits.and_then(|digits| digits.parse::<u64>().ok()).filter(|number| *number > 0);
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "is not a rate such as 500K, 20M or 1G".into())
}

fn level(text: &str) -> Result<i32, String> {
    let level = match text.strip_prefix("zstd") {
        Some("") => Some(1),
        Some(level) => level.strip_prefix(':').and_then(|level| level.parse().ok()),
        None => None,
    };
    level.filter(|level| (1..=19).contains(level)).ok_or_else(|| "is not zstd, or zstd:1 to zstd:19".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(
            (rate("512"), rate("3k"), rate("2M"), rate("1G")),
            (Ok(512), Ok(3072), Ok(2 << 20), Ok(1 << 30))
        );
        for wrong in ["", "0", "K", "1T", "-1", "1.5M", "99999999999999999999", "20000000000G"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn compression_has_levels() {
        assert_eq!((level("zstd"), level("zstd:1"), level("zstd:19")), (Ok(1), Ok(1), Ok(19)));
        for wrong in ["", "gzip", "zstd:", "zstd:0", "zstd:20", "zstd19"] {
            assert!(level(wrong).is_err(), "{wrong}");
        }
    }
}
