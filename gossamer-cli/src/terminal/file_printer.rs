//! Writes to files in a thread of its own, so that a slow disk does not hold up the launcher. A file that cannot be
//! written to is given up, and the first such file is reported.

use crate::terminal::printer::{PrinterEvent, write};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tokio::sync::mpsc::UnboundedSender;

/// Something to write to one of the files, and the number of bytes of a machine's output that this deals with.
#[derive(Debug)]
struct FileJob {
    file: usize,
    text: Vec<u8>,
    machine: usize,
    bytes: usize,
}

/// The way to the thread; it ends when this is dropped.
#[derive(Debug)]
pub struct FilePrinter(Sender<FileJob>);

impl FilePrinter {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(files: Vec<(PathBuf, File)>, progress: UnboundedSender<PrinterEvent>) -> io::Result<Self> {
        let (jobs, waiting) = channel();
        thread::Builder::new().name("file-printer".into()).spawn(move || {
            run(files, &waiting, &progress);
            let _ = progress.send(PrinterEvent::Finished);
        })?;
        Ok(Self(jobs))
    }

    /// Writes to one of the files, by its place, and then gives these bytes back to a machine.
    pub fn print(&self, file: usize, text: Vec<u8>, machine: usize, bytes: usize) {
        // The thread ends only after this.
        let _ = self.0.send(FileJob { file, text, machine, bytes });
    }
}

fn run(files: Vec<(PathBuf, File)>, waiting: &Receiver<FileJob>, progress: &UnboundedSender<PrinterEvent>) {
    let mut files: Vec<_> = files.into_iter().map(Some).collect();
    let mut is_told = false;
    while let Ok(FileJob { file, text, machine, bytes }) = waiting.recv() {
        if let Some(open) = files.get_mut(file)
            && let Some((path, output)) = open
            && let Err(error) = write(output, &text)
        {
            if !is_told {
                let _ = progress.send(PrinterEvent::FileFailed(path.clone(), error));
            }
            is_told = true;
            *open = None;
        }
        if bytes > 0 {
            let _ = progress.send(PrinterEvent::Printed { machine, bytes });
        }
    }
}
