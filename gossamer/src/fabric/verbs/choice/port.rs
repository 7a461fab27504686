//! What is known about a port.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::choice::address::{Gid, Mtu};

/// An entry of a port's table of GIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GidEntry {
    pub(crate) index: u32,
    /// `IBV_GID_TYPE_…`.
    pub(crate) kind: u32,
    pub(crate) gid: Gid,
}

/// A port, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortDescription {
    pub(crate) device: String,
    /// The first is 1.
    pub(crate) port: u8,
    /// `IBV_PORT_…`.
    pub(crate) state: u32,
    pub(crate) mtu: Mtu,
    /// `IBV_LINK_LAYER_…`.
    pub(crate) link_layer: u8,
    pub(crate) lid: u16,
    pub(crate) gids: Vec<GidEntry>,
}

impl PortDescription {
    /// In the form that `GOSSAMER_VERBS` takes.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.device, self.port)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.state == IBV_PORT_ACTIVE
    }
}

/// Ports for tests.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use std::net::Ipv6Addr;

    pub(crate) fn gid(text: &str) -> Gid {
        text.parse::<Ipv6Addr>().unwrap().octets().into()
    }

    /// An active port of RoCE with GIDs of these types.
    pub(crate) fn ethernet(device: &str, gids: &[(u32, &str)]) -> PortDescription {
        let gids =
            gids.iter().zip(0..).map(|((kind, text), index)| GidEntry { index, kind: *kind, gid: gid(text) });
        PortDescription {
            device: device.into(),
            port: 1,
            state: IBV_PORT_ACTIVE,
            mtu: Mtu::of_code(IBV_MTU_1024),
            link_layer: IBV_LINK_LAYER_ETHERNET,
            lid: 0,
            gids: gids.collect(),
        }
    }

    /// An active port of InfiniBand in a subnet.
    pub(crate) fn infiniband(device: &str, lid: u16, gid: &str) -> PortDescription {
        let mtu = Mtu::of_code(IBV_MTU_4096);
        let port = ethernet(device, &[(IBV_GID_TYPE_IB, gid)]);
        PortDescription { lid, mtu, link_layer: IBV_LINK_LAYER_INFINIBAND, ..port }
    }
}
