//! [`Error`]: what can end a stream, or prevent one.

use crate::Protection;
use crate::counters::stream::{EndCounters, RECEIVERS, SENDERS};
use crate::stream::Geometry;
use std::fmt;
use std::io;

/// Which end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that writes.
    Sender,
    /// The end that reads.
    Receiver,
}

impl End {
    /// The counters of ends of this kind.
    pub(crate) fn counters(self) -> &'static EndCounters {
        match self {
            Self::Sender => &SENDERS,
            Self::Receiver => &RECEIVERS,
        }
    }

    /// The other end.
    ///
    /// ```
    /// use gossamer::stream::{self, End, Error, Geometry};
    /// let (sender, receiver) = stream::pair(0, Geometry::default())?;
    /// drop(receiver); // it wants nothing
    /// match sender.finish() {
    ///     Err(Error::Aborted { by, .. }) => assert_eq!((by, by.other()), (End::Receiver, End::Sender)),
    ///     outcome => panic!("not expected: {outcome:?}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        })
    }
}

/// What ended a stream early, or prevents one. Offsets are bytes from the start of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The other end's process, machine or connection is gone.
    PeerLost {
        /// How many bytes had been handed over until then.
        at: u64,
    },
    /// An end was dropped without `finish` before everything was done.
    Aborted {
        /// Which one.
        by: End,
        /// How many bytes had been handed over until then.
        at: u64,
    },
    /// A block arrived with different bytes than were sent.
    Checksum {
        /// Where the block begins.
        at: u64,
    },
    /// The data that arrived over an [authenticated or encrypted](crate::Protection) connection is not what the other
    /// end sent: it was changed on the way, repeated, dropped or reordered.
    Tampered {
        /// How many bytes had been handed over until then. All of that is as it was sent.
        at: u64,
    },
    /// The other end did nothing for the time set by [`Options::patience`](crate::stream::Options::patience).
    Timeout {
        /// How many bytes had been handed over until then.
        at: u64,
    },
    /// The other end sent something that makes no sense.
    Protocol {
        /// How many bytes had been handed over until then.
        at: u64,
    },
    /// Blocks can no longer be read by RDMA: a link is cut, or a device has failed.
    Rdma {
        /// How many bytes had been handed over until then.
        at: u64,
        /// The device, and its report.
        why: String,
    },
    /// The sender finished a stream of known length at a different length.
    Length {
        /// The length that was agreed.
        declared: u64,
        /// The bytes that were written.
        written: u64,
    },
    /// The ends have different geometries.
    Geometry {
        /// This end's.
        ours: Geometry,
        /// The other's.
        theirs: Geometry,
    },
    /// The ends want different levels of protection.
    Protection {
        /// This end's.
        ours: Protection,
        /// The other's.
        theirs: Protection,
    },
    /// Both ends send, or both receive.
    Role(
        /// What both are.
        End,
    ),
    /// The other end of a channel could not be opened.
    NotOpened {
        /// Which one.
        end: End,
        /// Where it was to be opened: the source line and the worker.
        there: String,
        /// Where this end was opened.
        here: String,
        /// The reason.
        why: String,
    },
    /// An access after the end of the window or of the stream.
    Overrun {
        /// The byte that was asked for.
        offset: u64,
        /// Where the end is.
        end: u64,
    },
    /// An access before what is still in memory.
    BehindComeback {
        /// The byte that was asked for.
        offset: u64,
        /// The first byte that is still there.
        first: u64,
    },
    /// This process was forked from the one that the stream belongs to.
    Forked,
    /// A destructor would have to wait for the other end while its fiber unwinds, which would stop all other fibers
    /// of its worker.
    Unwinding,
    /// The request is refused.
    Refused(
        /// What is wrong and what to do.
        String,
    ),
    /// The operating system refused.
    Io {
        /// What was attempted.
        doing: String,
        /// The system's error.
        kind: io::ErrorKind,
        /// The system's message.
        text: String,
    },
}

impl Error {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, kind: error.kind(), text: error.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PeerLost { at } => {
                write!(f, "the other end is gone, after {at} bytes: start the stream again")
            }
            Self::Aborted { by, at } => {
                write!(f, "the {by} was dropped without `finish` after {at} bytes: its side has failed")
            }
            Self::Checksum { at } => write!(
                f,
                "the block at byte {at} arrived with different bytes than were sent: check the network and the memory \
                 of both machines"
            ),
            Self::Tampered { at } => write!(
                f,
                "what came after {at} bytes is not what the other end has sent: somebody on the way changes it, or a network or memory \
                 breaks it"
            ),
            Self::Timeout { at } => write!(
                f,
                "the other end did nothing for too long, after {at} bytes: check what it does, or give \
                 `Options::patience` more"
            ),
            Self::Protocol { at } => write!(
                f,
                "what the other end says after {at} bytes makes no sense: run one version at both ends"
            ),
            Self::Rdma { at, why } if why.is_empty() => write!(f, "RDMA has failed after {at} bytes"),
            Self::Rdma { at, why } => write!(f, "RDMA has failed after {at} bytes: {why}"),
            Self::Length { declared, written } => write!(
                f,
                "the stream was to have {declared} bytes and got {written}: write all of them, or leave the length open"
            ),
            Self::Geometry { ours, theirs } => {
                write!(f, "this end has {ours}, and the other {theirs}: give both the same geometry")
            }
            Self::Protection { ours, theirs } => write!(
                f,
                "this end wants a stream that is {ours}, and the other one that is {theirs}: give both the same \
                 `Options::protection`"
            ),
            Self::Role(end) => write!(f, "both ends are a {end}: one must be a {}", end.other()),
            Self::NotOpened { end, there, here, why } => {
                write!(f, "the {end} of this channel could not be opened at {there}: {why}; its {} was opened at {here}", end.other())
            }
            Self::Overrun { offset, end } => {
                write!(f, "byte {offset} is after the end of the stream at {end}")
            }
            Self::BehindComeback { offset, first } => write!(
                f,
                "byte {offset} is gone: the first that is still in memory is {first}; a larger `Geometry::comeback` \
                 keeps more"
            ),
            Self::Forked => f.write_str(
                "the stream belongs to the process that this one was forked from: make one of its own here",
            ),
            Self::Unwinding => f.write_str(
                "a destructor of a fiber that unwinds cannot wait for a stream, since no other fiber of its worker runs \
                 meanwhile: finish or drop the stream before",
            ),
            Self::Refused(why) => f.write_str(why),
            Self::Io { doing, text, .. } => write!(f, "{doing}: {text}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::PeerLost { .. } | Error::Rdma { .. } => io::ErrorKind::ConnectionReset,
            Error::Aborted { .. } | Error::NotOpened { .. } => io::ErrorKind::ConnectionAborted,
            Error::Checksum { .. } | Error::Tampered { .. } | Error::Protocol { .. } => {
                io::ErrorKind::InvalidData
            }
            Error::Timeout { .. } => io::ErrorKind::TimedOut,
            Error::Io { kind, .. } => *kind,
            Error::Overrun { .. } => io::ErrorKind::WriteZero,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
