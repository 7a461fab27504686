//! What the sender announces on the control connection about contents that are in the stream: their length and digest.

use crate::exit::{FAILED, Failure};
use crate::files::content::digest::Digest;
use crate::files::pairing::control::ControlReceiver;
use crate::files::protocol::message::SenderMessage;
use crate::files::receiver::incoming::malformed;
use crate::files::receiver::negotiation::lost;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// Announcements that are not needed yet.
#[derive(Debug)]
pub struct Announcements(Receiver<io::Result<SenderMessage>>);

impl Announcements {
    /// Listens in a thread of its own, so that the sender never has to wait for a reader; `most` is the number of
    /// entries.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn listen(mut control: ControlReceiver, most: usize) -> Result<Self, Failure> {
        let (tell, told) = mpsc::channel();
        let listening = thread::Builder::new().spawn(move || {
            for _ in 0..most {
                let heard = control.receive();
                let is_last = heard.is_err();
                if tell.send(heard).is_err() || is_last {
                    return;
                }
            }
        });
        listening.map_err(|error| Failure::new(FAILED, format!("no thread can be started: {error}")))?;
        Ok(Self(told))
    }

    /// The announcement for the entry whose contents have come: it always comes before them.
    ///
    /// # Errors
    /// If the sender is lost, or says something else.
    pub fn of(&self, index: usize) -> Result<(u64, Digest), Failure> {
        match self.0.recv().map_err(|_| malformed("an end too many"))? {
            Ok(SenderMessage::Sent { entry, bytes, digest }) if entry as usize == index => {
                Ok((bytes, digest))
            }
            Ok(_) => Err(malformed("an end of another entry")),
            Err(error) => Err(lost(&error)),
        }
    }
}
