//! Offered ports as bytes, for the other node.
//!
//! ```text
//! how many (1), then each: length of the name (1), name, port (1), MTU (1),
//!     InfiniBand: 1 (1), LID (2), subnet (8)
//!     Ethernet:   2 (1), how many GIDs (1), then each: index (1), GID (16)
//! ```
//!
//! Numbers are little-endian.

use crate::fabric::verbs::choice::address::Mtu;
use crate::fabric::verbs::choice::offer::{Attachment, OfferedGid, PortOffer};

/// Ports that are told at most: the first ones.
const MOST_PORTS: usize = 64;
/// Bytes of the name of a device at most, as libibverbs has it.
const LONGEST_NAME: usize = 64;
/// One for each family of addresses.
const MOST_GIDS: usize = 2;

const INFINIBAND: u8 = 1;
const ETHERNET: u8 = 2;

/// What is sent of these offers.
pub(crate) fn to_bytes(offers: &[PortOffer]) -> Vec<u8> {
    let can_be_told = |offer: &&PortOffer| (1..=LONGEST_NAME).contains(&offer.device.len());
    let told: Vec<_> = offers.iter().filter(can_be_told).take(MOST_PORTS).collect();
    let mut bytes = vec![told.len() as u8];
    told.into_iter().for_each(|offer| add(offer, &mut bytes));
    bytes
}

fn add(offer: &PortOffer, to: &mut Vec<u8>) {
    to.push(offer.device.len() as u8);
    to.extend_from_slice(offer.device.as_bytes());
    to.extend([offer.port, offer.mtu.code() as u8]);
    match &offer.attachment {
        Attachment::InfiniBand { lid, subnet } => {
            to.push(INFINIBAND);
            to.extend(lid.to_le_bytes());
            to.extend(subnet.to_le_bytes());
        }
        Attachment::Ethernet { gids } => {
            let gids = &gids[..gids.len().min(MOST_GIDS)];
            to.extend([ETHERNET, gids.len() as u8]);
            for offered in gids {
                to.push(offered.index);
                to.extend(offered.gid.bytes());
            }
        }
    }
}

/// The offers that these bytes are; none if they are something else.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<PortOffer>> {
    let mut left = bytes;
    let count = byte(&mut left).map(usize::from).filter(|count| *count <= MOST_PORTS)?;
    let offers = (0..count).map(|_| take(&mut left)).collect::<Option<Vec<_>>>()?;
    left.is_empty().then_some(offers)
}

fn take(from: &mut &[u8]) -> Option<PortOffer> {
    let length = byte(from).map(usize::from).filter(|length| (1..=LONGEST_NAME).contains(length))?;
    let name;
    (name, *from) = from.split_at_checked(length)?;
    Some(PortOffer {
        device: str::from_utf8(name).ok().filter(|name| !name.contains(char::is_control))?.to_owned(),
        port: byte(from).filter(|port| *port > 0)?,
        mtu: byte(from).filter(|code| (1..=5).contains(code)).map(|code| Mtu::of_code(code.into()))?,
        attachment: attachment(from)?,
    })
}

fn attachment(from: &mut &[u8]) -> Option<Attachment> {
    match byte(from)? {
        INFINIBAND => Some(Attachment::InfiniBand {
            lid: array(from).map(u16::from_le_bytes).filter(|lid| *lid > 0)?,
            subnet: array(from).map(u64::from_le_bytes)?,
        }),
        ETHERNET => {
            let count = byte(from).map(usize::from).filter(|count| (1..=MOST_GIDS).contains(count))?;
            let gid = |_| Some(OfferedGid { index: byte(from)?, gid: array(from).map(<[u8; 16]>::into)? });
            Some(Attachment::Ethernet { gids: (0..count).map(gid).collect::<Option<_>>()? })
        }
        _ => None,
    }
}

fn byte(from: &mut &[u8]) -> Option<u8> {
    array(from).map(|[byte]| byte)
}

fn array<const COUNT: usize>(from: &mut &[u8]) -> Option<[u8; COUNT]> {
    let first;
    (first, *from) = from.split_first_chunk().map(|(first, left)| (*first, left))?;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::verbs::choice::port::samples::gid;

    fn samples() -> Vec<PortOffer> {
        let gids = ["::ffff:10.0.0.7", "fd00::7"].map(gid);
        let gids = (3..).zip(gids).map(|(index, gid)| OfferedGid { index, gid }).collect();
        let mtu = Mtu::of_code(3);
        let offer =
            |device: &str, port, attachment| PortOffer { device: device.into(), port, mtu, attachment };
        vec![
            offer("mlx5_0", 2, Attachment::InfiniBand { lid: 0xabcd, subnet: 0xfe80 << 48 }),
            offer("rxe0", 1, Attachment::Ethernet { gids }),
        ]
    }

    #[test]
    fn offers_are_read_as_they_were_written() {
        for offers in [Vec::new(), samples(), samples().split_off(1)] {
            assert_eq!(from_bytes(&to_bytes(&offers)), Some(offers));
        }
    }

    #[test]
    fn what_is_cut_off_or_too_long_or_has_a_number_that_cannot_be_is_refused() {
        let whole = to_bytes(&samples());
        for length in 0..whole.len() {
            assert_eq!(from_bytes(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(from_bytes(&[&whole[..], &[0]].concat()), None);
        // Behind the name of the first one: port, MTU, attachment, LID.
        for (at, wrong) in [(0, 65), (1, 0), (1, 65), (2, 0xff), (8, 0), (9, 0), (9, 6), (10, 0), (10, 3)] {
            let mut changed = whole.clone();
            changed[at] = wrong;
            assert_eq!(from_bytes(&changed), None, "{wrong} at {at}");
        }
    }

    #[test]
    fn of_more_ports_than_can_be_told_the_first_ones_are() {
        let many: Vec<_> = (1..=100).map(|port| PortOffer { port, ..samples().remove(0) }).collect();
        assert_eq!(from_bytes(&to_bytes(&many)).as_deref(), Some(&many[..MOST_PORTS]));
    }
}
