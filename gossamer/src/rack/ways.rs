//! What joins each two nodes: the best that there is, of what node 0 allows.

use crate::fabric::choice::FabricChoice;
use crate::fabric::verbs::choice::pairs::{PortPair, pairs};
use crate::rack::hello::Member;

/// What joins two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Of one machine.
    SharedMemory,
    /// By these ports, the lower node's first.
    Verbs(Vec<PortPair>),
    /// Why not by RDMA.
    Tcp(String),
}

/// What joins two nodes of a rack.
pub(crate) fn between(members: &[Member], one: usize, other: usize) -> Way {
    let (first, second) = (&members[one.min(other)], &members[one.max(other)]);
    if first.machine == second.machine {
        return Way::SharedMemory;
    }
    let offers = |member: &Member, node: usize| {
        member.ports.clone().map_err(|why| format!("node {node} on {}: {why}", member.host))
    };
    let found = offers(first, one.min(other))
        .and_then(|ours| Ok((ours, offers(second, one.max(other))?)))
        .and_then(|(ours, theirs)| pairs(&ours, &theirs));
    found.map_or_else(Way::Tcp, Way::Verbs)
}

/// Why nodes cannot be joined as was asked for, if they cannot.
pub(crate) fn refusal(members: &[Member], asked: FabricChoice) -> Option<String> {
    let all = (0..members.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
    all.filter_map(|(one, other)| {
        let way = between(members, one, other);
        let hosts = || (&members[one].host, &members[other].host);
        match (asked, way) {
            (FabricChoice::Verbs, Way::Tcp(why)) => Some(format!(
                "node {one} and node {other} cannot be joined by RDMA, which GOSSAMER_FABRIC=verbs asks for: {why}"
            )),
            (FabricChoice::Shm, Way::Tcp(_) | Way::Verbs(_)) => Some(format!(
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
