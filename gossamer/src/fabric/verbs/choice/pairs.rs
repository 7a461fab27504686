//! Which port of one node reaches which port of another.

use crate::fabric::verbs::choice::address::{AddressVector, Destination, Gid, Mtu};
use crate::fabric::verbs::choice::offer::{Attachment, OfferedGid, PortOffer};
use crate::fabric::verbs::choice::settings::VerbsSettings;

/// Two ports that reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortPair {
    pub(crate) ends: [PortEnd; 2],
    /// The smaller of the two.
    pub(crate) mtu: Mtu,
    addresses: PairAddresses,
}

/// One of two ports that reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortEnd {
    pub(crate) device: String,
    pub(crate) port: u8,
}

/// The addresses at which two ports reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairAddresses {
    Lids([u16; 2]),
    Gids([OfferedGid; 2]),
}

impl PortPair {
    /// The address at which an end, number 0 or 1, is reached.
    pub(crate) fn address(&self, end: usize) -> String {
        match self.addresses {
            PairAddresses::Lids(lids) => format!("LID {}", lids[end]),
            PairAddresses::Gids(gids) => gids[end].gid.to_string(),
        }
    }

    /// The way from one end, number 0 or 1, to the other.
    pub(crate) fn way(&self, from: usize, settings: &VerbsSettings) -> AddressVector {
        let destination = match self.addresses {
            PairAddresses::Lids(lids) => Destination::Lid(lids[1 - from]),
            PairAddresses::Gids(gids) => Destination::Gid {
                gid: gids[1 - from].gid,
                index: gids[from].index,
                traffic_class: settings.traffic_class,
            },
        };
        AddressVector { port: self.ends[from].port, destination, service_level: settings.service_level }
    }
}

