//! A receiver that goes on waiting for a sender that it has lost, and that has said that it will come again.

use crate::exit::{Failure, LOST};
use crate::files::arguments::RecvArguments;
use crate::files::interruption::cause;
use crate::files::pairing::listener::Listener;
use crate::files::receiver::destination::Destination;
use crate::files::receiver::run::receive;
use crate::files::reporter::Reporter;
use crate::secure::key::Key;
use serde_json::json;
use std::time::Duration;

/// The longest time that a sender may keep it waiting.
const LONGEST: Duration = Duration::from_hours(24);

/// Receives, again and again while the sender comes back. The port stays with this receiver meanwhile.
///
/// # Errors
/// Why the last try failed.
pub fn receive_again(
    arguments: &RecvArguments,
    listener: &Listener,
    key: &Key,
    reporter: &mut Reporter,
) -> Result<usize, Failure> {
    let (mut patience, mut lost) = (None, None);
    loop {
        // Opened again for each try: the directory may have been moved, and its contents have changed.
        let destination = Destination::open(arguments)?;
        // What went to standard output cannot be taken back.
        let can_go_on = matches!(destination, Destination::Tree(_));
        let mut comes_again = None;
        let outcome = receive(destination, listener.share()?, key, patience, &mut comes_again, reporter);
        match (outcome, comes_again) {
            // Nobody came.
            (Err(failure), None) => return Err(lost.unwrap_or(failure)),
            (Err(failure), Some(most)) if failure.status == LOST && can_go_on && !most.is_zero() => {
                patience = Some(most.min(LONGEST));
                tell(reporter, &failure, most.min(LONGEST));
                lost = Some(failure);
            }
            (outcome, _) => return outcome,
        }
        reporter.begin_again();
    }
}

fn tell(reporter: &Reporter, failure: &Failure, patience: Duration) {
    let (why, seconds) = (cause(&failure.message), patience.as_secs());
    reporter.tell(
        &json!({ "event": "waiting again", "why": why, "seconds": seconds }),
        &format!("gossamer: {why}; waits up to {seconds} s for it to come back"),
    );
}
