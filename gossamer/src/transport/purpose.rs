//! What a connection of nodes is for, and between which: nothing that was said on one is taken on another.

use crate::transport::seal::protection::Protection;
use std::fmt::{self, Display, Formatter};

/// Bytes of a purpose.
pub(crate) const PURPOSE_BYTES: usize = 16;

/// Where a connection goes: the process that waits there takes no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Door {
    /// To node 0, to lead the others.
    Control,
    /// To a node's workers, for lanes.
    Lanes,
    /// To where nodes of two machines watch each other.
    Watch,
    /// To a node's machine, to share memory.
    Memory,
    /// To a stream.
    Stream,
}

const DOORS: [Door; 5] = [Door::Control, Door::Lanes, Door::Watch, Door::Memory, Door::Stream];

/// What one connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    pub(crate) door: Door,
    /// How the data on it is protected.
    pub(crate) protection: Protection,
    /// The node that made it.
    pub(crate) from: u32,
    /// The node whose door it goes to.
    pub(crate) to: u32,
    /// Its number among the connections between those two nodes to this door.
    pub(crate) index: u32,
}

impl Purpose {
    /// The connection of this number from one node to another.
    pub(crate) fn of_nodes(
        door: Door,
        protection: Protection,
        (from, to): (usize, usize),
        index: usize,
    ) -> Self {
        Self { door, protection, from: from as u32, to: to as u32, index: index as u32 }
    }

    /// A connection of a stream, whose ends belong to no rack, and agree on its protection themselves.
    pub(crate) const STREAM: Self =
        Self { door: Door::Stream, protection: Protection::Checked, from: 0, to: 0, index: 0 };

    pub(crate) fn to_bytes(self) -> [u8; PURPOSE_BYTES] {
        let mut bytes = [0; PURPOSE_BYTES];
        bytes[0] = self.door as u8;
        bytes[1] = self.protection.to_byte();
        for (place, number) in bytes[4..].chunks_exact_mut(4).zip([self.from, self.to, self.index]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// `None`, if it is the purpose of no connection.
    pub(crate) fn from_bytes(bytes: [u8; PURPOSE_BYTES]) -> Option<Self> {
        let door = DOORS.into_iter().find(|door| *door as u8 == bytes[0])?;
        let protection = Protection::from_byte(bytes[1])?;
        let (words, _) = bytes.as_chunks::<4>();
        let [_, from, to, index] = [0, 1, 2, 3].map(|word| u32::from_le_bytes(words[word]));
        let purpose = Self { door, protection, from, to, index };
        (purpose.to_bytes() == bytes).then_some(purpose)
    }
}

impl Display for Purpose {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self { door, from, to: at, index, .. } = self;
        match door {
            Door::Control => write!(to, "the control connection of node {from} to node {at}"),
            Door::Lanes => {
                write!(to, "connection {index} of the workers of node {from} to those of node {at}")
            }
            Door::Watch => write!(to, "the connection on which node {from} and node {at} watch each other"),
            Door::Memory => write!(to, "the connection over which node {from} and node {at} share memory"),
            Door::Stream => to.write_str("a connection of a stream"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_is_read_as_it_is_written_and_nothing_else_is_one() {
        for door in DOORS {
            let purpose = Purpose::of_nodes(door, Protection::Encrypted, (3, 0), 70_000);
            assert_eq!(Purpose::from_bytes(purpose.to_bytes()), Some(purpose));
        }
        let mut other = Purpose::STREAM.to_bytes();
        other[2] = 1;
        assert_eq!(Purpose::from_bytes(other), None);
        assert_eq!(Purpose::from_bytes([0xff; PURPOSE_BYTES]), None);
    }
}
