//! `gossamer check-rdma` and what `gossamer status` says of RDMA, over the simulated device.

use crate::common::rack::{Daemon, Rack};
use crate::common::{Finished, eventually, finish, gossamer, simulate, start};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// `gossamer check-rdma` on a machine with these devices.
fn check(devices: Option<&str>, options: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = gossamer(&["check-rdma"]);
    finish(simulate(command.args(options), devices).envs(variables.iter().copied()))
}

/// A rack whose daemons have these devices.
fn rack(name: &str, devices: &[Option<&str>]) -> Rack {
    let mut rack = Rack::without_daemons(name, devices.len());
    for (index, devices) in devices.iter().enumerate() {
        let daemon = Daemon::start_listening(simulate(&mut rack.command(index, "daemon", &[]), *devices));
        rack.daemons.push(daemon);
    }
    rack
}

/// `gossamer check-rdma --with b`, run on `a`.
fn with_b(rack: &Rack, options: &[&str]) -> Command {
    let mut command = rack.command(0, "check-rdma", &["--with", "b"]);
    simulate(command.args(options), None);
    command
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.out).unwrap()
}

#[test]
fn what_a_machine_has_is_shown_with_what_is_used_of_it() {
    let finished = check(None, &[], &[]);
    finished.ended_with(0).was_quiet();
    for line in [
        "library        libibverbs.so.1 was opened",
        "settings       none: everything is found automatically",
        "(ulimit -l)",
        "device sim0: ",
        "  port 1: active, Ethernet, MTU 1024; used",
        "    GID 2   RoCE v1    192.0.2.1\n",
        "    GID 3   RoCE v2    192.0.2.1  (used)",
        "RDMA can be used, by sim0:1 (192.0.2.1, fe80::1)\n",
    ] {
        assert!(finished.out.contains(line), "no {line:?} in {}", finished.out);
    }
    let all = json(check(None, &["--json"], &[("GOSSAMER_VERBS", "sim0:1")]).ended_with(0));
    assert_eq!((&all["usable"], &all["error"]), (&true.into(), &Value::Null));
    assert_eq!(all["settings"]["GOSSAMER_VERBS"], "sim0:1");
    assert_eq!(all["devices"][0]["ports"][0]["gids"][3]["used"], true);
}

#[test]
fn the_first_thing_that_is_wrong_is_told_with_what_to_do() {
    let infiniband = "ib port=1 link=infiniband lid=0 gid=0:ib:fe80::7";
    for (devices, variables, why, advice) in [
        ("none", None, "no RDMA device: the kernel knows none", "rdma link add rxe0"),
        ("empty", None, "no RDMA device", "/dev/infiniband"),
        ("denied", None, "no permission to open RDMA device", "udev"),
        ("a port=1 state=down gid=1:v2:10.0.0.1", None, "a:1 is down", "ip link set"),
        ("a port=1 gid=0:v1:10.0.0.1", None, "a:1 has no GID of RoCE v2", "an address"),
        (infiniband, None, "ib:1 has no LID", "subnet manager"),
        (
            "a port=1 gid=1:v2:10.0.0.1",
            Some(("GOSSAMER_VERBS", "b")),
            "there is no RDMA port b; there is a:1",
            "unset it",
        ),
        (
            "a port=1 gid=1:v2:10.0.0.1",
            Some(("GOSSAMER_VERBS_GID", "7")),
            "GOSSAMER_VERBS_GID=7",
            "correct the index",
        ),
    ] {
        let variables: Vec<_> = variables.into_iter().collect();
        let finished = check(Some(devices), &[], &variables);
        finished.ended_with(1).said("RDMA cannot be used on this machine: ").said(why);
        finished.said("\nWhat to do: ").said(advice);
        assert_eq!(json(&check(Some(devices), &["--json"], &variables))["usable"], false);
    }
}

#[test]
fn a_setting_that_cannot_be_is_a_mistake() {
    let wrong = [("GOSSAMER_VERBS_TIMEOUT", "99")];
    check(None, &[], &wrong).ended_with(2).said("GOSSAMER_VERBS_TIMEOUT=\"99\" is not a whole number");
    check(None, &["--with", "b", "--config", "/no/such/file"], &[]).ended_with(2).said("/no/such/file");
}

#[test]
fn two_machines_measure_each_pair_of_their_ports() {
    let two = "x port=1 gid=1:v2:10.0.1.1; y port=1 gid=1:v2:10.0.2.1";
    let rack = rack("rdma-measure", &[Some(two), Some(two)]);
    let mut command = rack.command(0, "check-rdma", &["--with", "b"]);
    let finished = finish(simulate(&mut command, Some(two)));
    finished.ended_with(0).was_quiet();
    for line in [
        "this machine and b, by x:1 (10.0.1.1) and x:1 (10.0.1.1), MTU ",
        "this machine and b, by y:1 (10.0.2.1) and y:1 (10.0.2.1), MTU ",
        "round trip of 8 bytes: median ",
        "writes of 64 KiB: to b ",
    ] {
        assert!(finished.out.contains(line), "no {line:?} in {}", finished.out);
    }
    let all = json(finish(simulate(command.arg("--json"), Some(two))).ended_with(0));
    let pairs = all["with"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2);
    for pair in pairs {
        assert!(pair["median_microseconds"].as_f64() <= pair["percentile_99_microseconds"].as_f64());
        assert!(pair["round_trips"].as_u64() > Some(0));
        assert!(pair["bytes_per_second_to"].as_u64() > Some(0), "{pair}");
        assert!(pair["bytes_per_second_from"].as_u64() > Some(0), "{pair}");
    }
}

