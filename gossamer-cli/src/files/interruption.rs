//! What the user is told when a transfer ends early: what was lost, and the one thing to do.

use crate::exit::{Failure, LOST};
use gossamer::stream::Error;
use std::fmt::Display;

/// What the user is to do.
const ADVICE: &str = "; what has arrived is kept: run both commands again to continue";

/// What happened, without the advice.
#[must_use]
pub fn cause(message: &str) -> &str {
    message.strip_suffix(ADVICE).unwrap_or(message)
}

/// The other side, a `sender` or a `receiver`, can no longer be reached.
pub fn lost(other: &str, why: &dyn Display) -> Failure {
    Failure::new(LOST, format!("the {other} was lost ({why}){ADVICE}"))
}

/// The other side's end of the stream is gone, or has failed. The stream's error gives advice to programs, which does
/// not help here.
pub fn stream_lost(other: &str, error: &Error) -> Failure {
    match error {
        Error::PeerLost { .. } => lost(other, &"its connection has ended"),
        Error::Aborted { .. } => lost(other, &"it has given up"),
        Error::Timeout { .. } => lost(other, &"nothing arrives from it any more"),
        error => lost(other, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gossamer::stream::End;

    #[test]
    fn there_is_one_thing_to_do() {
        for error in
            [Error::PeerLost { at: 1 }, Error::Aborted { by: End::Sender, at: 1 }, Error::Timeout { at: 1 }]
        {
            let said = stream_lost("sender", &error).message;
            assert!(said.ends_with("run both commands again to continue"), "{said}");
            assert!(!said.contains("start the stream") && !said.contains('`'), "{said}");
        }
    }
}
