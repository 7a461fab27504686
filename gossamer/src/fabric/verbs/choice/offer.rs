//! Which ports a node offers to others, and at which addresses.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::availability::Unavailable;
use crate::fabric::verbs::choice::address::{Gid, GidFamily, Mtu};
use crate::fabric::verbs::choice::port::{GidEntry, PortDescription};
use crate::fabric::verbs::choice::settings::{GID, PORTS, VerbsSettings};
use crate::fabric::verbs::words;
use gossamer_macros::NoRef;

/// A port that a node offers: what others have to know of it.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortOffer {
    pub(crate) device: String,
    pub(crate) port: u8,
    pub(crate) mtu: Mtu,
    pub(crate) attachment: Attachment,
}

/// What a port is attached to, and where.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attachment {
    InfiniBand {
        lid: u16,
        /// The number of the subnet.
        subnet: u64,
    },
    /// One GID at most for each family of addresses, the better one first.
    Ethernet { gids: Vec<OfferedGid> },
}

/// A GID of RoCE v2.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedGid {
    pub(crate) index: u8,
    pub(crate) gid: Gid,
}

impl PortOffer {
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.device, self.port)
    }

    /// Whether others may reach it at the GID of this index.
    pub(crate) fn uses_gid(&self, index: u32) -> bool {
        match &self.attachment {
            Attachment::InfiniBand { .. } => false,
            Attachment::Ethernet { gids } => gids.iter().any(|offered| u32::from(offered.index) == index),
        }
    }
}

/// What a node with these ports offers: the ones asked for, or all that can be used.
///
/// # Errors
/// A port that was asked for is missing or cannot be used, or no port can be used.
pub(crate) fn offers(
    ports: &[PortDescription],
    settings: &VerbsSettings,
) -> Result<Vec<PortOffer>, Unavailable> {
    if settings.ports.is_empty() {
        return all(ports, settings);
    }
    let mut offers = Vec::new();
    for asked in &settings.ports {
        let mut selected = ports.iter().filter(|port| asked.selects(&port.device, port.port)).peekable();
        if selected.peek().is_none() {
            return Err(not_there(ports, settings));
        }
        for port in selected {
            let offer =
                offer(port, settings.gid).map_err(|why| Unavailable::Asked(format!("{PORTS}: {why}")))?;
            if !offers.contains(&offer) {
                offers.push(offer);
            }
        }
    }
    Ok(offers)
}

fn all(ports: &[PortDescription], settings: &VerbsSettings) -> Result<Vec<PortOffer>, Unavailable> {
    let (mut offers, mut reasons) = (Vec::new(), Vec::new());
    for port in ports {
        match offer(port, settings.gid) {
            Ok(offer) => offers.push(offer),
            Err(why) => reasons.push(why),
        }
    }
    if offers.is_empty() { Err(Unavailable::NoUsablePort { reasons }) } else { Ok(offers) }
}

/// The error for a port that was asked for and is missing; it lists the ports there are.
fn not_there(ports: &[PortDescription], settings: &VerbsSettings) -> Unavailable {
    let is_there =
        |device: &str, port| ports.iter().any(|there| there.device == device && port == there.port);
    let missing = settings.ports.iter().find(|asked| match asked.port {
        Some(port) => !is_there(&asked.device, port),
        None => !ports.iter().any(|there| there.device == asked.device),
    });
    let missing = missing.map_or(String::new(), |asked| match asked.port {
        Some(port) => format!("{}:{port}", asked.device),
        None => asked.device.clone(),
    });
    let names: Vec<_> = ports.iter().map(PortDescription::name).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Unavailable::Asked(format!("{PORTS}: there is no RDMA port {missing}; there is {names}"))
}

/// What others have to know of a port; or why it cannot be used.
pub(crate) fn offer(port: &PortDescription, asked: Option<u8>) -> Result<PortOffer, String> {
    if !port.is_active() {
        return Err(format!("{} is {}", port.name(), words::port_state(port.state)));
    }
    let attachment = match port.link_layer {
        IBV_LINK_LAYER_INFINIBAND => infiniband(port)?,
        IBV_LINK_LAYER_ETHERNET => Attachment::Ethernet { gids: gids(port, asked)? },
        other => return Err(format!("{} has {}", port.name(), words::link_layer(other))),
    };
    Ok(PortOffer { device: port.device.clone(), port: port.port, mtu: port.mtu, attachment })
}

