//! The messages of the receiver while files are sent, up to its last word.

use crate::exit::{FAILED, Failure, LOST, OUTPUT, SIGNALLED, UNREACHABLE};
use crate::files::interruption;
use crate::files::pairing::control::ControlReceiver;
use crate::files::protocol::message::ReceiverMessage;
use crate::files::sender::tally::Tally;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

/// What the receiver says.
#[derive(Debug)]
pub struct Feedback {
    messages: Receiver<io::Result<ReceiverMessage>>,
    last: Option<io::Result<ReceiverMessage>>,
}

impl Feedback {
    /// Listens in a thread of its own.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn listen(mut control: ControlReceiver) -> Result<Self, Failure> {
        let (tell, messages) = mpsc::channel();
        let listening = thread::Builder::new().spawn(move || {
            loop {
                let heard = control.receive();
                let is_last = !matches!(heard, Ok(ReceiverMessage::Failed { .. }));
                if tell.send(heard).is_err() || is_last {
                    return;
                }
            }
        });
        listening.map_err(|error| Failure::new(FAILED, format!("no thread can be started: {error}")))?;
        Ok(Self { messages, last: None })
    }

    /// Notes what the receiver could not write; true once it has said its last word.
    pub fn poll(&mut self, tally: &mut Tally<'_>) -> bool {
        while self.last.is_none()
            && let Ok(heard) = self.messages.try_recv()
        {
            self.take(heard, tally);
        }
        self.last.is_some()
    }

    /// Waits for the last word; if there is a due time, only until then.
    ///
    /// # Errors
    /// If the receiver is lost, or nothing comes in time.
    pub fn wait(mut self, due: Option<Instant>, tally: &mut Tally<'_>) -> io::Result<ReceiverMessage> {
        loop {
            if let Some(last) = self.last {
                return last;
            }
            let heard = match due {
                // The receiver syncs what it has, however long that takes.
                None => self.messages.recv().map_err(io::Error::other),
                Some(due) => self
                    .messages
                    .recv_timeout(due.saturating_duration_since(Instant::now()))
                    .map_err(io::Error::other),
            };
            self.take(heard.flatten(), tally);
        }
    }

    fn take(&mut self, heard: io::Result<ReceiverMessage>, tally: &mut Tally<'_>) {
        match heard {
            Ok(ReceiverMessage::Failed { entry, why }) => {
                tally.fail(entry as usize, &format!("the receiver: {why}"));
            }
            last => self.last = Some(last),
        }
    }
}

/// The receiver can no longer be reached.
pub fn lost(error: &dyn std::fmt::Display) -> Failure {
    interruption::lost("receiver", error)
}

/// The receiver has given up.
#[must_use]
pub fn stopped(status: u8, why: &str) -> Failure {
    let status = match status {
        UNREACHABLE | LOST => status,
        OUTPUT | SIGNALLED.. => OUTPUT,
        _ => FAILED,
    };
    Failure::new(status, format!("the receiver: {why}"))
}
