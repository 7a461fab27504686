//! Nodes that are joined by RDMA: what is missing at the start is reported, and what fails later ends all nodes with
//! one report.

use super::{Ended, addresses, node, start_with, token, wait};
use gossamer::FabricChoice::{Tcp, Verbs};
use integration_tests::{watched, with_rdma};

/// Starts two nodes over a device of this configuration; node 1 meets `fault` at one of its work requests.
fn fail_at(device: &str, fault: &str) -> Vec<Ended> {
    let (addresses, token) = (addresses(2, Verbs), token());
    let start = |index: usize| {
        let described = if index == 1 { format!("sim0 {fault} {device}") } else { format!("sim0 {device}") };
        let mut node = node(crate::PROGRAM, "sum", index, &addresses, &token);
        node.env("GOSSAMER_FABRIC", "verbs").env("VERBS_SIM", described);
        with_rdma(&mut node).spawn().unwrap()
    };
    wait(&mut super::Nodes(vec![start(0), start(1)]))
}

const PORT: &str = "port=1 gid=0:v2:192.0.2.1";

fn reports(ended: &[Ended]) -> String {
    ended.iter().map(|node| node.errors.as_str()).collect()
}

#[test]
fn a_work_request_that_fails_ends_all_nodes_and_says_why() {
    watched(|| {
        for (status, words) in [
            (12, "retries exceeded: no answer from the remote side (status 12"),
            (13, "RNR retries exceeded"),
            (10, "remote access error"),
            (11, "remote operation error"),
            (4, "local protection error"),
        ] {
            let ended = fail_at(PORT, &format!("fault=60:{status}"));
            let said = reports(&ended);
            assert!(ended.iter().all(|node| node.status.code() == Some(75)), "{status}: {said}");
            assert!(said.contains(words) && said.contains("RDMA port sim0:1"), "{status}: {said}");
            assert!(
                said.contains("node 1 has lost its connection") && said.contains("node 0 (worker "),
                "{said}"
            );
        }
    });
}

#[test]
fn a_device_that_fails_ends_all_nodes_and_is_named() {
    watched(|| {
        let ended = fail_at(PORT, "fault=60:fatal");
        let said = reports(&ended);
        assert!(ended.iter().all(|node| node.status.code() == Some(75)), "{said}");
        assert!(said.contains("node 1 cannot go on: RDMA device sim0: device fatal error"), "{said}");
    });
}

#[test]
fn a_port_that_goes_down_is_told_and_ends_all_nodes_when_retries_run_out() {
    watched(|| {
        let ended = fail_at(PORT, "fault=60:down");
        let said = reports(&ended);
        assert!(ended.iter().all(|node| node.status.code() == Some(75)), "{said}");
        assert!(said.contains("gossamer: node 1: RDMA device sim0: port down (port 1)"), "{said}");
        assert!(said.contains("retries exceeded"), "{said}");
    });
}

#[test]
fn what_is_missing_for_rdma_is_told_at_the_start_with_what_to_do() {
    watched(|| {
        for (variables, words) in [
            (vec![("VERBS_SIM", "none")], "no RDMA device: the kernel knows none"),
            (vec![("VERBS_SIM", "empty")], "no RDMA device"),
            (vec![("VERBS_SIM", "denied")], "no permission to open RDMA device"),
            (
                vec![("VERBS_SIM", "sim0 port=1 state=down gid=0:v2:192.0.2.1")],
                "no RDMA port can be used: sim0:1 is down",
            ),
            (vec![("VERBS_SIM", "sim0 port=1 gid=0:v1:192.0.2.1")], "sim0:1 has no GID of RoCE v2"),
            (vec![("VERBS_SIM", "sim0 memlock=262144 port=1 gid=0:v2:192.0.2.1")], "`ulimit -l`"),
            (vec![("VERBS_SIM", "sim0 max_qp=3 port=1 gid=0:v2:192.0.2.1")], "ibv_create_qp"),
            (
                vec![("VERBS_SIM", "sim0 port=1 gid=0:v2:192.0.2.1 unreachable=192.0.2.1")],
                "node 0 and node 1 cannot be joined by RDMA: ",
            ),
            (
                vec![("GOSSAMER_VERBS", "sim9:1")],
                "GOSSAMER_VERBS: there is no RDMA port sim9:1; there is sim0:1",
            ),
            (vec![("GOSSAMER_VERBS_GID", "9")], "GOSSAMER_VERBS_GID"),
            (
                vec![("GOSSAMER_VERBS_TIMEOUT", "99")],
                "GOSSAMER_VERBS_TIMEOUT=\"99\" is not a whole number from 1 to 31",
            ),
            (vec![("GOSSAMER_FABRIC", "rdma")], "GOSSAMER_FABRIC=\"rdma\" is not auto, shm, tcp or verbs"),
        ] {
            let ended = wait(&mut start_with("sum", 3, Verbs, &variables));
            let said = reports(&ended);
            assert!(ended.iter().all(|node| node.status.code() == Some(2)), "{variables:?}: {said}");
            assert!(said.contains(words), "{variables:?}: {said}");
        }
    });
}

#[test]
fn nodes_that_are_not_to_use_rdma_do_not_look_for_it() {
    watched(|| {
        let ended =
            wait(&mut start_with("sum", 2, Tcp, &[("VERBS_SIM", "nonsense, which would end the program")]));
        assert!(ended.iter().all(|node| node.status.success()), "{}", reports(&ended));
    });
}
