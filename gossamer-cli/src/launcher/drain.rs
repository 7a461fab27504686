//! Once the application is over: waits until its output is written, unless the user is in a hurry.

use crate::exit::{self, Failure};
use crate::node::signal::PIPE;
use crate::terminal::printer::PrinterEvent;
use crate::terminal::stream::Stream;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

/// How long output that cannot be written may hold up a user who ends an application.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for this many printers. If one of them cannot write, and that `matters` because everything else went well,
/// returns that as the end of the launcher; otherwise nothing. Standard error does not matter.
pub async fn drain(
    printers: UnboundedReceiver<PrinterEvent>,
    count: usize,
    matters: bool,
    is_hurried: bool,
) -> Option<Result<u8, Failure>> {
    match is_hurried {
        true => timeout(PATIENCE, failure(printers, count, matters)).await.ok().flatten(),
        false => failure(printers, count, matters).await,
    }
}

/// The failure of a printer, or nothing once all printers have ended.
async fn failure(
    mut printers: UnboundedReceiver<PrinterEvent>,
    count: usize,
    matters: bool,
) -> Option<Result<u8, Failure>> {
    let mut running = count;
    while running > 0 {
        match printers.recv().await? {
            PrinterEvent::Finished => running -= 1,
            PrinterEvent::Failed(Stream::Out, error) if matters => return Some(unwritable(error)),
            PrinterEvent::FileFailed(path, error) if matters => {
                return Some(Err(Failure::new(exit::OUTPUT, file_failed(&path, &error))));
            }
            PrinterEvent::Failed(..) | PrinterEvent::FileFailed(..) | PrinterEvent::Printed { .. } => {}
        }
    }
    None
}

/// What is said about the first file that can no longer be written.
#[must_use]
pub fn file_failed(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}; the rest of its output is lost", path.display())
}

/// How the launcher ends if standard output cannot be written.
fn unwritable(error: io::Error) -> Result<u8, Failure> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(exit::SIGNALLED + PIPE);
    }
    Err(Failure::new(exit::OUTPUT, format!("standard output cannot be written: {error}")))
}
