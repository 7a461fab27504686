//! What the environment says about the rack: who started this process, as which node of how many, and where the
//! others are.

use crate::transport::handshake::Token;
use crate::transport::purpose::{Door, Purpose};
use crate::transport::seal::protection::Protection;
use crate::transport::socket::Address;

/// This process as a node.
#[derive(Clone)]
pub(crate) struct Membership {
    /// The number of this node.
    pub(crate) node: usize,
    /// How many there are.
    pub(crate) nodes: usize,
    /// Where node 0 listens.
    pub(crate) rendezvous: Address,
    pub(crate) token: Token,
    /// Whether the token is secret.
    has_secret: bool,
    /// How messages between nodes are protected.
    pub(crate) protection: Protection,
}

impl Membership {
    /// A rack whose connections are protected like this.
    ///
    /// # Errors
    /// If its token is not secret: nothing can be sealed with it.
    pub(crate) fn protected(self, protection: Protection) -> Result<Self, String> {
        if protection == Protection::Checked || self.has_secret {
            return Ok(Self { protection, ..self });
        }
        Err(format!(
            "GOSSAMER_PROTECTION={protection} needs a secret: set GOSSAMER_TOKEN to 64 hexadecimal digits, the same for all nodes \
             (`openssl rand -hex 32`); the name of the job, which is used instead, can be guessed"
        ))
    }

    /// The purpose of a connection of this node to another one.
    pub(crate) fn purpose(&self, door: Door, other: usize, index: usize) -> Purpose {
        Purpose::of_nodes(door, self.protection, (self.node, other), index)
    }

    /// The membership given by the environment; `None` if it names no other node.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub(crate) fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        if let Some(list) = variable("GOSSAMER_NODES") {
            return listed(&list, variable).map(Some);
        }
        if let Some(job) = variable("SLURM_PROCID").and(slurm(variable)?) {
            return Ok(Some(job));
        }
        match (mpi(variable)?, variable("GOSSAMER_NODE")) {
            // Each of these processes would be a program of its own.
            (None, Some(node)) => Err(format!(
                "GOSSAMER_NODE={node} is set but GOSSAMER_NODES is not: set it to the addresses of all nodes (host:port,…), \
                 the same for each, or start this process without GOSSAMER_NODE to run it alone"
            )),
            (found, _) => Ok(found),
        }
    }
}

/// The number that a variable must contain.
fn number(name: &str, text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| format!("{name}={text:?} is not a whole number"))
}

