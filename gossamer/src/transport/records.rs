//! Records: runs of bytes on a connection of nodes, each of which arrives as it was sent and in its place, or is
//! refused.
//!
//! ```text
//! bytes of the record (32) | CRC32C of the connection, the direction, the number of the record and its length (32)
//! the body
//! checked           CRC32C of the body, with that of the head (32) | zeros (32)
//! or else           what seals head and body (128)
//! ```
//!
//! Both ends count the records, so that a record that is lost, repeated or out of order is noticed with the next. A
//! length is checked before it is used: the reader would wait for a changed one.

use crate::transport::purpose::{PURPOSE_BYTES, Purpose};
use crate::transport::random::random;
use crate::transport::seal::agreement::{Agreement, ConnectionSide, Ephemeral};
use crate::transport::seal::record::{Opener, SealError, Sealer, TAG};
use std::fmt::{self, Display, Formatter};
use std::io;

/// Bytes before the body of a record.
pub(crate) const HEAD: usize = 8;
/// Bytes after the body of a record that is only checked.
const CHECKSUM: usize = 8;
/// What the keys of connections of nodes are for.
const SEALS: &str = "gossamer 2026 connection of nodes";

/// A record is not the one that the other end sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    purpose: Purpose,
    /// The end that sends in this direction.
    sender: ConnectionSide,
    /// From 0.
    record: u64,
    /// The CRC32C that the bytes claim, and the one that they have; `None` if they are not what was sealed.
    checksums: Option<[u32; 2]>,
}

impl Display for Damage {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self { purpose, sender, record, checksums } = self;
        let sender = match sender {
            ConnectionSide::Connects => purpose.from,
            ConnectionSide::Accepts => purpose.to,
        };
        write!(
            to,
            "what node {sender} sent was changed, lost or repeated on the way: record {record} on {purpose} "
        )?;
        match checksums {
            Some([said, counted]) => write!(
                to,
                "says its CRC32C is {said:#010x}, but that of what has come in its place is {counted:#010x}"
            )?,
            None => to.write_str("is not the one that it sealed")?,
        }
        to.write_str(
            ". Nothing of it was used. The network is broken, or somebody on the way changes what it carries: look at network cards, \
             switches, tunnels and memory between the two machines",
        )
    }
}

impl std::error::Error for Damage {}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        Self::new(io::ErrorKind::InvalidData, damage)
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// One direction of a connection, and how many records it has carried.
#[derive(Debug)]
struct RecordSequence {
    purpose: Purpose,
    sender: ConnectionSide,
    /// The CRC32C of these.
    place: u32,
    count: u64,
}

impl RecordSequence {
    fn new(purpose: Purpose, sender: ConnectionSide) -> Self {
        let mut place = [0; PURPOSE_BYTES + 1];
        place[..PURPOSE_BYTES].copy_from_slice(&purpose.to_bytes());
        place[PURPOSE_BYTES] = sender as u8;
        Self { purpose, sender, place: crc32c(&place), count: 0 }
    }

    /// The CRC32C in the head of the next record, if that has this many bytes.
    #[inline]
    fn head(&self, length: u32) -> u32 {
        let mut head = [0; 16];
        head[..4].copy_from_slice(&self.place.to_le_bytes());
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..].copy_from_slice(&self.count.to_le_bytes());
        crc32c(&head)
    }

    #[cold]
    fn damage(&self, checksums: Option<[u32; 2]>) -> Damage {
        Damage { purpose: self.purpose, sender: self.sender, record: self.count, checksums }
    }
}

/// Makes records of what this end sends.
pub(crate) struct RecordWriter {
    direction: RecordSequence,
    /// `None` if they are only checked.
    sealer: Option<Sealer>,
}

/// Takes apart the records of the other end.
pub(crate) struct RecordReader {
    direction: RecordSequence,
    /// `None` if they are only checked.
    opener: Option<Opener>,
}

/// One end of a connection of nodes, as far as records go.
pub(crate) type Records = (RecordWriter, RecordReader);

/// One end's records of a connection of nodes, if they are only checked.
pub(crate) fn checked(purpose: Purpose, side: ConnectionSide) -> Records {
    let direction = |sender| RecordSequence::new(purpose, sender);
    let writer = RecordWriter { direction: direction(side), sealer: None };
    (writer, RecordReader { direction: direction(side.other()), opener: None })
}