fn infiniband(port: &PortDescription) -> Result<Attachment, String> {
    let name = port.name();
    if port.lid == 0 {
        return Err(format!("{name} has no LID: is there a subnet manager?"));
    }
    let own = port.gids.iter().find(|entry| entry.index == 0).ok_or_else(|| format!("{name} has no GID"))?;
    Ok(Attachment::InfiniBand { lid: port.lid, subnet: own.gid.subnet() })
}

/// The GIDs at which a port of Ethernet is reached: those of RoCE v2, which routers forward.
fn gids(port: &PortDescription, asked: Option<u8>) -> Result<Vec<OfferedGid>, String> {
    if let Some(index) = asked {
        return asked_gid(port, index).map(|gid| vec![gid]);
    }
    let mut usable: Vec<_> = port.gids.iter().filter_map(usable).collect();
    usable.sort_by_key(|offered| preference(offered.gid));
    let mut gids: Vec<OfferedGid> = Vec::new();
    for offered in usable {
        if gids.iter().all(|better| better.gid.family() != offered.gid.family()) {
            gids.push(offered);
        }
    }
    if gids.is_empty() {
        return Err(format!("{} has no GID of RoCE v2: has its network interface an address?", port.name()));
    }
    Ok(gids)
}

fn usable(entry: &GidEntry) -> Option<OfferedGid> {
    let index = entry.index.try_into().ok()?;
    (entry.kind == IBV_GID_TYPE_ROCE_V2).then_some(OfferedGid { index, gid: entry.gid })
}

/// Smaller is better: addresses that are valid everywhere first, IPv4 first.
fn preference(gid: Gid) -> (bool, bool) {
    (gid.is_link_local(), gid.family() == GidFamily::Ipv6)
}

