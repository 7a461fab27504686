//! What the launcher writes to: its own output, and the files of nodes if they have some.

use crate::launcher::output::NodeOutputFiles;
use crate::terminal::file_printer::FilePrinter;
use crate::terminal::printer::{Printer, PrinterEvent};
use crate::terminal::stream::Stream;
use std::io;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// All places to write to; the threads that write end when this is dropped.
#[derive(Debug)]
pub struct Outlets {
    out: Printer,
    err: Printer,
    files: Option<(FilePrinter, Vec<[usize; 2]>)>,
}

impl Outlets {
    /// Starts the threads that write. Their reports come from the returned receiver.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn start(files: Option<NodeOutputFiles>) -> io::Result<(Self, UnboundedReceiver<PrinterEvent>)> {
        let (tell, told) = unbounded_channel();
        let out = Printer::start(Stream::Out, tell.clone())?;
        let err = Printer::start(Stream::Err, tell.clone())?;
        let start = |NodeOutputFiles { files, of_node }| -> io::Result<_> {
            Ok((FilePrinter::start(files, tell)?, of_node))
        };
        let files = files.map(start).transpose()?;
        Ok((Self { out, err, files }, told))
    }

    /// How many printers will report that they have finished.
    #[must_use]
    pub fn count(&self) -> usize {
        2 + usize::from(self.files.is_some())
    }

    /// Writes what a node has written, and then gives back this many bytes to its machine.
    pub fn print(&self, node: usize, stream: Stream, text: Vec<u8>, machine: usize, bytes: usize) {
        match (&self.files, stream) {
            (Some((files, of_node)), _) => {
                let [out, err] = of_node.get(node).copied().unwrap_or_default();
                files.print(if stream == Stream::Out { out } else { err }, text, machine, bytes);
            }
            (None, Stream::Out) => self.out.print(text, machine, bytes),
            (None, Stream::Err) => self.err.print(text, machine, bytes),
        }
    }

    /// Writes a message of the launcher.
    pub fn say(&self, text: &str) {
        self.err.say(text);
    }
}
