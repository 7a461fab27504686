//! A rack whose machines are network namespaces, joined by a switch: what happens when machines, daemons, nodes, or
//! links between them fail. Needs root and `ip`.

use crate::common::network::{Network, all_end};
use crate::common::{eventually, finish, gossamer, simulate, write_script};

#[test]
fn nodes_on_different_machines_reach_each_other() {
    let Some(network) = Network::new("reach") else { return };
    // Each has a listening socket before any of them runs, so that nobody has to wait or to try again. And nobody
    // leaves before all are done.
    let script = "
        hostname=$(ip -4 -o addr show eth0 | grep -o '10.77.0.[0-9]')
        for address in ${GOSSAMER_NODES//,/ }; do exec 3<>/dev/tcp/${address/:/\\/} || exit 1; done
        echo $hostname reaches $(echo $GOSSAMER_NODES | tr , '\\n' | cut -d: -f1)
        touch done-$GOSSAMER_NODE
        until [ -e done-0 -a -e done-1 -a -e done-2 ]; do sleep 0.05; done";
    let finished = finish(network.launch(script).current_dir(&network.scratch.0));
    finished.ended_with(0).was_quiet();
    let lines: Vec<String> = (0..3)
        .map(|node| format!("[node {node}] 10.77.0.{} reaches 10.77.0.1 10.77.0.2 10.77.0.3", node + 1))
        .collect();
    assert_eq!(finished.lines(), lines);
    let status = finish(&mut network.command("c", "status", &[]));
    assert_eq!(status.ended_with(0).out.matches(" ok, ").count(), 3, "{status:?}");
}

#[test]
fn a_killed_node_ends_the_application_on_all_machines() {
    let Some(network) = Network::new("node") else { return };
    let (started, nodes) = network.lasting();
    crate::common::signal(nodes[2], "KILL");
    let finished = started.finish();
    finished.ended_with(137).said(&format!("(pid {}) was killed by SIGKILL", nodes[2]));
    all_end(&nodes);
}

#[test]
fn a_killed_daemon_is_a_lost_machine() {
    let Some(mut network) = Network::new("daemon") else { return };
    let (started, nodes) = network.lasting();
    network.daemons[2].process.signal("KILL");
    started.finish().ended_with(75).said("node 2 on c (pid ").said("is lost");
    all_end(&nodes);
    finish(&mut network.launch("true")).ended_with(3).said("cannot reach c");
    network.daemons[2] = network.start(2);
    finish(&mut network.launch("true")).ended_with(0);
}

#[test]
fn a_machine_whose_link_is_down_is_lost_on_both_sides() {
    let Some(network) = Network::new("link") else { return };
    let (started, nodes) = network.lasting();
    network.ip("c", "link set eth0 down");
    started
        .finish()
        .ended_with(75)
        .said("node 2 on c (pid ")
        .said("nothing was heard of its daemon for 10 s");
    all_end(&nodes);
    network.daemons[2].says("killed nodes [2]: the launcher is lost");
    network.ip("c", "link set eth0 up");
    eventually("the machine is back", || finish(&mut network.launch("true")).status == Some(0));
}

#[test]
fn a_machine_that_hears_but_is_not_heard_is_lost_on_both_sides() {
    let Some(network) = Network::new("mute") else { return };
    let (started, nodes) = network.lasting();
    network.ip("c", "route add blackhole 10.77.0.1");
    started.finish().ended_with(75).said("node 2 on c (pid ");
    all_end(&nodes);
    network.daemons[2].says("killed nodes [2]: the launcher is lost");
    network.ip("c", "route del blackhole 10.77.0.1");
    eventually("the machine is back", || finish(&mut network.launch("true")).status == Some(0));
}

#[test]
fn a_machine_that_is_heard_but_hears_nothing_is_lost_on_both_sides() {
    let Some(network) = Network::new("deaf") else { return };
    let (started, nodes) = network.lasting();
    network.ip("a", "route add blackhole 10.77.0.3");
    started.finish().ended_with(75).said("node 2 on c (pid ");
    all_end(&nodes);
    network.daemons[2].says("killed nodes [2]: the launcher is lost");
}

#[test]
fn a_launcher_that_is_cut_off_loses_its_application() {
    let Some(network) = Network::new("cut-off") else { return };
    let (mut started, nodes) = network.lasting();
    // Nothing more reaches the launcher, not even the end of the connection.
    started.signal("STOP");
    all_end(&nodes);
    started.signal("CONT");
    let status = started.child().wait().unwrap();
    assert_eq!(status.code(), Some(75));
}

#[test]
fn a_machine_with_another_key_is_named() {
    let Some(mut network) = Network::new("key") else { return };
    finish(&mut gossamer(&["keygen", network.scratch.path("other").to_str().unwrap()])).ended_with(0);
    network.configure(2, "other");
    network.daemons.remove(2);
    let other = network.start(2);
    let finished = finish(&mut network.launch("echo ran"));
    finished.ended_with(3).said("cannot reach c").said("does not know the key");
    assert_eq!(finished.out, "");
    other.says("refused 10.77.0.1: it has another key");
}

#[test]
fn all_machines_run_the_same_program_whatever_they_had_before() {
    let Some(network) = Network::new("program") else { return };
    let program = network.scratch.path("program");
    let run = |machine, text| {
        write_script(&program, &format!("#!/bin/sh\necho {text}\n"));
        let finished = finish(&mut network.command(machine, "run", &["--", program.to_str().unwrap()]));
        let lines: Vec<String> = (0..3).map(|node| format!("[node {node}] {text}")).collect();
        assert_eq!(finished.ended_with(0).lines(), lines);
    };
    run("a", "one");
    // On `c`, the file named after the program's hash has other content.
    for file in std::fs::read_dir(network.scratch.path("cache-c")).unwrap() {
        write_script(&file.unwrap().path(), "#!/bin/sh\necho wrong\n");
    }
    run("a", "one");
    run("b", "two");
    run("c", "one");
}

#[test]
fn what_joins_machines_by_their_addresses_is_shown_and_whether_they_are_reached_is_tried() {
    let Some(mut network) = Network::new("rdma") else { return };
    let device = |last: u8| format!("sim0 port=1 mtu=2048 gid=1:v2:10.77.0.{last}");
    let (a, b) = (device(1), device(2));
    network.simulate([&a, &b, "none"]);
    let ports = "sim0:1 (10.77.0.1) and sim0:1 (10.77.0.2), MTU 2048";
    let status = finish(&mut network.command("c", "status", &[]));
    let table: Vec<&str> = status.ended_with(0).out.lines().skip(5).collect();
    let expected = [
        "MACHINES         FABRIC  BY, OR WHY NOT BY RDMA".to_owned(),
        format!("a and b          verbs   {ports}"),
        "c and any other  tcp     no RDMA device: the kernel knows none (`ls /sys/class/infiniband`, `rdma link`)".into(),
    ];
    assert_eq!(table, expected);
    let json = finish(&mut network.command("c", "status", &["--json"]));
    let all: serde_json::Value = serde_json::from_str(&json.ended_with(0).out).unwrap();
    assert_eq!(all[0]["joined"][0]["ports"][0]["mtu"], 2048);
    assert_eq!((&all[1]["joined"][1]["with"], &all[1]["joined"][1]["fabric"]), (&"c".into(), &"tcp".into()));
    // Simulated devices in different namespaces do not reach each other.
    finish(simulate(&mut network.command("a", "check-rdma", &["--with", "b"]), Some(&a)))
        .ended_with(1)
        .said(&format!("RDMA between this machine and b does not work, by {ports}"))
        .said("  here: RDMA device sim0: WRITE: retries exceeded")
        .said("  on b: RDMA device sim0: WRITE: retries exceeded")
        .said("UDP port 4791");
}
