//! What two ends tell each other when they meet: role, geometry, length, and where.

use crate::stream::checksum::{CHECKSUM, checked, with_checksum};
use crate::stream::connect::routes::Routes;
use crate::stream::error::End;
use crate::stream::geometry::MOST_BYTES;
use crate::stream::{Error, Geometry};
use crate::transport::random::random;
use crate::transport::seal::protection::Protection;
use std::io::{self, Read, Write};

/// Bytes of the message without its checksum.
pub(crate) const TEXT: usize = 81;
const BYTES: usize = TEXT + CHECKSUM;
const MAGIC: [u8; 8] = *b"gossstr\x07";
/// Stands for an open length, or one that this end does not know.
const OPEN: u64 = u64::MAX;

/// A number that names a stream, or a machine.
pub(crate) type Name = [u8; 16];

/// The description of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamParameters {
    pub(crate) end: End,
    /// By which routes its blocks may go.
    pub(crate) routes: Routes,
    /// How many connections the stream has, and which of them this is.
    pub(crate) connections: u8,
    pub(crate) index: u8,
    pub(crate) geometry: Geometry,
    pub(crate) length: Option<u64>,
    pub(crate) machine: Name,
    /// The user of the process.
    pub(crate) user: u32,
    /// Given by the end that accepts.
    pub(crate) stream: Name,
    pub(crate) protection: Protection,
}

impl StreamParameters {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let small = [u8::from(self.end == End::Sender), self.routes.to_bits(), self.connections, self.index];
        let geometry = &self.geometry;
        let numbers = [
            geometry.block_bytes() as u64,
            geometry.ahead_blocks(),
            geometry.comeback_blocks(),
            self.length.unwrap_or(OPEN),
        ];
        let numbers = numbers.map(u64::to_le_bytes);
        let user = self.user.to_le_bytes();
        let protection = [self.protection.to_byte()];
        let parts =
            [&MAGIC[..], &small, &user, numbers.as_flattened(), &self.machine, &self.stream, &protection];
        let mut text = [0; TEXT];
        for (place, byte) in text.iter_mut().zip(parts.into_iter().flatten()) {
            *place = *byte;
        }
        with_checksum(text)
    }

    pub(crate) fn from_bytes(bytes: [u8; BYTES]) -> Option<Self> {
        let number = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
        let name = |at: usize| bytes.get(at..)?.first_chunk().copied();
        let size = |at: usize| usize::try_from(number(at)?).ok();
        checked(&bytes)?;
        if bytes[..8] != MAGIC || bytes[8] > 1 {
            return None;
        }
        let geometry = Geometry::new().block(size(16)?).ahead(size(24)?).comeback(size(32)?);
        let length = number(40).filter(|length| *length != OPEN);
        if length.is_some_and(|length| length > MOST_BYTES) {
            return None;
        }
        Some(Self {
            end: if bytes[8] == 1 { End::Sender } else { End::Receiver },
            routes: Routes::from_bits(bytes[9])?,
            connections: bytes[10],
            index: bytes[11],
            user: bytes.get(12..)?.first_chunk().copied().map(u32::from_le_bytes)?,
            geometry,
            length,
            machine: name(48)?,
            stream: name(64)?,
            protection: Protection::from_byte(bytes[80])?,
        })
    }

    pub(crate) fn write(self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.to_bytes())
    }

    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        from.read_exact(&mut bytes)?;
        Self::from_bytes(bytes).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "the other end is not a stream of this version: run the same version at both ends",
            )
        })
    }

    /// Checks whether this end and the other one fit together.
    ///
    /// # Errors
    /// What does not fit.
    pub(crate) fn check(&self, theirs: &Self) -> Result<(), Error> {
        if self.end == theirs.end {
            return Err(Error::Role(self.end));
        }
        if self.geometry != theirs.geometry {
            return Err(Error::Geometry { ours: self.geometry, theirs: theirs.geometry });
        }
        if self.protection != theirs.protection {
            return Err(Error::Protection { ours: self.protection, theirs: theirs.protection });
        }
        if self.routes.and(theirs.routes).is_none() {
            return Err(Error::Refused(format!(
                "this end may use {} only, and the other one {} only: look at GOSSAMER_FABRIC and `Options::route` of both",
                self.routes, theirs.routes
            )));
        }
        if theirs.length.is_some_and(|length| length > MOST_BYTES) {
            return Err(Error::Protocol { at: 0 });
        }
        Ok(())
    }
}

/// A new name.
///
/// # Errors
/// If the system has no random numbers.
pub(crate) fn new_name() -> io::Result<Name> {
    random()
}

/// The name of this machine since it was booted; without one, a random name that matches no machine.
///
/// # Errors
/// If the system has no random numbers either.
pub(crate) fn machine() -> io::Result<Name> {
    let Ok(text) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return new_name() };
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    Ok(u128::from_str_radix(&digits, 16).map(u128::to_le_bytes).unwrap_or(new_name()?))
}

/// The name as text.
pub(crate) fn text_of(name: &Name) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_were_written() {
        for (end, length) in [(End::Sender, Some(7)), (End::Receiver, None)] {
            let (machine, stream) = (machine().unwrap(), new_name().unwrap());
            let geometry = Geometry::new().block(4096).ahead(9).comeback(2);
            let parameters = StreamParameters {
                end,
                routes: Routes { memory: true, rdma: false, tcp: true },
                connections: 3,
                index: 2,
                geometry,
                length,
                machine,
                user: 1000,
                stream,
                protection: Protection::Encrypted,
            };
            assert_eq!(StreamParameters::from_bytes(parameters.to_bytes()), Some(parameters));
        }
        assert_eq!(StreamParameters::from_bytes([0; BYTES]), None);
        assert_eq!(machine().unwrap(), machine().unwrap());
    }
}
