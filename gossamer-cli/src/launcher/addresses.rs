//! Where the nodes of an application find each other: the value of `GOSSAMER_NODES`.

use crate::exit::{Failure, USAGE};
use crate::rack::config::Machine;
use std::net::SocketAddr;

/// Where the nodes of a machine listen, in order of their numbers.
pub type NodeAddresses = Vec<SocketAddr>;

/// The value if all nodes are on one machine.
#[must_use]
pub fn local_addresses(application: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|node| format!("unix:gossamer-{application}-{node}")).collect();
    names.join(",")
}

/// The value if nodes are on several machines and listen at these addresses, which were `found`; `assignment` says
/// which machine each node is on.
///
/// # Errors
/// If some of them cannot reach others.
pub fn node_addresses(
    machines: &[Machine],
    assignment: &[usize],
    found: Vec<NodeAddresses>,
) -> Result<String, Failure> {
    let loopback: Vec<bool> =
        found.iter().map(|addresses| addresses.iter().all(|address| address.ip().is_loopback())).collect();
    if let Some(here) = loopback.iter().position(|&loopback| loopback)
        && loopback.contains(&false)
    {
        let name = machines.get(here).map_or("", |machine| machine.name.as_str());
        return Err(Failure::new(
            USAGE,
            format!(
                "the address of {name} leads back to this machine, where the other machines cannot reach it; write its \
                 network address into the configuration"
            ),
        ));
    }
    let mut found: Vec<_> = found.into_iter().map(Vec::into_iter).collect();
    let next =
        |&machine: &usize| found.get_mut(machine).and_then(Iterator::next).map(|address| address.to_string());
    let list: Vec<String> = assignment.iter().filter_map(next).collect();
    Ok(list.join(","))
}
