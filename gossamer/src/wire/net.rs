//! [`NoRef`] for addresses.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::owned::as_another;
use crate::wire::refusal::Malformed;
use crate::wire::shape::Shape;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

as_another! {
    Ipv4Addr, [u8; 4], [] @ Shape::Bounded(4), |address| address.octets(), |octets| Some(Self::from(octets));
    Ipv6Addr, [u8; 16], [] @ Shape::Bounded(16), |address| address.octets(), |octets| Some(Self::from(octets));
    IpAddr, Result<Ipv4Addr, Ipv6Addr>, [] @ Result::<Ipv4Addr, Ipv6Addr>::SHAPE,
        |address| match address { IpAddr::V4(address) => Ok(address), IpAddr::V6(address) => Err(address) },
        |address| Some(address.map_or_else(Self::V6, Self::V4));
    SocketAddrV4, (Ipv4Addr, u16), [] @ <(Ipv4Addr, u16)>::SHAPE,
        |address| (*address.ip(), address.port()), |(ip, port)| Some(Self::new(ip, port));
    SocketAddrV6, (Ipv6Addr, u16, u32, u32), [] @ <(Ipv6Addr, u16, u32, u32)>::SHAPE,
        |address| (*address.ip(), address.port(), address.flowinfo(), address.scope_id()),
        |(ip, port, flow, scope)| Some(Self::new(ip, port, flow, scope));
    SocketAddr, Result<SocketAddrV4, SocketAddrV6>, [] @ Result::<SocketAddrV4, SocketAddrV6>::SHAPE,
        |address| match address { SocketAddr::V4(address) => Ok(address), SocketAddr::V6(address) => Err(address) },
        |address| Some(address.map_or_else(Self::V6, Self::V4));
}
