//! What the user sees during a transfer, on standard error: standard output is for contents.

use crate::exit::{FAILED, Failure};
use crate::terminal::printable::printable;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a line of JSON reports progress.
const PERIOD: Duration = Duration::from_secs(1);
const BAR: &str = "{wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta} left";
const CHECKING: &str = "{spinner} checking what is there already: {bytes}, {binary_bytes_per_sec}";
const SPINNER: &str = "{spinner} {bytes}, {binary_bytes_per_sec}, {elapsed}";

/// How the user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Quiet,
}

/// Tells the user.
#[derive(Debug)]
pub struct Reporter {
    format: Format,
    bar: ProgressBar,
    begin: Instant,
    /// When the last line of JSON was written.
    told: Instant,
    total: Option<u64>,
    at: u64,
    moved: u64,
    failures: u32,
}

impl Reporter {
    /// As text, or as JSON if `json`; only what goes wrong if `quiet`.
    #[must_use]
    pub fn new(json: bool, quiet: bool) -> Self {
        let format = match (json, quiet) {
            (true, _) => Format::Json,
            (_, true) => Format::Quiet,
            _ => Format::Text,
        };
        let now = Instant::now();
        let bar = ProgressBar::hidden();
        Self { format, bar, begin: now, told: now, total: None, at: 0, moved: 0, failures: 0 }
    }

    /// The transfer begins; `total` are the bytes of all files, if that is known.
    pub fn begin(&mut self, total: Option<u64>) {
        (self.begin, self.total, self.at) = (Instant::now(), total, 0);
        self.draw(if total.is_some() { BAR } else { SPINNER });
    }

    fn draw(&mut self, template: &str) {
        self.bar.finish_and_clear();
        if self.format == Format::Text && std::io::stderr().is_terminal() {
            self.bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
        }
    }

    /// Before the transfer begins: this many bytes that are there already were read for comparison.
    pub fn checked(&mut self, bytes: u64) {
        if self.at == 0 {
            self.draw(CHECKING);
        }
        self.at = bytes;
        self.bar.set_position(bytes);
        self.say_each_period(|_| json!({ "event": "checking", "bytes": bytes }));
    }

    fn say_each_period(&mut self, what: impl FnOnce(&Self) -> Value) {
        if self.format == Format::Json && self.told.elapsed() >= PERIOD {
            self.told = Instant::now();
            say(&what(self).to_string());
        }
    }

    /// Counts bytes that went over the network.
    pub fn moved(&mut self, bytes: usize) {
        self.moved += bytes as u64;
    }

    /// How many bytes went over the network.
    #[must_use]
    pub fn bytes_moved(&self) -> u64 {
        self.moved
    }

    /// The transfer was cut off and is tried again as a whole: what failed before may not fail then.
    pub fn begin_again(&mut self) {
        self.bar.finish_and_clear();
        self.failures = 0;
    }

    /// This many bytes of the total are dealt with.
    pub fn reach(&mut self, at: u64) {
        self.at = at;
        self.bar.set_position(at);
        self.say_each_period(|reporter| {
            json!({
                "event": "progress", "bytes": reporter.at, "total": reporter.total, "moved": reporter.moved,
                "seconds": reporter.begin.elapsed().as_secs_f64(),
            })
        });
    }

    /// Something that the user must know: an event, and text for people.
    pub fn tell(&self, event: &Value, text: &str) {
        match self.format {
            Format::Json => say(&event.to_string()),
            _ => self.bar.suspend(|| say(&printable(text))),
        }
    }

    /// A file was not transferred.
    pub fn fail(&mut self, path: &str, why: &str) {
        self.failures += 1;
        // Line ends in a name must not pass for messages.
        let text = format!("gossamer: {path}: {why}").replace('\n', "\\n");
        self.tell(&json!({ "event": "failed", "path": path, "why": why }), &text);
    }

    /// The transfer is over: returns the exit status of the command. `outcome` is how many files were `done` (sent or
    /// received), or why the transfer could not be done at all.
    ///
    /// # Errors
    /// The failure, unless it was told as JSON.
    pub fn conclude(&self, done: &str, outcome: Result<usize, Failure>) -> Result<u8, Failure> {
        self.bar.finish_and_clear();
        match outcome {
            Ok(files) => {
                self.summarize(done, files);
                Ok(if self.failures > 0 { FAILED } else { 0 })
            }
            Err(failure) => self.failure(failure),
        }
    }

    fn summarize(&self, done: &str, files: usize) {
        let elapsed = self.begin.elapsed();
        let (moved, failed) = (self.moved, self.failures);
        match self.format {
            Format::Quiet => {}
            Format::Json => say(&json!({
                "event": "done", "files": files, "bytes": self.at, "moved": moved, "failed": failed,
                "seconds": elapsed.as_secs_f64(),
            })
            .to_string()),
            Format::Text => {
                let rate = HumanBytes((moved as f64 / elapsed.as_secs_f64().max(1e-9)) as u64);
                let plural = if files == 1 { "" } else { "s" };
                let time = if elapsed < Duration::from_secs(60) {
                    format!("{:.1} s", elapsed.as_secs_f64())
                } else {
                    HumanDuration(elapsed).to_string()
                };
                say(&format!(
                    "{done} {files} file{plural}, moved {} in {time} ({rate}/s)",
                    HumanBytes(moved)
                ));
            }
        }
    }

    fn failure(&self, failure: Failure) -> Result<u8, Failure> {
        if self.format != Format::Json {
            return Err(failure);
        }
        let Failure { status, message } = failure;
        say(&json!({ "event": "error", "message": message, "status": status }).to_string());
        Ok(status)
    }
}

fn say(line: &str) {
    // There is nobody else to tell if that fails.
    let _written = writeln!(std::io::stderr(), "{line}");
}
