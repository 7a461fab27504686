//! The first messages of nodes: who they are, and what node 0 answers.

use crate::NoRef;
use crate::fabric::choice::FabricChoice;
use crate::fabric::verbs::choice::offer::PortOffer;
use crate::lane::registry::{Described, Registry};
use crate::runtime::{Placement, StartError};
use crate::sys::threads::{affinity, ownership};
use crate::transport::seal::protection::Protection;
use crate::worker::config::Config;
use aws_lc_rs::digest;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

/// Bytes of the executable that are read at once.
const BLOCK: usize = 1 << 20;

/// What a node says about itself.
#[derive(NoRef, Clone, Debug)]
pub(crate) struct Hello {
    pub(crate) node: usize,
    pub(crate) nodes: usize,
    /// SHA-256 of the executable.
    build: [u8; 32],
    /// A digest of its operations.
    digest: u64,
    /// The same for nodes that can share memory.
    pub(crate) machine: String,
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// Where its workers can be reached from other machines.
    pub(crate) data: String,
    /// The RDMA ports that it offers, or why it offers none.
    pub(crate) ports: Result<Vec<PortOffer>, String>,
    /// The processors that it may use.
    processors: Vec<usize>,
    /// Whether only nodes of this rack may use them.
    are_own: bool,
    /// The number of workers, if the program or the environment sets it.
    threads: Option<usize>,
    pin: Option<bool>,
    pub(crate) protection: Protection,
}

/// What node 0 answers.
#[derive(NoRef, Clone, Debug)]
pub(crate) enum Reply {
    /// All nodes have arrived, and are joined by this fabric.
    Welcome(Vec<Member>, FabricChoice),
    /// It runs another program: which operations does that have?
    Explain,
    /// The text says why.
    Refused(String),
}

/// A node of the rack, as all nodes know it.
#[derive(NoRef, Clone, Debug)]
pub(crate) struct Member {
    pub(crate) machine: String,
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// Where its workers can be reached from other machines.
    pub(crate) data: String,
    /// The RDMA ports by which they can be reached, or why there are none.
    pub(crate) ports: Result<Vec<PortOffer>, String>,
    pub(crate) workers: usize,
    pub(crate) processors: Option<Vec<usize>>,
    /// As that of a `Placement`.
    pub(crate) is_crowded: bool,
}

impl Hello {
    /// What this process says about itself.
    ///
    /// # Errors
    /// If it cannot read its own executable, or does not know its machine.
    pub(crate) fn of_this_process(node: usize, nodes: usize, config: &Config) -> Result<Self, StartError> {
        let system = |step| move |source| StartError::System { step, source };
        let processors = affinity::allowed().unwrap_or_default();
        Ok(Self {
            node,
            nodes,
            build: build().map_err(system("reading the own executable"))?,
            digest: Registry::get().digest(),
            machine: machine().map_err(system("reading the identity of the machine"))?,
            host: host(),
            pid: std::process::id(),
            data: String::new(),
            ports: Err(String::new()),
            are_own: ownership::are_own(&processors),
            processors,
            threads: config.chosen_threads(),
            pin: config.chosen_pin(),
            protection: config.protection,
        })
    }

    /// Whether two nodes run the same program.
    pub(crate) fn is_same_program(&self, other: &Self) -> bool {
        self.build == other.build && self.digest == other.digest
    }
}

