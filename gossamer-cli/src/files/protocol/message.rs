//! What sender and receiver tell each other on their control connection.

use crate::files::content::digest::Digest;
use crate::files::protocol::manifest::Entry;
use serde::{Deserialize, Serialize};

/// Changes with anything that is said, on the control connection or in the stream.
pub const PROTOCOL: u32 = 4;
/// Entries, or answers, in one message: so few that the longest ones fit.
pub const BATCH: usize = 256;

/// The sender introduces itself. This is its first message, which also proves that it knows the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// What it speaks.
    pub protocol: u32,
    /// The version of its program.
    pub version: String,
    /// For this many seconds it will try to come again if it is cut off.
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
    /// These were all.
    All {
        /// Files that were to be sent and could not be read.
        missing: u32,
    },
    /// All of an entry is in the stream. This is said here, since whatever decides whether contents are right does not
    /// come with them.
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
    /// It waits for this sender only from now on; its first message.
    Welcome,
    /// The next answers, in the order of the entries.
    Answers(Vec<Answer>),
    /// These were all: the stream can come.
    Ready {
        /// For its key.
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
        /// What it ends with.
        status: u8,
        /// Why.
        why: String,
    },
    /// All that did not fail is in its place.
    Finished,
}

/// What the receiver answers to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Send all of it.
    Send,
    /// So much of it is here, unless it has changed.
    Have {
        /// The bytes at its start.
        bytes: u64,
        /// Their digest.
        digest: Digest,
    },
    /// A file of its name and size is here.
    Compare {
        /// The digest of that.
        digest: Digest,
        /// Whether it may be replaced if that differs.
        replace: bool,
    },
    /// Nothing is to be sent.
    Done,
    /// It is not taken: why.
    Refused(String),
}
