//! The progress bar: a property like any other, which fibers send their progress to.

use gossamer::{NoRef, Trust};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

/// Shows how many bytes were read, if somebody can see it.
#[derive(Clone, NoRef)]
pub struct Progress(Option<Trust<ProgressBar>>);

impl Progress {
    /// A bar towards `total` bytes, or a mere count if nobody knows the total.
    pub fn new(total: Option<u64>) -> Self {
        Self(is_seen().then(|| gossamer::entrust(bar(total))))
    }

    /// Adds bytes that were read.
    #[gossamer::delegate]
    pub fn advance(&self, bytes: usize) {
        if let Some(bar) = &self.0 {
            bar.apply_then(move |bar| bar.inc(bytes as u64), |()| ());
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.apply(|bar| bar.finish_and_clear());
        }
    }
}

/// On a terminal, unless the output goes into a pipe: the bar would disturb what the next program shows.
fn is_seen() -> bool {
    io::stderr().is_terminal() && !is_pipe(&io::stdout())
}

fn is_pipe(output: &impl AsFd) -> bool {
    let metadata = output.as_fd().try_clone_to_owned().and_then(|owned| File::from(owned).metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => {
            (ProgressBar::new(total), "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left")
        }
        None => (ProgressBar::no_length(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    // A template is checked when it is used. If it is wrong, the usual style will do.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = bar.with_style(style);
    bar.tick();
    bar
}
