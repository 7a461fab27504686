//! How a peer that knows the key gets through a gate at which many strangers knock. A crowded gate turns away everybody
//! who is not through at once; so if the handshake ends early, that is no answer yet.

use std::io::{self, ErrorKind};
use std::time::Duration;

/// How often a connection is tried again that ends before the other side has introduced itself.
const AGAIN: u32 = 6;
/// How long to wait before the first further try; before each one after that, twice as long.
const PAUSE: Duration = Duration::from_millis(20);

/// How long to wait before each further try.
pub fn pauses() -> impl Iterator<Item = Duration> {
    (0..AGAIN).map(|tried| PAUSE * 2_u32.pow(tried))
}

/// Whether a handshake has ended without an answer.
#[must_use]
pub fn is_end(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

/// What can go wrong on the way in.
#[derive(Debug)]
pub enum KnockError {
    /// Nobody is there.
    Connect(io::Error),
    /// The other side does not know the key, or is something else.
    Handshake(io::Error),
}

/// Opens a connection, and tries again if it is turned away.
///
/// # Errors
/// The error of the last try.
pub async fn knock<T, F>(open: impl Fn() -> F) -> Result<T, KnockError>
where
    F: Future<Output = Result<T, KnockError>>,
{
    for pause in pauses() {
        match open().await {
            Err(KnockError::Handshake(error)) if is_end(error.kind()) => tokio::time::sleep(pause).await,
            opened => return opened,
        }
    }
    open().await
}
