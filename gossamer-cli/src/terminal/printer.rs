//! Writes to standard output or standard error in a thread of its own, so that a reader that is slow, or has stopped, does
//! not hold up the launcher.

use crate::terminal::stream::Stream;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::sync::mpsc::UnboundedSender;

/// What a printer tells the launcher.
#[derive(Debug)]
pub enum PrinterEvent {
    /// This many bytes of a machine's output have been dealt with.
    Printed {
        /// Which machine.
        machine: usize,
        /// How many bytes.
        bytes: usize,
    },
    /// It cannot write any more.
    Failed(Stream, io::Error),
    /// The first file that cannot be written any more.
    FileFailed(PathBuf, io::Error),
    /// Everything that was handed to it has been written, and it has ended.
    Finished,
}

/// Something to write, and the number of bytes of a machine's output that this deals with.
#[derive(Debug)]
struct Job {
    text: Vec<u8>,
    machine: usize,
    bytes: usize,
}

/// The way to the thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Printer(Sender<Job>);

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(stream: Stream, progress: UnboundedSender<PrinterEvent>) -> io::Result<Self> {
        let (jobs, waiting) = channel();
        thread::Builder::new().name("printer".into()).spawn(move || {
            match stream {
                Stream::Out => run(stream, &mut io::stdout().lock(), &waiting, &progress),
                Stream::Err => run(stream, &mut io::stderr().lock(), &waiting, &progress),
            }
            let _ = progress.send(PrinterEvent::Finished);
        })?;
        Ok(Self(jobs))
    }

    /// Writes something, and then gives these bytes back to a machine.
    pub fn print(&self, text: Vec<u8>, machine: usize, bytes: usize) {
        // The thread ends only after this.
        let _ = self.0.send(Job { text, machine, bytes });
    }

    /// Writes a message of the launcher.
    pub fn say(&self, text: &str) {
        self.print(text.as_bytes().to_vec(), 0, 0);
    }
}

fn run(
    stream: Stream,
    output: &mut dyn Write,
    waiting: &Receiver<Job>,
    progress: &UnboundedSender<PrinterEvent>,
) {
    let mut works = true;
    while let Ok(Job { text, machine, bytes }) = waiting.recv() {
        if works && let Err(error) = write(output, &text) {
            works = false;
            let _ = progress.send(PrinterEvent::Failed(stream, error));
        }
        if bytes > 0 {
            let _ = progress.send(PrinterEvent::Printed { machine, bytes });
        }
    }
}

/// Writes everything, even if somebody else has made the file non-blocking.
///
/// # Errors
/// If that is not possible.
pub fn write(output: &mut dyn Write, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match output.write(text) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => text = text.get(length..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(std::time::Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    output.flush()
}
