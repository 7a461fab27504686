//! What travels between queue pairs, and its bytes between processes.

use std::io::{Error, ErrorKind};

/// The most bytes in one packet: more than in a real one, so that long messages take few calls.
pub(crate) const FRAGMENT_BYTES: usize = 64 << 10;

/// Where a queue pair is reached: a LID, or a GID with its type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Address {
    pub kind: u8,
    pub bytes: [u8; 16],
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packet {
    /// Queue pair numbers.
    pub from: u32,
    pub to: u32,
    pub from_address: Address,
    pub to_address: Address,
    /// The number of the first packet of the message that this belongs to, or answers.
    pub psn: u32,
    /// How many times the requester had begun again.
    pub attempt: u32,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Write(Write),
    Read {
        address: u64,
        key: u32,
        length: u32,
    },
    ReadResponse {
        offset: u32,
        last: bool,
        bytes: Vec<u8>,
    },
    Acknowledge,
    /// The requester's completion gets this status.
    Refuse {
        status: u8,
    },
    /// No receive was posted: try again after the time that this code means.
    NotReady {
        timer: u8,
    },
    /// A request or its response did not arrive. A real network is silent: this stands in for the silence, so that the
    /// requester's clock runs only when there is nothing left to wait for, however slow the machine is.
    Lost,
}

/// Some bytes of a WRITE.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    /// Of the message's first byte.
    pub address: u64,
    pub key: u32,
    /// Of the whole message.
    pub length: u32,
    pub offset: u32,
    pub immediate: Option<u32>,
    pub solicited: bool,
    pub bytes: Vec<u8>,
}

impl Write {
    pub(crate) fn is_last(&self) -> bool {
        self.offset as usize + self.bytes.len() == self.length as usize
    }
}

impl Packet {
    pub(crate) fn is_request(&self) -> bool {
        matches!(self.body, Body::Write(_) | Body::Read { .. })
    }

    /// A packet back to where this one came from.
    pub(crate) fn answer(&self, body: Body) -> Self {
        Self {
            from: self.to,
            to: self.from,
            from_address: self.to_address,
            to_address: self.from_address,
            psn: self.psn,
            attempt: self.attempt,
            body,
        }
    }

    /// Appends the packet, with its length before it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; 4]);
        for word in [self.from, self.to, self.psn, self.attempt] {
            out.extend(word.to_le_bytes());
        }
        for address in [self.from_address, self.to_address] {
            out.push(address.kind);
            out.extend(address.bytes);
        }
        self.body.encode(out);
        let length = (out.len() - begin - 4) as u32;
        out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// The first packet in the bytes and its length, if it is complete.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        let Some(packet) = rest.get(..length) else { return Ok(None) };
        let mut reader = Reader(packet);
        let [from, to, psn, attempt] = [reader.word()?, reader.word()?, reader.word()?, reader.word()?];
        let (from_address, to_address) = (reader.address()?, reader.address()?);
        let body = Body::decode(&mut reader)?;
        Ok(Some((Self { from, to, from_address, to_address, psn, attempt, body }, 4 + length)))
    }
}

impl Body {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Write(write) => {
                out.push(0);
                out.extend(write.address.to_le_bytes());
                for word in [write.key, write.length, write.offset, write.immediate.unwrap_or_default()] {
                    out.extend(word.to_le_bytes());
                }
                out.extend([u8::from(write.immediate.is_some()), u8::from(write.solicited)]);
                out.extend_from_slice(&write.bytes);
            }
            Self::Read { address, key, length } => {
                out.push(1);
                out.extend(address.to_le_bytes());
                out.extend(key.to_le_bytes());
                out.extend(length.to_le_bytes());
            }
            Self::ReadResponse { offset, last, bytes } => {
                out.push(2);
                out.extend(offset.to_le_bytes());
                out.push(u8::from(*last));
                out.extend_from_slice(bytes);
            }
            Self::Acknowledge => out.push(3),
            Self::Refuse { status } => out.extend([4, *status]),
            Self::NotReady { timer } => out.extend([5, *timer]),
            Self::Lost => out.push(6),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(match reader.byte()? {
            0 => {
                let (address, key, length) = (reader.long()?, reader.word()?, reader.word()?);
                let (offset, immediate) = (reader.word()?, reader.word()?);
                let immediate = (reader.byte()? != 0).then_some(immediate);
                let solicited = reader.byte()? != 0;
                Self::Write(Write {
                    address,
                    key,
                    length,
                    offset,
                    immediate,
                    solicited,
                    bytes: reader.rest(),
                })
            }
            1 => Self::Read { address: reader.long()?, key: reader.word()?, length: reader.word()? },
            2 => {
                Self::ReadResponse { offset: reader.word()?, last: reader.byte()? != 0, bytes: reader.rest() }
            }
            3 => Self::Acknowledge,
            4 => Self::Refuse { status: reader.byte()? },
            5 => Self::NotReady { timer: reader.byte()? },
            6 => Self::Lost,
            _ => return Err(Error::new(ErrorKind::InvalidData, "a packet of no known kind")),
        })
    }
}

/// Takes values off the front of bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.take().map(|[byte]| byte)
    }

    fn word(&mut self) -> Result<u32, Error> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Error> {
        self.take().map(u64::from_le_bytes)
    }

    fn address(&mut self) -> Result<Address, Error> {
        Ok(Address { kind: self.byte()?, bytes: self.take()? })
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_packet_comes_out_as_it_went_in_and_half_of_one_waits() {
        let write = Write {
            address: 1 << 40,
            key: 2,
            length: 9,
            offset: 4,
            immediate: Some(5),
            solicited: true,
            bytes: vec![1, 2, 3, 4, 5],
        };
        let bodies = [
            Body::Write(write),
            Body::Read { address: 7, key: 8, length: 9 },
            Body::ReadResponse { offset: 3, last: true, bytes: vec![6; 3] },
            Body::Acknowledge,
            Body::Refuse { status: 10 },
            Body::NotReady { timer: 12 },
            Body::Lost,
        ];
        for body in bodies {
            let (from_address, to_address) = (Address::default(), Address { kind: 2, bytes: [3; 16] });
            let packet = Packet { from: 1, to: 2, from_address, to_address, psn: 3, attempt: 4, body };
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            assert_eq!(Packet::decode(&bytes[..bytes.len() - 1]).unwrap(), None);
            assert_eq!(Packet::decode(&bytes).unwrap(), Some((packet, bytes.len())));
        }
    }
}