/// The same after a handshake, as the purpose says.
///
/// # Errors
/// If the other end has said what no honest end says.
pub(crate) fn agreed(purpose: Purpose, side: ConnectionSide, agreement: &Agreement) -> io::Result<Records> {
    let (mut writer, mut reader) = checked(purpose, side);
    if let Some((sealer, opener)) = agreement.channel(purpose.protection, SEALS, &purpose.to_bytes())? {
        (writer.sealer, reader.opener) = (Some(sealer), Some(opener));
    }
    Ok((writer, reader))
}

/// The records of both ends of a connection inside this process: of the end that connects, and of the other.
///
/// # Errors
/// If the system gives no random numbers.
pub(crate) fn within_process(purpose: Purpose) -> io::Result<[Records; 2]> {
    let (ours, theirs, token) = (Ephemeral::new()?, Ephemeral::new()?, random()?);
    let (here, there) = (ours.public(), theirs.public());
    let end = |own, other, side| agreed(purpose, side, &Agreement::new(token, own, other, side));
    Ok([end(ours, there, ConnectionSide::Connects)?, end(theirs, here, ConnectionSide::Accepts)?])
}

/// Bytes after the body of a record.
#[inline]
fn trailer(is_sealed: bool) -> usize {
    if is_sealed { TAG } else { CHECKSUM }
}

impl RecordWriter {
    /// Bytes after the body of a record.
    #[inline]
    pub(crate) fn trailer(&self) -> usize {
        trailer(self.sealer.is_some())
    }

    /// Makes a record: fills in its head, and what follows its body.
    ///
    /// # Errors
    /// If it is too long, or there were more records than anybody can send.
    #[inline]
    pub(crate) fn seal(&mut self, record: &mut [u8]) -> Result<(), SealError> {
        let length = record.len() as u32;
        let (head, rest) = record.split_at_mut(HEAD);
        let crc = self.direction.head(length);
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&crc.to_le_bytes());
        self.direction.count += 1;
        if let Some(sealer) = &mut self.sealer {
            return sealer.seal(HEAD, record);
        }
        let (body, trailer) = rest.split_at_mut(rest.len() - CHECKSUM);
        trailer.copy_from_slice(&u64::from(crc32c(body) ^ crc).to_le_bytes());
        Ok(())
    }
}

impl RecordReader {
    /// Bytes after the body of a record.
    pub(crate) fn trailer(&self) -> usize {
        trailer(self.opener.is_some())
    }

    /// How many bytes the next record has, according to its head.
    ///
    /// # Errors
    /// It is not the head of the next record.
    #[inline]
    pub(crate) fn length(&self, head: [u8; HEAD]) -> Result<usize, Damage> {
        let (length, said) = (number(&head[..4]), number(&head[4..]));
        let counted = self.direction.head(length);
        if said != counted || (length as usize) < HEAD + self.trailer() {
            return Err(self.direction.damage(Some([said, counted])));
        }
        Ok(length as usize)
    }

