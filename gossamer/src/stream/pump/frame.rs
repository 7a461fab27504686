//! What goes over a connection between two rings: frames of one size, some with the bytes of a block behind them.

use crate::stream::checksum::{CHECKSUM, checked, with_checksum};
use std::io;

/// Words of a frame, without their checksum.
const WORDS: usize = 5;
/// Bytes of these.
pub(crate) const TEXT: usize = WORDS * 8;
/// Bytes of a frame.
pub(crate) const BYTES: usize = TEXT + CHECKSUM;

/// One message between two pumps. A *turn* orders the frames of a sender over all its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PumpFrame {
    /// So many bytes of a block, from this offset on; they follow. All of it, unless the sender has flushed it.
    Bytes { turn: u64, offset: u64, bytes: u32, hash: u64 },
    /// The blocks below this that were not sent are holes.
    Passed { turn: u64, blocks: u64 },
    /// That was all.
    End { turn: u64, length: u64, digest: u64 },
    /// No more comes on this connection.
    Leave,
    /// The receiver had all blocks below this, and has given them up.
    Credit { released: u64 },
    /// The receiver has all.
    Confirm { digest: u64 },
    /// The stream has failed.
    Abort { failure: u64 },
}

impl PumpFrame {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        with_checksum(self.to_text())
    }

    /// Without its checksum.
    pub(crate) fn to_text(self) -> [u8; TEXT] {
        let words = match self {
            Self::Bytes { turn, offset, bytes, hash } => [1, turn, offset, bytes.into(), hash],
            Self::Passed { turn, blocks } => [2, turn, blocks, 0, 0],
            Self::End { turn, length, digest } => [3, turn, length, digest, 0],
            Self::Leave => [4, 0, 0, 0, 0],
            Self::Credit { released } => [5, released, 0, 0, 0],
            Self::Confirm { digest } => [6, digest, 0, 0, 0],
            Self::Abort { failure } => [7, failure, 0, 0, 0],
        };
        let mut text = [0; TEXT];
        for (place, word) in text.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        text
    }

    /// # Errors
    /// If it is none, or not as it was sent.
    pub(crate) fn from_bytes(bytes: [u8; BYTES]) -> io::Result<Self> {
        Self::from_text(checked(&bytes).ok_or_else(malformed)?)
    }

    /// # Errors
    /// If it is none.
    pub(crate) fn from_text(text: &[u8]) -> io::Result<Self> {
        let mut words = [0; WORDS];
        for (word, place) in words.iter_mut().zip(text.chunks_exact(8)) {
            *word = u64::from_le_bytes(place.try_into().unwrap_or_default());
        }
        Ok(match words {
            [1, turn, offset, bytes, hash] => {
                Self::Bytes { turn, offset, bytes: bytes.try_into().map_err(|_| malformed())?, hash }
            }
            [2, turn, blocks, 0, 0] => Self::Passed { turn, blocks },
            [3, turn, length, digest, 0] => Self::End { turn, length, digest },
            [4, 0, 0, 0, 0] => Self::Leave,
            [5, released, 0, 0, 0] => Self::Credit { released },
            [6, digest, 0, 0, 0] => Self::Confirm { digest },
            [7, failure, 0, 0, 0] => Self::Abort { failure },
            _ => return Err(malformed()),
        })
    }
}

/// What is no frame, or none that may come here.
pub(crate) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no frame of a stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let (turn, block, hash, digest, length) = (1, 2, u64::MAX, 4, 1 << 45);
        for frame in [
            PumpFrame::Bytes { turn, offset: block << 21, bytes: 1 << 30, hash },
            PumpFrame::Passed { turn, blocks: block },
            PumpFrame::End { turn, length, digest },
            PumpFrame::Leave,
            PumpFrame::Credit { released: 9 },
            PumpFrame::Confirm { digest },
            PumpFrame::Abort { failure: 6 },
        ] {
            assert_eq!(PumpFrame::from_bytes(frame.to_bytes()).unwrap(), frame);
        }
        let mut changed = PumpFrame::Leave.to_bytes();
        changed[9] ^= 4;
        for wrong in [changed, [0; BYTES], [1; BYTES], [255; BYTES]] {
            assert!(PumpFrame::from_bytes(wrong).is_err());
        }
    }
}
