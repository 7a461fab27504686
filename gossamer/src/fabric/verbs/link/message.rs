//! What the two sides of a queue pair tell each other, besides writes into lanes.
//!
//! ```text
//! immediate   0 | worker (31)                     something has landed for that worker
//!             1 | entry (31)                      a message is in that entry of the mailbox
//! message     kind (8) | slots (8) | align (8) | 0 (8) | worker (32)
//!             receives that were posted again (32, wrapping) | place or rows (32)
//!             places that are free again, a bit for each (64)
//!             ticket (64), key (64), bytes of the row (64), bytes (64), address (64)
//! ```

use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::{FRAGMENT_BYTES, Slots};
use crate::wire::refusal::Malformed;
use crate::wire::row::RowLayout;

/// Words of a message.
pub(crate) const MESSAGE_WORDS: usize = 8;
/// Bytes of a message.
pub(crate) const MESSAGE_BYTES: usize = MESSAGE_WORDS * size_of::<u64>();

/// Distinguishes the two kinds of immediate.
const ENTRY: u32 = 1 << 31;

/// The number that comes with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Immediate {
    /// Something has landed for a worker.
    Landed(u32),
    /// A message is in an entry of the mailbox.
    Message(u32),
}

impl Immediate {
    pub(crate) fn pack(self) -> u32 {
        match self {
            Self::Landed(worker) => worker & !ENTRY,
            Self::Message(entry) => entry | ENTRY,
        }
    }

    pub(crate) fn unpack(word: u32) -> Self {
        if word & ENTRY == 0 { Self::Landed(word) } else { Self::Message(word & !ENTRY) }
    }
}

/// A message, and what comes with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MailboxMessage {
    /// Receives that its sender has posted again since the beginning, wrapping.
    pub(crate) receives: u32,
    /// Places of its sender's pool that are free again.
    pub(crate) places: u64,
    pub(crate) subject: Subject,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Nothing else.
    Credit,
    /// Where are the slots of this worker?
    Ask { reader: u32, slots: Slots },
    /// The slots are there.
    Grant { reader: u32, slots: Slots, to: RemoteAddress },
    /// A fragment for this worker is in a place of the pool.
    Fragment { reader: u32, ticket: u64, row: RowLayout, place: u32, bytes: usize },
    /// A row for this worker is to be read from there.
    Row { reader: u32, ticket: u64, row: RowLayout, from: RemoteAddress },
    /// This many rows were read.
    Taken { rows: u32 },
}

const CREDIT: u64 = 0;
const ASK: u64 = 1;
const GRANT: u64 = 2;
const FRAGMENT: u64 = 3;
const ROW: u64 = 4;
const TAKEN: u64 = 5;

impl MailboxMessage {
    pub(crate) fn pack(self) -> [u64; MESSAGE_WORDS] {
        let head = |kind: u64, slots: u64, align: u64, reader: u32| {
            kind << 56 | slots << 48 | align << 40 | u64::from(reader)
        };
        let (first, count, rest) = match self.subject {
            Subject::Credit => (head(CREDIT, 0, 0, 0), 0, [0; 5]),
            Subject::Ask { reader, slots } => (head(ASK, slots as u64, 0, reader), 0, [0; 5]),
            Subject::Grant { reader, slots, to } => {
                (head(GRANT, slots as u64, 0, reader), 0, [0, to.key.into(), 0, 0, to.address])
            }
            Subject::Fragment { reader, ticket, row, place, bytes } => {
                let head = head(FRAGMENT, 0, row.align.into(), reader);
                (head, place, [ticket, 0, row.bytes, bytes as u64, 0])
            }
            Subject::Row { reader, ticket, row, from } => {
                let head = head(ROW, 0, row.align.into(), reader);
                (head, 0, [ticket, from.key.into(), row.bytes, 0, from.address])
            }
            Subject::Taken { rows } => (head(TAKEN, 0, 0, 0), rows, [0; 5]),
        };
        let [third, fourth, fifth, sixth, seventh] = rest;
        let second = u64::from(self.receives) << 32 | u64::from(count);
        [first, second, self.places, third, fourth, fifth, sixth, seventh]
    }

    /// # Errors
    /// If it is not a message.
    pub(crate) fn unpack(words: [u64; MESSAGE_WORDS]) -> Result<Self, Malformed> {
        let [first, second, places, third, fourth, fifth, sixth, seventh] = words;
        let malformed = || Malformed::instead_of::<Self>();
        let reader = first as u32;
        let slots = match first >> 48 & 0xff {
            0 => Slots::Requests,
            1 => Slots::Responses,
            _ => return Err(malformed()),
        };
        let at = || {
            let key = u32::try_from(fourth).map_err(|_| malformed())?;
            Ok(RemoteAddress { address: seventh, key })
        };
        let row = RowLayout { bytes: fifth, align: (first >> 40) as u8 };
        let subject = match first >> 56 {
            CREDIT => Subject::Credit,
            ASK => Subject::Ask { reader, slots },
            GRANT => Subject::Grant { reader, slots, to: at()? },
            FRAGMENT => {
                let bytes = usize::try_from(sixth).ok().filter(|bytes| *bytes <= FRAGMENT_BYTES);
                Subject::Fragment {
                    reader,
                    ticket: third,
                    row,
                    place: second as u32,
                    bytes: bytes.ok_or_else(malformed)?,
                }
            }
            ROW => Subject::Row { reader, ticket: third, row, from: at()? },
            TAKEN => Subject::Taken { rows: second as u32 },
            _ => return Err(malformed()),
        };
        Ok(Self { receives: (second >> 32) as u32, places, subject })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_packing() {
        let to = RemoteAddress { address: 0x7fff_1234_5678, key: u32::MAX };
        let row = RowLayout { bytes: 1 << 40, align: 3 };
        for subject in [
            Subject::Credit,
            Subject::Ask { reader: u32::MAX, slots: Slots::Responses },
            Subject::Grant { reader: 7, slots: Slots::Requests, to },
            Subject::Fragment { reader: 3, ticket: u64::MAX, row, place: 63, bytes: FRAGMENT_BYTES },
            Subject::Row { reader: 3, ticket: u64::MAX, row, from: to },
            Subject::Taken { rows: u32::MAX },
        ] {
            let message = MailboxMessage { receives: 0x8000_0001, places: 1 << 63 | 1, subject };
            assert_eq!(MailboxMessage::unpack(message.pack()).ok(), Some(message));
        }
    }

    #[test]
    fn immediates_survive_packing() {
        for immediate in [Immediate::Landed(0), Immediate::Landed(ENTRY - 1), Immediate::Message(63)] {
            assert_eq!(Immediate::unpack(immediate.pack()), immediate);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let fragment = FRAGMENT << 56;
        for words in [
            [6 << 56, 0, 0, 0, 0, 0, 0, 0],
            [u64::MAX; MESSAGE_WORDS],
            [ASK << 56 | 2 << 48, 0, 0, 0, 0, 0, 0, 0],
            [GRANT << 56, 0, 0, 0, 1 << 32, 0, 0, 1],
            [ROW << 56, 0, 0, 1, 1 << 32, 1, 0, 1],
            [fragment, 0, 0, 0, 0, 0, FRAGMENT_BYTES as u64 + 1, 0],
        ] {
            assert!(MailboxMessage::unpack(words).is_err(), "{words:x?}");
        }
    }
}