    /// The body of the next record, which is there as a whole.
    ///
    /// # Errors
    /// It is not the next record.
    #[inline]
    pub(crate) fn open<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a mut [u8], Damage> {
        if let Some(opener) = &mut self.opener {
            let opened = opener.open(HEAD, record).map_err(|_| self.direction.damage(None))?;
            self.direction.count += 1;
            return Ok(&mut opened[HEAD..]);
        }
        let (head, rest) = record.split_at_mut(HEAD);
        let (body, trailer) = rest.split_at_mut(rest.len() - CHECKSUM);
        let counted = crc32c(body) ^ number(&head[4..]);
        if trailer != u64::from(counted).to_le_bytes() {
            return Err(self.direction.damage(Some([number(&trailer[..4]), counted])));
        }
        self.direction.count += 1;
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::purpose::Door;
    use crate::transport::seal::protection::Protection::{self, Authenticated, Checked, Encrypted};

    const LEVELS: [Protection; 3] = [Checked, Authenticated, Encrypted];

    fn lanes(protection: Protection) -> Purpose {
        Purpose { door: Door::Lanes, protection, from: 1, to: 0, index: 2 }
    }

    /// A sender and its receiver.
    fn ends(protection: Protection) -> (RecordWriter, RecordReader) {
        let [(writer, _), (_, reader)] = within_process(lanes(protection)).unwrap();
        (writer, reader)
    }

    fn record(writer: &mut RecordWriter, body: &[u8]) -> Vec<u8> {
        let mut record = [&[0; HEAD], body, &vec![0; writer.trailer()]].concat();
        writer.seal(&mut record).unwrap();
        record
    }

    fn open(reader: &mut RecordReader, record: &[u8]) -> Result<Vec<u8>, Damage> {
        let length = reader.length(record[..HEAD].try_into().unwrap())?;
        assert_eq!(length, record.len());
        reader.open(&mut record.to_vec()).map(|body| body.to_vec())
    }

    #[test]
    fn records_come_as_they_were_sent() {
        for level in LEVELS {
            let (mut writer, mut reader) = ends(level);
            for body in [&b""[..], b"1", b"a request", &[7; 5000]] {
                let sent = record(&mut writer, body);
                let can_be_read = sent[HEAD..].starts_with(body);
                // Of few bytes, one in so many is encrypted to itself.
                if level != Encrypted || body.len() > 8 {
                    assert_eq!(can_be_read, level != Encrypted);
                }
                assert_eq!(open(&mut reader, &sent).as_deref(), Ok(body));
            }
        }
    }

    #[test]
    fn a_changed_bit_anywhere_is_found() {
        for level in LEVELS {
            for bit in 0..8 * 40 {
                let (mut writer, mut reader) = ends(level);
                let mut changed = record(&mut writer, b"some bytes of a request.");
                let bit = bit % (8 * changed.len());
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(open(&mut reader, &changed).is_err(), "{level}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_record_that_is_lost_repeated_or_out_of_place_is_found() {
        for level in LEVELS {
            for order in [&[1][..], &[0, 0], &[0, 2], &[1, 0]] {
                let (mut writer, mut reader) = ends(level);
                let sent: Vec<_> = (0..3).map(|_| record(&mut writer, b"the same")).collect();
                assert!(
                    order.iter().any(|place| open(&mut reader, &sent[*place]).is_err()),
                    "{level}, {order:?}"
                );
            }
        }
    }

    #[test]
    fn a_record_of_another_connection_or_sent_back_is_found() {
        let own = lanes(Checked);
        let sent = record(&mut ends(Checked).0, b"the same");
        for other in [
            Purpose { index: 1, ..own },
            Purpose { from: 2, ..own },
            Purpose { door: Door::Watch, ..own },
            Purpose { protection: Encrypted, ..own },
        ] {
            let (_, mut reader) = checked(other, ConnectionSide::Accepts);
            assert!(open(&mut reader, &sent).is_err(), "{other:?}");
        }
        let (_, mut back) = checked(own, ConnectionSide::Connects);
        assert!(open(&mut back, &sent).is_err());
    }

    #[test]
    fn a_checksum_that_is_made_anew_helps_nobody_where_records_are_sealed() {
        for level in LEVELS {
            let (mut writer, mut reader) = ends(level);
            let mut changed = record(&mut writer, b"some bytes of a request.");
            let body = HEAD..changed.len() - writer.trailer();
            changed[HEAD] ^= 1;
            let crc = crc32c(&changed[body.clone()]) ^ number(&changed[4..HEAD]);
            changed[body.end..body.end + 4].copy_from_slice(&crc.to_le_bytes());
            assert_eq!(open(&mut reader, &changed).is_ok(), level == Checked, "{level}");
        }
    }

    #[test]
    fn a_report_says_who_sent_what_where_and_what_to_do() {
        for (level, how) in [(Checked, "says its CRC32C is 0x"), (Encrypted, "is not the one that it sealed")]
        {
            let (mut writer, mut reader) = ends(level);
            let mut sent = record(&mut writer, b"12345678");
            sent[HEAD] ^= 1;
            let report = open(&mut reader, &sent).unwrap_err().to_string();
            assert!(report.starts_with("what node 1 sent was changed"), "{report}");
            let place = "record 0 on connection 2 of the workers of node 1 to those of node 0 ";
            assert!(report.contains(&format!("{place}{how}")), "{report}");
            assert!(report.contains("look at network cards"), "{report}");
        }
    }
}