fn asked_gid(port: &PortDescription, index: u8) -> Result<OfferedGid, String> {
    let name = port.name();
    let entry = port.gids.iter().find(|entry| entry.index == u32::from(index));
    let usable_ones = || {
        let list: Vec<_> = port.gids.iter().filter_map(usable).collect();
        let list: Vec<_> = list.iter().map(|found| format!("{} ({})", found.index, found.gid)).collect();
        if list.is_empty() { "none is".to_owned() } else { format!("of RoCE v2: {}", list.join(", ")) }
    };
    match entry {
        None => Err(format!("{GID}={index}: {name} has no GID of this index; {}", usable_ones())),
        Some(entry) => usable(entry).ok_or_else(|| {
            let kind = words::gid_type(entry.kind);
            format!("{GID}={index}: this GID of {name} is of {kind}, not of RoCE v2; {}", usable_ones())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::verbs::choice::port::samples::{ethernet, gid, infiniband};
    use crate::fabric::verbs::choice::settings::PortSelector;

    const V1: u32 = IBV_GID_TYPE_ROCE_V1;
    const V2: u32 = IBV_GID_TYPE_ROCE_V2;

    fn chosen(gids: &[(u32, &str)], asked: Option<u8>) -> Result<Vec<(u8, String)>, String> {
        let found = super::gids(&ethernet("mlx5_0", gids), asked)?;
        Ok(found.iter().map(|found| (found.index, found.gid.to_string())).collect())
    }

    fn asking(device: &str, port: Option<u8>) -> VerbsSettings {
        VerbsSettings { ports: vec![PortSelector { device: device.into(), port }], ..Default::default() }
    }

    #[test]
    fn roce_v2_over_ipv4_comes_before_ipv6_and_link_local_last() {
        let usual = [
            (V1, "fe80::1"),
            (V2, "fe80::1"),
            (V1, "::ffff:10.0.0.7"),
            (V2, "::ffff:10.0.0.7"),
            (V2, "fd00::7"),
        ];
        assert_eq!(chosen(&usual, None), Ok(vec![(3, "10.0.0.7".into()), (4, "fd00::7".into())]));
        assert_eq!(chosen(&usual[..2], None), Ok(vec![(1, "fe80::1".into())]));
        let own = [(V2, "::ffff:169.254.1.1"), (V2, "fd00::7")];
        assert_eq!(chosen(&own, None), Ok(vec![(1, "fd00::7".into()), (0, "169.254.1.1".into())]));
    }

    #[test]
    fn a_gid_that_is_asked_for_has_to_be_there_and_of_roce_v2() {
        let gids = [(V1, "fe80::1"), (V2, "fe80::1"), (V2, "::ffff:10.0.0.7")];
        assert_eq!(chosen(&gids, Some(1)), Ok(vec![(1, "fe80::1".into())]));
        let error = chosen(&gids, Some(9)).unwrap_err();
        assert!(error.contains("GOSSAMER_VERBS_GID=9: mlx5_0:1 has no GID of this index"), "{error}");
        assert!(error.contains("of RoCE v2: 1 (fe80::1), 2 (10.0.0.7)"), "{error}");
        let error = chosen(&gids, Some(0)).unwrap_err();
        assert!(error.contains("is of RoCE v1, not of RoCE v2"), "{error}");
    }

    #[test]
    fn all_ports_that_can_be_used_are_offered() {
        let down = PortDescription { state: IBV_PORT_DOWN, ..infiniband("mlx5_1", 4, "fe80::2") };
        let ports = [infiniband("mlx5_0", 3, "fec0::1"), down, ethernet("rxe0", &[(V2, "::ffff:10.0.0.7")])];
        let offers = offers(&ports, &VerbsSettings::default()).unwrap();
        let names: Vec<_> = offers.iter().map(PortOffer::name).collect();
        assert_eq!(names, ["mlx5_0:1", "rxe0:1"]);
        assert_eq!(offers[0].attachment, Attachment::InfiniBand { lid: 3, subnet: gid("fec0::").subnet() });
        let gids = vec![OfferedGid { index: 0, gid: gid("::ffff:10.0.0.7") }];
        assert_eq!(offers[1].attachment, Attachment::Ethernet { gids });
    }

    #[test]
    fn without_a_port_that_can_be_used_it_is_told_of_each_why() {
        let down = PortDescription { state: IBV_PORT_INIT, ..infiniband("mlx5_0", 0, "fe80::2") };
        let strange = PortDescription { link_layer: 0, ..ethernet("odd0", &[]) };
        let ports = [down, infiniband("mlx5_1", 0, "fe80::2"), ethernet("rxe0", &[(V1, "fe80::3")]), strange];
        let error = offers(&ports, &VerbsSettings::default()).unwrap_err().to_string();
        for words in [
            "no RDMA port can be used: ",
            "mlx5_0:1 is initialising",
            "mlx5_1:1 has no LID",
            "rxe0:1 has no GID of RoCE v2",
            "odd0:1 has an unspecified link layer",
        ] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_port_that_is_asked_for_is_offered_alone_or_the_error_says_which_there_are() {
        let gids: &[_] = &[(V2, "::ffff:10.0.0.7")];
        let down = PortDescription { state: IBV_PORT_DOWN, ..ethernet("rxe2", gids) };
        let ports = [ethernet("rxe0", gids), ethernet("rxe1", gids), down];
        let offered = offers(&ports, &asking("rxe1", None)).unwrap();
        assert_eq!(offered.iter().map(PortOffer::name).collect::<Vec<_>>(), ["rxe1:1"]);
        for (settings, words) in [
            (
                asking("rxe1", Some(2)),
                "GOSSAMER_VERBS: there is no RDMA port rxe1:2; there is rxe0:1, rxe1:1, rxe2:1",
            ),
            (asking("mlx5_0", None), "there is no RDMA port mlx5_0; there is rxe0:1"),
            (asking("rxe2", Some(1)), "GOSSAMER_VERBS: rxe2:1 is down"),
        ] {
            let error = offers(&ports, &settings).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_port_that_is_asked_for_twice_is_offered_once() {
        let mut settings = asking("rxe0", None);
        settings.ports.push(PortSelector { device: "rxe0".into(), port: Some(1) });
        let offered = offers(&[ethernet("rxe0", &[(V2, "fd00::1")])], &settings).unwrap();
        assert_eq!(offered.len(), 1);
    }
}