/// `GOSSAMER_NODES=host:port,…` and `GOSSAMER_NODE=index`, as set by our launcher or by hand. Without an index, the
/// number at the end of the host's name is used, as in a StatefulSet.
fn listed(list: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Membership, String> {
    let addresses = list.split(',').map(|address| address.trim().parse::<Address>());
    let addresses =
        addresses.collect::<Result<Vec<_>, _>>().map_err(|error| format!("GOSSAMER_NODES: {error}"))?;
    let nodes = addresses.len();
    let node = match (variable("GOSSAMER_NODE"), variable("HOSTNAME")) {
        (Some(index), _) => number("GOSSAMER_NODE", &index)?,
        (None, Some(host)) => ordinal(&host).ok_or_else(|| {
            format!("GOSSAMER_NODES is set but GOSSAMER_NODE is not, and HOSTNAME={host:?} does not end in `-` and a number")
        })?,
        (None, None) => return Err("GOSSAMER_NODES is set but GOSSAMER_NODE (0 for the first) is not".to_owned()),
    };
    if node >= nodes {
        return Err(format!("GOSSAMER_NODE={node}, but GOSSAMER_NODES lists {nodes} nodes: the first is 0"));
    }
    let token = match variable("GOSSAMER_TOKEN") {
        Some(text) => Token::from_hex(text.trim()).ok_or(
            "GOSSAMER_TOKEN must be 64 hexadecimal digits, the same for all nodes (`openssl rand -hex 32`)",
        )?,
        None => {
            return Err("GOSSAMER_NODES is set but GOSSAMER_TOKEN is not: 64 hexadecimal digits, the same for all nodes, \
                        which keep strangers out (`openssl rand -hex 32`)"
                .to_owned());
        }
    };
    let rendezvous = addresses.into_iter().next().ok_or("GOSSAMER_NODES lists no node")?;
    Ok(Membership { node, nodes, rendezvous, token, has_secret: true, protection: Protection::Checked })
}

/// The number after the last dash of a host's name, without its domain.
fn ordinal(host: &str) -> Option<usize> {
    host.split('.').next()?.rsplit_once('-')?.1.parse().ok()
}

/// The membership of a task in a job step of Slurm.
fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Membership>, String> {
    let (Some(node), Some(nodes)) =
        (variable("SLURM_PROCID"), variable("SLURM_STEP_NUM_TASKS").or_else(|| variable("SLURM_NTASKS")))
    else {
        return Ok(None);
    };
    let (node, nodes) = (number("SLURM_PROCID", &node)?, number("SLURM_STEP_NUM_TASKS", &nodes)?);
    // A script of `sbatch` also has these variables, but is not a task of a step.
    if nodes < 2 || variable("SLURM_STEP_ID").is_none() {
        return Ok(None);
    }
    let list = variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_NODELIST")).unwrap_or_default();
    let first = first_host(&list).ok_or_else(|| format!("SLURM_STEP_NODELIST={list:?} names no host"))?;
    let one_host = variable("SLURM_STEP_NUM_NODES").is_some_and(|hosts| hosts.trim() == "1");
    let job = ["SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_UID", "SLURM_RESTART_COUNT"]
        .map(|name| variable(name).unwrap_or_default())
        .join("/");
    membership(variable, node, nodes, &format!("slurm/{job}"), if one_host { None } else { Some(&first) })
        .map(Some)
}

/// The first host of a list in the format of Slurm: `a`, `a,b`, `rack[07-10,12]`.
fn first_host(list: &str) -> Option<String> {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (prefix, rest) = list.split_at(end);
    let Some(ranges) = rest.strip_prefix('[') else { return (!prefix.is_empty()).then(|| prefix.to_owned()) };
    let (ranges, suffix) = ranges.split_once(']')?;
    let first = ranges.split([',', '-']).next()?;
    let suffix = suffix.split(',').next()?;
    // `a[1-2]b[3-4]`: the rest is a list again.
    let suffix = if suffix.is_empty() { String::new() } else { first_host(suffix)? };
    Some(format!("{prefix}{first}{suffix}"))
}

/// The membership of a process of Open MPI (or of another launcher that speaks PMI).
fn mpi(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Membership>, String> {
    for (rank, size, local, job) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"),
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"),
    ] {
        let (Some(node), Some(nodes)) = (variable(rank), variable(size)) else { continue };
        let (node, nodes) = (number(rank, &node)?, number(size, &nodes)?);
        if nodes < 2 {
            continue;
        }
        let job = variable(job).or_else(|| variable("OMPI_MCA_ess_base_jobid")).unwrap_or_default();
        let one_host = variable(local).is_some_and(|local| local.trim() == nodes.to_string());
        let first = variable("OMPI_MCA_orte_hnp_uri").as_deref().and_then(host_of_uri);
        if !one_host && first.is_none() && variable("GOSSAMER_RENDEZVOUS").is_none() {
            return Err(format!(
                "{rank} says that this is one of {nodes} processes on several machines, but not where the first is: set \
                 GOSSAMER_RENDEZVOUS=host:port of the machine of rank 0 (`mpirun -x GOSSAMER_RENDEZVOUS=…`)"
            ));
        }
        let first = if one_host { None } else { first.as_deref() };
        return membership(variable, node, nodes, &format!("mpi/{job}"), first).map(Some);
    }
    Ok(None)
}

/// The host in `jobid;tcp://host,other:port`.
fn host_of_uri(uri: &str) -> Option<String> {
    let hosts = uri.split_once("tcp://")?.1.rsplit_once(':')?.0;
    hosts.split(',').next().map(str::to_owned)
}

/// A node of a job that only tells its rank. If all are on one host (`first` is `None`), they meet at a socket with
/// the name of the job.
fn membership(
    variable: &dyn Fn(&str) -> Option<String>,
    node: usize,
    nodes: usize,
    job: &str,
    first: Option<&str>,
) -> Result<Membership, String> {
    if node >= nodes {
        return Err(format!("this is process {node} of {nodes}, the launcher says: the first is 0"));
    }
    let given = variable("GOSSAMER_TOKEN");
    let has_secret = given.is_some();
    let token = match given {
        Some(text) => Token::from_hex(text.trim()).ok_or("GOSSAMER_TOKEN must be 64 hexadecimal digits")?,
        None => Token::derived_from(job),
    };
    let rendezvous = match (variable("GOSSAMER_RENDEZVOUS"), first) {
        (Some(address), _) => address.parse().map_err(|error| format!("GOSSAMER_RENDEZVOUS: {error}"))?,
        (None, None) => Address::Unix(format!("gossamer-{}", token.public_name("node 0 of a job"))),
        // A port that jobs are unlikely to share, below those that the system assigns.
        (None, Some(host)) => {
            let spread = u64::from_str_radix(&token.public_name("port")[..8], 16).unwrap_or_default();
            Address::Tcp(format!("{host}:{}", 20_000 + spread % 12_000))
        }
    };
    Ok(Membership { node, nodes, rendezvous, token, has_secret, protection: Protection::Checked })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<(usize, usize, String)>, String> {
        let variable = |asked: &str| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        };
        let membership = Membership::find(&variable)?;
        Ok(membership.map(|found| (found.node, found.nodes, found.rendezvous.to_string())))
    }

    const TOKEN: (&str, &str) =
        ("GOSSAMER_TOKEN", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");

    #[test]
    fn a_process_that_nobody_launched_is_alone() {
        assert_eq!(found(&[]), Ok(None));
        assert_eq!(found(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), Ok(None), "a batch script");
        assert_eq!(found(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), Ok(None));
    }

    #[test]
    fn a_static_list_says_where_node_0_is() {
        let list = ("GOSSAMER_NODES", "a-0.app:7400, a-1.app:7400");
        let expected = |node| Ok(Some((node, 2, "a-0.app:7400".to_owned())));
        assert_eq!(found(&[list, ("GOSSAMER_NODE", "1"), TOKEN]), expected(1));
        assert_eq!(found(&[list, ("HOSTNAME", "a-1.app.svc"), TOKEN]), expected(1));
    }

    #[test]
    fn a_step_of_slurm_says_who_this_is_and_its_first_host() {
        let step = [
            ("SLURM_PROCID", "2"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_JOB_ID", "17"),
            ("SLURM_STEP_NODELIST", "rack[07-10,12]"),
        ];
        let (node, nodes, rendezvous) = found(&step).ok().flatten().unwrap_or_default();
        assert_eq!((node, nodes), (2, 4));
        assert!(rendezvous.starts_with("rack07:"), "{rendezvous}");
        let one = [&step[..], &[("SLURM_STEP_NUM_NODES", "1")]].concat();
        assert!(
            found(&one).is_ok_and(|found| found.is_some_and(|(.., at)| at.starts_with("unix:gossamer-")))
        );
    }

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, first) in [("n1", "n1"), ("n1,n2", "n1"), ("n[3-4]", "n3"), ("a[01,07]b[2-3],c", "a01b2")]
        {
            assert_eq!(first_host(list).as_deref(), Some(first), "{list}");
        }
        assert_eq!(first_host(""), None);
        assert_eq!(first_host("a[1"), None);
    }

    #[test]
    fn processes_of_mpi_on_one_host_meet_by_the_name_of_their_job() {
        let process = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            ("PMIX_NAMESPACE", "prterun-host-17@1"),
        ];
        assert!(found(&process).is_ok_and(|found| found.is_some_and(|(node, nodes, at)| {
            (node, nodes) == (3, 4) && at.starts_with("unix:gossamer-")
        })));
    }

    #[test]
    fn nothing_is_sealed_with_a_token_that_can_be_guessed() {
        let step = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NODELIST", "a,b"),
        ];
        let protected = |variables: &[(&str, &str)], protection| {
            let variable = |asked: &str| {
                variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
            };
            Membership::find(&variable).unwrap().unwrap().protected(protection).map(|found| found.protection)
        };
        assert_eq!(protected(&step, Protection::Checked), Ok(Protection::Checked));
        let error = protected(&step, Protection::Encrypted).unwrap_err();
        assert!(
            error.contains("GOSSAMER_PROTECTION=encrypted needs a secret: set GOSSAMER_TOKEN"),
            "{error}"
        );
        let with_token = [&step[..], &[TOKEN]].concat();
        assert_eq!(protected(&with_token, Protection::Encrypted), Ok(Protection::Encrypted));
    }

    #[test]
    fn a_bad_variable_is_named_with_what_it_should_be() {
        let list = ("GOSSAMER_NODES", "a:1,b:2");
        for (variables, expected) in [
            (vec![("GOSSAMER_NODES", "a:1,b")], "`b` is neither `host:port` nor"),
            (vec![list], "GOSSAMER_NODE (0 for the first) is not"),
            (vec![("GOSSAMER_NODE", "1")], "GOSSAMER_NODE=1 is set but GOSSAMER_NODES is not"),
            (vec![("GOSSAMER_NODE", "1"), TOKEN], "GOSSAMER_NODE=1 is set but GOSSAMER_NODES is not"),
            (vec![list, ("GOSSAMER_NODE", "2"), TOKEN], "lists 2 nodes: the first is 0"),
            (vec![list, ("GOSSAMER_NODE", "x"), TOKEN], "GOSSAMER_NODE=\"x\" is not a whole number"),
            (vec![list, ("GOSSAMER_NODE", "1")], "GOSSAMER_TOKEN is not"),
            (vec![list, ("GOSSAMER_NODE", "1"), ("GOSSAMER_TOKEN", "7")], "64 hexadecimal digits"),
            (vec![list, ("HOSTNAME", "web")], "does not end in `-` and a number"),
            (
                vec![("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "4")],
                "GOSSAMER_RENDEZVOUS=host:port",
            ),
        ] {
            let error = found(&variables).err().unwrap_or_default();
            assert!(error.contains(expected), "{variables:?}: {error}");
        }
    }
}
