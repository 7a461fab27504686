//! The fabric between each two nodes: the best available one of those that node 0 allows.

use crate::fabric::choice::FabricChoice;
use crate::fabric::verbs::choice::pairs::{PortPair, pairs};
use crate::rack::hello::Member;

/// The fabric between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PairFabric {
    /// For nodes of one machine.
    SharedMemory,
    /// By these pairs of ports, the lower node's first.
    Verbs(Vec<PortPair>),
    /// TCP, and why not RDMA.
    Tcp(String),
}

/// The fabric between two nodes of a rack.
pub(crate) fn between(members: &[Member], one: usize, other: usize) -> PairFabric {
    let (first, second) = (&members[one.min(other)], &members[one.max(other)]);
    if first.machine == second.machine {
        return PairFabric::SharedMemory;
    }
    let offers = |member: &Member, node: usize| {
        member.ports.clone().map_err(|why| format!("node {node} on {}: {why}", member.host))
    };
    let found = offers(first, one.min(other))
        .and_then(|ours| Ok((ours, offers(second, one.max(other))?)))
        .and_then(|(ours, theirs)| pairs(&ours, &theirs));
    found.map_or_else(PairFabric::Tcp, PairFabric::Verbs)
}

/// Why nodes cannot be joined by the requested fabric, if so.
pub(crate) fn refusal(members: &[Member], asked: FabricChoice) -> Option<String> {
    let all = (0..members.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    all.filter_map(|(one, other)| {
        let found = between(members, one, other);
        let hosts = || (&members[one].host, &members[other].host);
        match (asked, found) {
            (FabricChoice::Verbs, PairFabric::Tcp(why)) => Some(format!(
                "node {one} and node {other} cannot be joined by RDMA, which GOSSAMER_FABRIC=verbs asks for: {why}"
            )),
            (FabricChoice::Shm, PairFabric::Tcp(_) | PairFabric::Verbs(_)) => Some(format!(
                "node {one} on {} and node {other} on {} share no memory, which GOSSAMER_FABRIC=shm asks for: start them on one \
                 machine, or leave the choice to GOSSAMER_FABRIC=auto",
                hosts().0,
                hosts().1
            )),
            _ => None,
        }
    })
    .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::verbs::choice::offer::{PortOffer, offers};
    use crate::fabric::verbs::choice::port::samples::{ethernet, infiniband};
    use crate::fabric::verbs::choice::settings::VerbsSettings;

    fn member(machine: &str, ports: Result<Vec<PortOffer>, &str>) -> Member {
        Member {
            machine: machine.to_owned(),
            host: format!("host-{machine}"),
            pid: 1,
            data: String::new(),
            ports: ports.map_err(str::to_owned),
            workers: 1,
            processors: None,
            is_crowded: false,
        }
    }

    fn infiniband_port() -> Vec<PortOffer> {
        offers(&[infiniband("mlx5_0", 3, "fec0::1")], &VerbsSettings::default()).unwrap()
    }

    #[test]
    fn two_nodes_are_joined_by_the_best_that_both_have() {
        let own = || Ok(infiniband_port());
        let members =
            [member("a", own()), member("b", own()), member("b", own()), member("c", Err("no RDMA device"))];
        assert_eq!(between(&members, 1, 2), PairFabric::SharedMemory);
        assert!(matches!(between(&members, 1, 0), PairFabric::Verbs(ports) if ports.len() == 1));
        assert_eq!(between(&members, 3, 0), PairFabric::Tcp("node 3 on host-c: no RDMA device".to_owned()));
    }

    #[test]
    fn both_of_two_nodes_find_the_same_ports() {
        let rails = ["::ffff:10.0.1.1", "::ffff:10.0.2.1"].map(|gid| ethernet("a", &[(2, gid)]));
        let others = ["::ffff:10.0.2.2", "::ffff:10.0.1.2"].map(|gid| ethernet("b", &[(2, gid)]));
        let offered = |ports: &[_]| Ok(offers(ports, &VerbsSettings::default()).unwrap());
        let members = [member("a", offered(&rails)), member("b", offered(&others))];
        assert_eq!(between(&members, 0, 1), between(&members, 1, 0));
    }

    #[test]
    fn what_is_asked_for_and_cannot_be_is_refused_with_the_reason() {
        let members = [member("a", Ok(infiniband_port())), member("b", Err("no RDMA device"))];
        let refused = |asked| refusal(&members, asked).unwrap_or_default();
        assert!(refused(FabricChoice::Verbs).contains("node 0 and node 1 cannot be joined by RDMA"));
        assert!(refused(FabricChoice::Verbs).ends_with("asks for: node 1 on host-b: no RDMA device"));
        assert!(refused(FabricChoice::Shm).contains("node 0 on host-a and node 1 on host-b share no memory"));
        assert_eq!(refused(FabricChoice::Auto), "");
        assert_eq!(refused(FabricChoice::Tcp), "");
    }
}
