//! What the two ends of a queue pair for reads tell each other, as bytes.

use crate::fabric::verbs::memory::RemoteAddress;

/// Numbers of queue pairs and of packets have so many bits.
const BITS: u32 = 24;
/// A message has at least as many bytes as the largest packet.
const LEAST_MESSAGE: u32 = 4096;
/// Bytes of them all.
pub(crate) const PARAMETERS: usize = 26;

/// What one end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadParameters {
    /// Of its queue pair.
    pub(crate) number: u32,
    /// The number of the first packet that it sends.
    pub(crate) first_packet: u32,
    /// Bytes of a message of its port at most.
    pub(crate) largest_message: u32,
    /// Reads under way that its device starts, and takes.
    pub(crate) reads_sent: u8,
    pub(crate) reads_received: u8,
    /// Where its memory is; zeros, if it cannot be read.
    pub(crate) memory: RemoteAddress,
}

impl ReadParameters {
    pub(crate) fn to_bytes(self) -> [u8; PARAMETERS] {
        let mut bytes = [0; PARAMETERS];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.first_packet.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.largest_message.to_le_bytes());
        bytes[12..14].copy_from_slice(&[self.reads_sent, self.reads_received]);
        bytes[14..22].copy_from_slice(&self.memory.address.to_le_bytes());
        bytes[22..].copy_from_slice(&self.memory.key.to_le_bytes());
        bytes
    }

    /// None, if they are something else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PARAMETERS] = bytes.try_into().ok()?;
        let number = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
        let short = |at| number(at).filter(|number| number >> BITS == 0);
        let address = u64::from_le_bytes(bytes[14..].first_chunk().copied()?);
        Some(Self {
            number: short(0)?,
            first_packet: short(4)?,
            largest_message: number(8).filter(|bytes| *bytes >= LEAST_MESSAGE)?,
            reads_sent: bytes[12],
            reads_received: bytes[13],
            memory: RemoteAddress { address, key: number(22)? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_were_written_and_numbers_that_cannot_be_are_refused() {
        let parameters = ReadParameters {
            number: 0xab_cdef,
            first_packet: 0x12_3456,
            largest_message: 1 << 30,
            reads_sent: 16,
            reads_received: 255,
            memory: RemoteAddress { address: 0x7fff_1234_5678_9000, key: 0xdead_beef },
        };
        let bytes = parameters.to_bytes();
        assert_eq!(ReadParameters::from_bytes(&bytes), Some(parameters));
        assert_eq!(ReadParameters::from_bytes(&bytes[1..]), None);
        for (at, wrong) in [(3, [1; 1].as_slice()), (7, &[1]), (8, &[0; 4])] {
            let mut changed = bytes;
            changed[at..at + wrong.len()].copy_from_slice(wrong);
            assert_eq!(ReadParameters::from_bytes(&changed), None, "{at}");
        }
    }
}
