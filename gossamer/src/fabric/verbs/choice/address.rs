//! Where a port is: GIDs, and the way to a port of the remote side.

use gossamer_macros::NoRef;
use std::fmt::{self, Display, Formatter};
use std::net::Ipv6Addr;

/// Bytes of the largest packet there is. So a message may have as many on every port.
pub(crate) const LARGEST_PACKET: u32 = 4096;

/// The most bytes that a packet carries.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mtu(u32);

impl Mtu {
    /// From InfiniBand's code for it: 1 for 256 bytes up to 5 for 4096. Any other code means the nearest one.
    pub(crate) fn of_code(code: u32) -> Self {
        Self(code.clamp(1, 5))
    }

    /// The nearest code there is, even for what a peer has sent.
    pub(crate) fn code(self) -> u32 {
        self.0.clamp(1, 5)
    }

    pub(crate) fn bytes(self) -> u32 {
        128 << self.code()
    }
}

/// The global address of a port: for RoCE an IPv6 address, or an IPv4 address written as one.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gid(Ipv6Addr);

/// The kind of address that a GID holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GidFamily {
    Ipv4,
    Ipv6,
}

impl Gid {
    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0.octets()
    }

    pub(crate) fn family(self) -> GidFamily {
        if self.0.to_ipv4_mapped().is_some() { GidFamily::Ipv4 } else { GidFamily::Ipv6 }
    }

    /// Whether it is valid on one link only.
    pub(crate) fn is_link_local(self) -> bool {
        self.0.is_unicast_link_local() || self.0.to_ipv4_mapped().is_some_and(|gid| gid.is_link_local())
    }

    /// The number of the InfiniBand subnet that the port is in.
    pub(crate) fn subnet(self) -> u64 {
        (self.0.to_bits() >> 64) as u64
    }

    /// How many leading bits both have in common.
    pub(crate) fn shared_bits(self, other: Self) -> u32 {
        (self.0.to_bits() ^ other.0.to_bits()).leading_zeros()
    }
}

impl From<[u8; 16]> for Gid {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes.into())
    }
}

impl Display for Gid {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self.0.to_ipv4_mapped() {
            Some(address) => Display::fmt(&address, to),
            None => Display::fmt(&self.0, to),
        }
    }
}

/// The way to the port of the remote side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressVector {
    /// The port of this side.
    pub(crate) port: u8,
    pub(crate) destination: Destination,
    pub(crate) service_level: u8,
}

/// The port of the remote side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// In the same InfiniBand subnet.
    Lid(u16),
    Gid {
        gid: Gid,
        /// The index of the GID of this side.
        index: u8,
        traffic_class: u8,
    },
}

impl Display for AddressVector {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self.destination {
            Destination::Lid(lid) => write!(to, "LID {lid}"),
            Destination::Gid { gid, index, .. } => write!(to, "GID {gid}, from GID {index}"),
        }?;
        write!(to, " of port {}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mtu_is_told_in_bytes_and_the_smaller_one_is_less() {
        let sizes: Vec<_> = (0..7).map(|code| Mtu::of_code(code).bytes()).collect();
        assert_eq!(sizes, [256, 256, 512, 1024, 2048, 4096, 4096]);
        assert_eq!(Mtu::of_code(3).min(Mtu::of_code(5)).code(), 3);
    }

    #[test]
    fn a_gid_is_shown_as_the_address_that_it_is() {
        let mapped = Gid::from("::ffff:10.1.2.3".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!((mapped.to_string().as_str(), mapped.family()), ("10.1.2.3", GidFamily::Ipv4));
        let local = Gid::from("fe80::1".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!((local.to_string().as_str(), local.family()), ("fe80::1", GidFamily::Ipv6));
        assert!(local.is_link_local() && !mapped.is_link_local());
        assert_eq!(local.subnet(), 0xfe80_0000_0000_0000);
    }
}
