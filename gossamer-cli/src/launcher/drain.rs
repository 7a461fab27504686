//! Once the application is over: waits until its output is written, unless the user is in a hurry.

use crate::exit::{self, Failure};
use crate::node::signal::PIPE;
use crate::terminal::printer::PrinterEvent;
use crate::terminal::stream::Stream;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

/// How long a user who wants the end waits for output that cannot be written.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for both printers. If standard output cannot be written, and `matters` since all else went well, that is how the
/// launcher ends; otherwise nothing.
pub async fn drain(
    printers: UnboundedReceiver<PrinterEvent>,
    matters: bool,
    is_hurried: bool,
) -> Option<Result<u8, Failure>> {
    let failure = match is_hurried {
        true => timeout(PATIENCE, failure(printers, matters)).await.ok().flatten(),
        false => failure(printers, matters).await,
    };
    failure.map(unwritable)
}

/// The failure of standard output, or nothing once both printers have ended.
async fn failure(mut printers: UnboundedReceiver<PrinterEvent>, matters: bool) -> Option<io::Error> {
    let mut running = 2;
    while running > 0 {
        match printers.recv().await? {
            PrinterEvent::Finished => running -= 1,
            PrinterEvent::Failed(Stream::Out, error) if matters => return Some(error),
            PrinterEvent::Failed(..) | PrinterEvent::Printed { .. } => {}
        }
    }
    None
}

/// The launcher's end if standard output cannot be written.
fn unwritable(error: io::Error) -> Result<u8, Failure> {
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(exit::SIGNALLED + PIPE);
    }
    Err(Failure::new(exit::OUTPUT, format!("standard output cannot be written: {error}")))
}