/// The pairs of ports through which two nodes reach each other, one for each port that finds a partner. Closer pairs
/// come first, and among equally close ones those with the first ports of both nodes.
///
/// # Errors
/// No port of one node reaches a port of the other. The error says why, for each two.
pub(crate) fn pairs(first: &[PortOffer], second: &[PortOffer]) -> Result<Vec<PortPair>, String> {
    let (mut reachable, mut reasons) = (Vec::new(), Vec::new());
    for (at, one) in first.iter().enumerate() {
        for (other_at, other) in second.iter().enumerate() {
            match reach(one, other) {
                Ok((pair, distance)) => reachable.push((distance, at, other_at, pair)),
                Err(why) => reasons.push(format!("{} and {} {why}", one.name(), other.name())),
            }
        }
    }
    if reachable.is_empty() {
        let none = first.is_empty() || second.is_empty();
        return Err(if none { "a node offers no port".to_owned() } else { reasons.join("; ") });
    }
    reachable.sort_by_key(|(distance, at, other_at, _)| (*distance, at.abs_diff(*other_at), *at));
    let (mut taken, mut pairs) = ((vec![false; first.len()], vec![false; second.len()]), Vec::new());
    for (_, at, other_at, pair) in reachable {
        if !taken.0[at] && !taken.1[other_at] {
            (taken.0[at], taken.1[other_at]) = (true, true);
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// How two ports reach each other, and how far apart their addresses are; or why they do not.
fn reach(one: &PortOffer, other: &PortOffer) -> Result<(PortPair, u32), String> {
    let (addresses, distance) = match (&one.attachment, &other.attachment) {
        (
            Attachment::InfiniBand { lid, subnet },
            Attachment::InfiniBand { lid: other_lid, subnet: other_subnet },
        ) => {
            if subnet != other_subnet {
                return Err(format!(
                    "are in different subnets of InfiniBand, {subnet:#x} and {other_subnet:#x}"
                ));
            }
            (PairAddresses::Lids([*lid, *other_lid]), 0)
        }
        (Attachment::Ethernet { gids }, Attachment::Ethernet { gids: others }) => {
            let (own, other) = of_one_family(gids, others)?;
            (PairAddresses::Gids([own, other]), u128::BITS - own.gid.shared_bits(other.gid))
        }
        _ => return Err("are of different link layers, InfiniBand and Ethernet".to_owned()),
    };
    let ends = [one, other].map(|offer| PortEnd { device: offer.device.clone(), port: offer.port });
    Ok((PortPair { ends, mtu: one.mtu.min(other.mtu), addresses }, distance))
}

/// The best two GIDs that can reach each other.
fn of_one_family(gids: &[OfferedGid], others: &[OfferedGid]) -> Result<(OfferedGid, OfferedGid), String> {
    let kind = |gid: Gid| (gid.family(), gid.is_link_local());
    let mut both = gids.iter().flat_map(|own| others.iter().map(move |other| (*own, *other)));
    let found = both.find(|(own, other)| kind(own.gid) == kind(other.gid));
    found.ok_or_else(|| {
        let list = |gids: &[OfferedGid]| {
            gids.iter().map(|offered| offered.gid.to_string()).collect::<Vec<_>>().join(", ")
        };
        format!("have no addresses of one kind ({} and {})", list(gids), list(others))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::verbs::abi::types::*;
    use crate::fabric::verbs::choice::offer::offers;
    use crate::fabric::verbs::choice::port::PortDescription;
    use crate::fabric::verbs::choice::port::samples::{ethernet, gid, infiniband};

    fn offered(ports: &[PortDescription]) -> Vec<PortOffer> {
        offers(ports, &VerbsSettings::default()).unwrap()
    }

    fn roce(device: &str, gids: &[&str]) -> PortDescription {
        let gids: Vec<_> = gids.iter().map(|text| (IBV_GID_TYPE_ROCE_V2, *text)).collect();
        ethernet(device, &gids)
    }

    fn devices(pairs: &[PortPair]) -> Vec<(&str, &str)> {
        pairs.iter().map(|pair| (pair.ends[0].device.as_str(), pair.ends[1].device.as_str())).collect()
    }

    #[test]
    fn ports_of_infiniband_reach_each_other_by_lid_within_a_subnet() {
        let ours = offered(&[infiniband("mlx5_0", 3, "fec0::1")]);
        let theirs = offered(&[infiniband("mlx5_0", 9, "fec0::2")]);
        let pairs = pairs(&ours, &theirs).unwrap();
        let settings = VerbsSettings { service_level: 2, ..Default::default() };
        let expected = AddressVector { port: 1, destination: Destination::Lid(9), service_level: 2 };
        assert_eq!(pairs[0].way(0, &settings), expected);
        assert_eq!(pairs[0].way(1, &settings).destination, Destination::Lid(3));
        let elsewhere = offered(&[infiniband("mlx5_0", 9, "fed0::2")]);
        let error = super::pairs(&ours, &elsewhere).unwrap_err();
        assert!(error.contains("mlx5_0:1 and mlx5_0:1 are in different subnets of InfiniBand"), "{error}");
    }

    #[test]
    fn ports_of_roce_reach_each_other_by_addresses_of_one_kind() {
        let both = offered(&[roce("rxe0", &["fe80::1", "::ffff:10.0.0.1", "fd00::1"])]);
        let pairs = pairs(&both, &offered(&[roce("rxe1", &["fd00::2"])])).unwrap();
        let settings = VerbsSettings { traffic_class: 106, ..Default::default() };
        let destination = Destination::Gid { gid: gid("fd00::2"), index: 2, traffic_class: 106 };
        assert_eq!(pairs[0].way(0, &settings).destination, destination);
        let destination = Destination::Gid { gid: gid("fd00::1"), index: 0, traffic_class: 106 };
        assert_eq!(pairs[0].way(1, &settings).destination, destination);
        let error = super::pairs(&both, &offered(&[roce("rxe1", &["fe80::2"])])).unwrap_err();
        assert!(error.contains("rxe0:1 and rxe1:1 have no addresses of one kind"), "{error}");
        assert!(error.contains("(10.0.0.1, fd00::1 and fe80::2)"), "{error}");
    }

    #[test]
    fn the_smaller_mtu_of_both_ends_is_used() {
        let large = PortDescription { mtu: Mtu::of_code(IBV_MTU_4096), ..roce("a", &["::ffff:10.0.0.1"]) };
        let small = roce("b", &["::ffff:10.0.0.2"]);
        for (one, other) in [(&large, &small), (&small, &large)] {
            let pairs =
                pairs(&offered(std::slice::from_ref(one)), &offered(std::slice::from_ref(other))).unwrap();
            assert_eq!(pairs[0].mtu.bytes(), 1024);
        }
    }

    #[test]
    fn infiniband_and_ethernet_do_not_reach_each_other() {
        let ours = offered(&[infiniband("mlx5_0", 3, "fec0::1")]);
        let error = pairs(&ours, &offered(&[roce("rxe0", &["fd00::1"])])).unwrap_err();
        assert_eq!(error, "mlx5_0:1 and rxe0:1 are of different link layers, InfiniBand and Ethernet");
    }

    #[test]
    fn each_of_several_ports_gets_the_partner_that_is_closest() {
        let ours = offered(&[roce("a0", &["::ffff:10.0.1.1"]), roce("a1", &["::ffff:10.0.2.1"])]);
        let theirs = offered(&[roce("b0", &["::ffff:10.0.2.2"]), roce("b1", &["::ffff:10.0.1.2"])]);
        let found = pairs(&ours, &theirs).unwrap();
        assert_eq!(devices(&found).len(), 2);
        assert!(
            devices(&found).contains(&("a0", "b1")) && devices(&found).contains(&("a1", "b0")),
            "{found:?}"
        );
        let one = offered(&[roce("c0", &["::ffff:10.0.2.3"])]);
        assert_eq!(devices(&pairs(&ours, &one).unwrap()), [("a1", "c0")]);
        let rails =
            |node| offered(&[infiniband("m0", node, "fec0::1"), infiniband("m1", node + 1, "fec0::2")]);
        assert_eq!(devices(&pairs(&rails(1), &rails(3)).unwrap()), [("m0", "m0"), ("m1", "m1")]);
    }

    #[test]
    fn a_node_that_offers_no_port_is_not_reached() {
        let ours = offered(&[roce("rxe0", &["fd00::1"])]);
        assert_eq!(pairs(&ours, &[]).unwrap_err(), "a node offers no port");
    }
}
