//! What the sender says of contents on the control connection, while they come in the stream: how long they are, and their digest.

use crate::exit::{FAILED, Failure};
use crate::files::content::digest::Digest;
use crate::files::pairing::control::ControlReceiver;
use crate::files::protocol::message::SenderMessage;
use crate::files::receiver::incoming::malformed;
use crate::files::receiver::negotiation::lost;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// What was said and is not needed yet.
#[derive(Debug)]
pub struct Announcements(Receiver<io::Result<SenderMessage>>);

impl Announcements {
    /// Listens in a thread of its own, so that the sender never waits to be heard; `most` is how many entries there are.
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

    /// What was said of the entry whose contents have come: that is said first.
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