/// A digest of the executable. The executable is large in a debug build, where a hash in Rust would be slow: this one
/// is in assembly.
fn build() -> io::Result<[u8; 32]> {
    let mut executable = File::open("/proc/self/exe")?;
    let (mut context, mut block) = (digest::Context::new(&digest::SHA256), vec![0; BLOCK]);
    loop {
        match executable.read(&mut block) {
            Ok(0) => break,
            Ok(count) => context.update(&block[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let digest = context.finish();
    digest.as_ref().try_into().map_err(io::Error::other)
}

/// Nodes can share memory if they run under one kernel and reach each other's Unix sockets.
pub(crate) fn machine() -> io::Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let network = std::fs::read_link("/proc/self/ns/net")?;
    Ok(format!("{} {}", boot.trim(), network.display()))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The number of workers of each node, and their processors. Nodes of one machine that may use the same processors
/// share them, unless they set the number of workers themselves.
pub(crate) fn lay_out(hellos: &[Hello], config: &Config) -> Vec<Member> {
    let mut machines: BTreeMap<(&str, &[usize]), Vec<usize>> = BTreeMap::new();
    for (node, hello) in hellos.iter().enumerate() {
        machines.entry((&hello.machine, &hello.processors)).or_default().push(node);
    }
    let fabric = config.fabric;
    let mut members = Vec::with_capacity(hellos.len());
    for (node, hello) in hellos.iter().enumerate() {
        let sharing = &machines[&(hello.machine.as_str(), hello.processors.as_slice())];
        let (place, count) =
            (sharing.iter().position(|other| *other == node).unwrap_or_default(), sharing.len());
        let processors = share(&hello.processors, place, count);
        let config =
            Config::default().or_threads(hello.threads).or_pin(hello.pin).or_threads(config.chosen_threads());
        let mut placement = Placement::among(&config, processors, hello.are_own);
        if count > hello.processors.len() && hello.pin != Some(true) {
            // Two workers that are pinned to one processor would wait for each other's time slice.
            placement.processors = None;
        }
        // Each of them counts itself as one of fewer.
        placement.is_crowded |= (1..count).contains(&hello.processors.len());
        members.push(Member {
            machine: match fabric.shares_memory() {
                true => hello.machine.clone(),
                false => format!("{} {node}", hello.machine),
            },
            host: hello.host.clone(),
            pid: hello.pid,
            data: hello.data.clone(),
            ports: match fabric.may_use_verbs() {
                true => hello.ports.clone(),
                false => Err(format!("node 0 allows {fabric} only")),
            },
            workers: placement.workers,
            processors: placement.processors,
            is_crowded: placement.is_crowded,
        });
    }
    members
}

/// The processors of one of `count` nodes; at least one, if there is any.
pub(super) fn share(processors: &[usize], place: usize, count: usize) -> Vec<usize> {
    if count > processors.len() {
        return processors.get(place % processors.len().max(1)).copied().into_iter().collect();
    }
    processors[place * processors.len() / count..(place + 1) * processors.len() / count].to_vec()
}

/// Says how two programs differ, by the operations of each.
pub(crate) fn difference(ours: &[Described], theirs: &[Described]) -> String {
    let missing = only_in(ours, |(name, _)| !theirs.iter().any(|(other, _)| other == name));
    let added = only_in(theirs, |(name, _)| !ours.iter().any(|(other, _)| other == name));
    if !(missing.is_empty() && added.is_empty()) {
        return format!(
            "delegated closures that only node 0 has: {}; that only the other has: {}",
            list(&missing),
            list(&added)
        );
    }
    let moved = only_in(ours, |described| !theirs.contains(described));
    if moved.is_empty() {
        return "the delegated closures have the same names and places, so they differ in what is in them, in other code, or \
                in how they were compiled"
            .to_owned();
    }
    let there = only_in(theirs, |described| !ours.contains(described));
    format!(
        "the delegated closures have the same names, but not the same places: node 0 has {}; the other has {}",
        list(&moved),
        list(&there)
    )
}

/// Those for which `is_only_here` holds; those of the program first, since a change is most likely there.
fn only_in(described: &[Described], is_only_here: impl Fn(&Described) -> bool) -> Vec<&Described> {
    let mut found: Vec<_> = described.iter().filter(|described| is_only_here(described)).collect();
    found.sort_by_key(|(name, _)| name.starts_with("gossamer::"));
    found
}

fn list(described: &[&Described]) -> String {
    let first: Vec<_> = described.iter().take(3).map(|(name, places)| format!("`{name}`{places}")).collect();
    match described.len() {
        0 => "none".to_owned(),
        count if count > 3 => format!("{} and {} more", first.join(", "), count - 3),
        _ => first.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(machine: &str, processors: &[usize]) -> Hello {
        Hello {
            node: 0,
            nodes: 0,
            build: [0; 32],
            digest: 0,
            machine: machine.to_owned(),
            host: machine.to_owned(),
            pid: 1,
            data: String::new(),
            ports: Err(String::new()),
            processors: processors.to_vec(),
            are_own: true,
            threads: None,
            pin: None,
            protection: Protection::Checked,
        }
    }

    fn placements(hellos: &[Hello]) -> Vec<(usize, Option<Vec<usize>>)> {
        lay_out(hellos, &Config::default())
            .into_iter()
            .map(|member| (member.workers, member.processors))
            .collect()
    }

    #[test]
    fn nodes_of_one_machine_share_its_processors() {
        let two = [hello("a", &[0, 1, 2, 3]), hello("b", &[0, 1]), hello("a", &[0, 1, 2, 3])];
        let expected = [(2, Some(vec![0, 1])), (2, Some(vec![0, 1])), (2, Some(vec![2, 3]))];
        assert_eq!(placements(&two), expected);
    }

    #[test]
    fn nodes_that_a_job_manager_gave_their_own_processors_keep_them() {
        assert_eq!(
            placements(&[hello("a", &[0, 1]), hello("a", &[2])]),
            [(2, Some(vec![0, 1])), (1, Some(vec![2]))]
        );
    }

    #[test]
    fn on_processors_of_others_workers_are_pinned_only_if_that_was_said() {
        let shared = Hello { are_own: false, ..hello("a", &[0, 1]) };
        assert_eq!(placements(std::slice::from_ref(&shared)), [(2, None)]);
        let told = Hello { pin: Some(true), ..shared };
        assert_eq!(placements(&[told]), [(2, Some(vec![0, 1]))]);
    }

    #[test]
    fn more_nodes_than_processors_have_a_worker_each_that_is_not_pinned() {
        assert_eq!(
            placements(&[hello("a", &[0, 1]), hello("a", &[0, 1]), hello("a", &[0, 1])]),
            [const { (1, None) }; 3]
        );
    }

    #[test]
    fn workers_are_crowded_if_there_are_more_of_them_than_processors() {
        let are_crowded = |hellos: &[Hello]| {
            lay_out(hellos, &Config::default()).iter().map(|member| member.is_crowded).collect::<Vec<_>>()
        };
        let two = hello("a", &[0, 1]);
        assert_eq!(are_crowded(&[two.clone(), two.clone()]), [false, false]);
        assert_eq!(are_crowded(&[two.clone(), two.clone(), two.clone()]), [true; 3]);
        assert_eq!(are_crowded(&[two.clone(), hello("b", &[0, 1]), two.clone()]), [false; 3]);
        assert_eq!(are_crowded(&[Hello { threads: Some(3), ..two }]), [true]);
        assert_eq!(are_crowded(&[hello("a", &[])]), [false]);
    }

    #[test]
    fn what_differs_is_named_with_its_place() {
        let described = |name: &str, places: &str| (name.to_owned(), places.to_owned());
        let (one, two) = (described("a::one", ""), described("a::two", " at a.rs:7:3"));
        let new = described("a::new", "");
        let text = difference(&[one.clone(), two.clone()], &[one.clone(), new]);
        assert!(text.contains("only node 0 has: `a::two` at a.rs:7:3;"), "{text}");
        assert!(text.ends_with("only the other has: `a::new`"), "{text}");
        let moved = difference(&[one.clone(), two], &[one.clone(), described("a::two", " at a.rs:9:3")]);
        assert!(
            moved.ends_with("node 0 has `a::two` at a.rs:7:3; the other has `a::two` at a.rs:9:3"),
            "{moved}"
        );
        let same = [one];
        assert!(difference(&same, &same).contains("the same names and places"));
    }
}
