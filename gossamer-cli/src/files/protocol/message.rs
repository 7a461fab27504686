//! What sender and receiver tell each other on their control connection.

use crate::files::content::digest::Digest;
use crate::files::protocol::manifest::Entry;
use serde::{Deserialize, Serialize};

/// Changes whenever the messages of the control connection or the records of the stream change.
pub const PROTOCOL: u32 = 4;
/// How many entries, or answers, one message has: so few that the longest ones fit.
pub const BATCH: usize = 256;

/// The sender introduces itself. This is its first message, which also proves that it knows the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The version of its program.
    pub version: String,
    /// How many seconds it will try to reconnect if the connection is lost.
    pub retry_seconds: u32,
    /// Bytes of a block of the stream.
    pub block: u32,
    /// Contents are authenticated, but not encrypted.
    pub plain: bool,
}

/// The sender to the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SenderMessage {
    /// The next entries of the manifest.
    Entries(Vec<Entry>),
    /// There are no more entries.
    All {
        /// How many files were to be sent and could not be read.
        missing: u32,
    },
    /// All of an entry is in the stream. It is said here because whoever could change the contents on their way must
    /// not be able to change what they are checked by.
    Sent {
        /// Its place in the manifest.
        entry: u32,
        /// How many bytes it has.
        bytes: u64,
        /// Their digest.
        digest: Digest,
    },
}

/// The receiver to the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiverMessage {
    /// Its first message: from now on it waits for this sender only.
    Welcome,
    /// The next answers, in the order of the entries.
    Answers(Vec<Answer>),
    /// There are no more answers: the stream can begin.
    Ready {
        /// A random number for the key of the stream.
        nonce: [u8; 32],
    },
    /// An entry cannot be written.
    Failed {
        /// Which one.
        entry: u32,
        /// Why.
        why: String,
    },
    /// It gives up.
    Stopped {
        /// The exit status that it ends with.
        status: u8,
        /// Why.
        why: String,
    },
    /// Everything that did not fail is in its place.
    Finished,
}

/// The receiver's answer to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Send all of it.
    Send,
    /// This much of it is here, unless it has changed.
    Have {
        /// How many bytes of its start are here.
        bytes: u64,
        /// Their digest.
        digest: Digest,
    },
    /// A file of the same name and size is here.
    Compare {
        /// The digest of that file.
        digest: Digest,
        /// Whether it may be replaced if the digests differ.
        replace: bool,
    },
    /// There is nothing to send.
    Done,
    /// It is refused, for this reason.
    Refused(String),
}