#[test]
fn the_machine_that_has_no_rdma_is_named() {
    let rack = rack("rdma-lacks", &[None, Some("none")]);
    finish(&mut with_b(&rack, &[]))
        .ended_with(1)
        .said("RDMA cannot be used on b: no RDMA device")
        .said("What to do: ");
    let failed = finish(&mut with_b(&rack, &["--json"]));
    assert!(json(&failed)["with"]["error"].as_str().unwrap().contains("on b: no RDMA device"));
    let mut command = rack.command(1, "check-rdma", &["--with", "a"]);
    finish(simulate(&mut command, Some("none"))).ended_with(1).said("on this machine: no RDMA device");
    let other = "ib port=1 link=infiniband lid=7 gid=0:ib:fe80::7";
    let mut command = rack.command(1, "check-rdma", &["--with", "a"]);
    finish(simulate(&mut command, Some(other)))
        .ended_with(1)
        .said("this machine and a have no way by RDMA: ib:1 and sim0:1 are of different link layers");
}

#[test]
fn what_fails_on_the_way_is_told_with_the_side_that_saw_it() {
    let rack = rack("rdma-fails", &[None, Some("sim0 fault=3:10 port=1 gid=1:v2:192.0.2.1")]);
    finish(&mut with_b(&rack, &[]))
        .ended_with(1)
        .said("RDMA between this machine and b does not work, by sim0:1 (192.0.2.1) and sim0:1 (192.0.2.1)")
        .said("  on b: RDMA device sim0: WRITE: remote access error (status 10");
    let unreachable = "sim0 port=1 gid=1:v2:192.0.2.1 unreachable=192.0.2.1";
    let mut command = rack.command(0, "check-rdma", &["--with", "b"]);
    finish(simulate(&mut command, Some(unreachable)))
        .ended_with(1)
        .said("  here: RDMA device sim0: ibv_modify_qp to state RTR: ")
        .said("is there a route");
}

#[test]
fn one_check_runs_at_a_time_and_a_client_that_goes_away_leaves_room_for_the_next() {
    let rack = rack("rdma-turns", &[None, None]);
    let mut first = start(&mut with_b(&rack, &[]));
    eventually("the second one is turned away", || {
        let second = finish(&mut with_b(&rack, &[]));
        let is_turned_away =
            second.status == Some(3) && second.err.contains("somebody else is checking RDMA");
        if !is_turned_away {
            // The first one had not begun yet, or had ended already.
            first = start(&mut with_b(&rack, &[]));
        }
        is_turned_away
    });
    finish(simulate(&mut rack.command(0, "status", &[]), None)).ended_with(0);
    first.signal("KILL");
    eventually("the next one has its turn", || finish(&mut with_b(&rack, &[])).status == Some(0));
}

#[test]
fn a_check_ends_when_the_other_machine_does() {
    let mut rack = rack("rdma-dies", &[None, None]);
    let checking = start(&mut with_b(&rack, &[]));
    std::thread::sleep(Duration::from_millis(300));
    rack.daemons[1].process.signal("KILL");
    let finished = checking.finish();
    assert!(matches!(finished.status, Some(1 | 3)), "{finished:?}");
    assert!(finished.err.starts_with("gossamer: "), "{finished:?}");
    rack.daemons.clear();
    finish(&mut with_b(&rack, &[])).ended_with(3).said("cannot reach b");
}

#[test]
fn status_says_what_rdma_the_machines_have_and_what_joins_them() {
    let rack = rack("rdma-status", &[None, Some("none")]);
    let table = finish(simulate(&mut rack.command(0, "status", &[]), None));
    assert!(table.ended_with(0).out.contains("sim0:1 (192.0.2.1, fe80::1)"), "{table:?}");
    // In truth they are daemons of one machine.
    assert!(table.out.contains("a and b   shm     they are one machine"), "{table:?}");
    let mut command = rack.command(0, "status", &["--json"]);
    let all = json(finish(&mut command).ended_with(0));
    assert_eq!(all[0]["rdma"]["usable"], true);
    assert!(all[1]["rdma"]["error"].as_str().unwrap().starts_with("no RDMA device"), "{all}");
    assert_eq!(all[0]["joined"][0]["fabric"], "shm");
    let asked = json(finish(command.env("GOSSAMER_VERBS", "mlx5_0")).ended_with(0));
    assert!(asked[0]["rdma"]["error"].as_str().unwrap().contains("no RDMA port mlx5_0"), "{asked}");
    finish(command.env("GOSSAMER_VERBS_SL", "x")).ended_with(2).said("GOSSAMER_VERBS_SL");
}
