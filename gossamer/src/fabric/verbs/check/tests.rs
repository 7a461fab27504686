//! Tests of checks over a device, simulated or real: two machines in one process.

use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::check::report::{LockedMemory, RdmaReport};
use crate::fabric::verbs::check::session::{PairReport, RdmaCheck, port_pairs};
use crate::fabric::verbs::choice::settings::{PortSelector, VerbsSettings};
use crate::fabric::verbs::context::DeviceList;
use std::thread;

const NAMES: [&str; 2] = ["a", "b"];

fn report(settings: &VerbsSettings) -> RdmaReport {
    let list = DeviceList::of(Verbs::of_tests()).unwrap();
    let locked_memory = LockedMemory { limit: None, is_exempt: false };
    RdmaReport { locked_memory, ..RdmaReport::of(&list, settings) }
}

/// Both sides of a check, each with a queue pair.
fn both() -> [RdmaCheck; 2] {
    let (settings, own) = (VerbsSettings::default(), report(&VerbsSettings::default()));
    [0, 1].map(|end| {
        let list = DeviceList::of(Verbs::of_tests()).unwrap();
        let pairs = port_pairs([&own, &own], NAMES).unwrap();
        RdmaCheck::new(&list, &settings, pairs, end).unwrap()
    })
}

/// Both sides, ready to measure.
fn connected() -> [RdmaCheck; 2] {
    let mut sides = both();
    let [ours, theirs] = &mut sides;
    let (one, other) = (ours.offer(0).unwrap(), theirs.offer(0).unwrap());
    ours.receive(&other).unwrap();
    theirs.receive(&one).unwrap();
    ours.probe().unwrap();
    theirs.probe().unwrap();
    sides
}

/// Whether a write was not acknowledged. On a slow machine, a software device may be slow to give up.
fn is_silence(why: &str) -> bool {
    why.contains(": WRITE: retries exceeded")
        || !Verbs::tests_are_simulated() && why.contains(": WRITE: no answer in time")
}

#[test]
fn two_sides_measure_round_trips_and_both_rates() {
    let [mut ours, mut theirs] = connected();
    let answering = thread::spawn(move || (theirs.answer(), theirs.rate(), theirs));
    let round_trips = ours.round_trips().unwrap();
    assert!(round_trips.count > 0 && round_trips.median <= round_trips.percentile_99, "{round_trips:?}");
    assert!(ours.rate().unwrap() > 0);
    let (answered, rate, _theirs) = answering.join().unwrap();
    assert_eq!(answered, Ok(round_trips.count as u64));
    assert!(rate.unwrap() > 0);
}

#[test]
fn a_side_that_is_gone_is_noticed() {
    let [mut ours, theirs] = connected();
    drop(theirs);
    let why = ours.round_trips().unwrap_err();
    assert!(why.starts_with("RDMA device ") && is_silence(&why), "{why}");
}

#[test]
fn a_side_that_was_never_there_is_told_with_what_to_look_at() {
    let [mut ours, mut theirs] = both();
    ours.offer(0).unwrap();
    let other = theirs.offer(0).unwrap();
    ours.receive(&other).unwrap();
    drop(theirs);
    let why = ours.probe().unwrap_err();
    assert!(is_silence(&why), "{why}");
    assert!(why.contains("UDP port 4791"), "{why}");
}

#[test]
fn steps_out_of_order_and_pairs_that_are_none_are_refused() {
    let [mut ours, _] = both();
    assert!(ours.probe().is_err() && ours.rate().is_err() && ours.answer().is_err());
    assert!(ours.offer(7).unwrap_err().contains("no such pair"));
    let own = ours.offer(0).unwrap();
    assert!(ours.rate().is_err(), "it is not connected");
    ours.receive(&own).unwrap();
}

#[test]
fn a_report_has_the_devices_with_what_is_used_of_them() {
    let found = report(&VerbsSettings::default());
    let device = &found.devices[0];
    let opened = device.opened.as_ref().unwrap();
    assert!(opened.queue_pairs > 0 && opened.work_requests > 0 && opened.completion_entries > 0);
    let port = &opened.ports[0];
    assert_eq!((port.port, port.state.as_str(), port.link_layer.as_str()), (1, "active", "Ethernet"));
    let used: Vec<_> = port.gids.iter().filter(|gid| gid.is_used).collect();
    assert!(!used.is_empty() && used.iter().all(|gid| gid.kind == "RoCE v2"));
    assert_eq!(port.unused, None);
    if Verbs::tests_are_simulated() {
        assert_eq!((device.name.as_str(), port.mtu, used.len()), ("sim0", 1024, 2));
        assert_eq!(found.ports(), ["sim0:1 (192.0.2.1, fe80::1)"]);
    }
}

#[test]
fn a_port_that_is_not_asked_for_or_cannot_be_used_says_why() {
    let asking = |device: &str| VerbsSettings {
        ports: vec![PortSelector { device: device.into(), port: None }],
        ..Default::default()
    };
    let found = report(&asking("mlx5_0"));
    let unused = |found: &RdmaReport| found.devices[0].opened.as_ref().unwrap().ports[0].unused.clone();
    assert_eq!(unused(&found).unwrap(), "GOSSAMER_VERBS does not name it");
    let trouble = found.trouble().unwrap();
    assert!(trouble.why.contains("there is no RDMA port mlx5_0"), "{}", trouble.why);
    assert!(trouble.advice.contains("unset it"));
    let wrong = report(&VerbsSettings { gid: Some(99), ..Default::default() });
    assert!(unused(&wrong).unwrap().contains("has no GID of this index"));
    assert!(wrong.trouble().unwrap().advice.starts_with("correct the index"));
}

#[test]
fn two_machines_are_joined_by_pairs_of_ports_or_it_is_said_which_has_none() {
    let own = report(&VerbsSettings::default());
    let pairs = port_pairs([&own, &own], NAMES).unwrap();
    let pair = PairReport::of(&pairs[0]);
    let opened = own.devices[0].opened.as_ref().unwrap();
    assert_eq!(pair.ports, [format!("{}:1", own.devices[0].name), format!("{}:1", own.devices[0].name)]);
    assert!(opened.ports[0].gids.iter().any(|gid| gid.is_used && gid.address == pair.addresses[0]));
    assert_eq!((&pair.addresses[0], pair.mtu), (&pair.addresses[1], opened.ports[0].mtu));
    let none = report(&VerbsSettings { gid: Some(99), ..Default::default() });
    let why = port_pairs([&own, &none], NAMES).unwrap_err();
    assert!(why.starts_with("b: no RDMA port can be used"), "{why}");
}

#[test]
fn a_limit_of_locked_memory_that_no_node_can_live_with_is_told() {
    let own = RdmaReport {
        locked_memory: LockedMemory { limit: Some(65536), is_exempt: false },
        ..report(&VerbsSettings::default())
    };
    let trouble = own.trouble().unwrap();
    assert!(trouble.why.starts_with("only 65536 bytes of memory may be locked"), "{}", trouble.why);
    assert!(trouble.advice.contains("ulimit -l"));
    for locked_memory in [
        LockedMemory { limit: Some(65536), is_exempt: true },
        LockedMemory { limit: None, is_exempt: false },
        LockedMemory { limit: Some(8 << 20), is_exempt: false },
    ] {
        assert_eq!(RdmaReport { locked_memory, ..own.clone() }.trouble(), None);
    }
}
