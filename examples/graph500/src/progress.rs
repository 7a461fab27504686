//! The progress bar: a property like any other, which fibers of all workers send their progress to.

use gossamer::{NoRef, Trust};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Shows the progress of a phase, if somebody can see it.
#[derive(Clone, NoRef)]
pub struct Progress(Option<Trust<ProgressBar>>);

impl Progress {
    /// None where the errors go to no terminal.
    pub fn new() -> Self {
        Self(
            io::stderr().is_terminal().then(|| gossamer::entrust(ProgressBar::new(0).with_style(counting()))),
        )
    }

    /// Begins a phase of this many steps; 0 means that nobody knows how many.
    #[gossamer::delegate]
    pub fn begin(&self, phase: String, steps: u64) {
        if let Some(bar) = &self.0 {
            bar.apply(|bar| {
                if steps == 0 {
                    bar.set_style(spinner());
                    // By a thread: nobody tells of steps.
                    bar.enable_steady_tick(Duration::from_millis(100));
                } else {
                    bar.disable_steady_tick();
                    bar.set_style(counting());
                }
                bar.set_message(phase);
                bar.set_length(steps);
                bar.set_position(0);
            });
        }
    }

    /// Adds steps that are done.
    #[gossamer::delegate]
    pub fn advance(&self, steps: u64) {
        if let Some(bar) = &self.0 {
            bar.apply_then(|bar| bar.inc(steps), |()| ());
        }
    }

    /// Prints a line above the bar.
    #[gossamer::delegate]
    pub fn print(&self, line: String) {
        match &self.0 {
            Some(bar) => bar.apply(|bar| bar.suspend(|| print(&line))),
            None => print(&line),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.apply(|bar| bar.finish_and_clear());
        }
    }
}

/// If the reader of the output has seen enough, nobody misses the line.
fn print(line: &str) {
    _ = writeln!(io::stdout(), "{line}");
}

/// A template is checked when it is used. If it is wrong, the usual style will do.
fn counting() -> ProgressStyle {
    ProgressStyle::with_template("{msg:12} {wide_bar} {human_pos} of {human_len}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// For a phase of which nobody knows how long it is.
fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{msg:12} {spinner} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}
