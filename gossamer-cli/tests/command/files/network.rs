//! `gossamer send` and `gossamer recv` between machines, which are network namespaces. Needs root and `ip`.

use crate::common::files::{all_well, assert_same, everything, noise, waiting};
use crate::common::network::Network;
use crate::common::{Started, eventually, simulate, start};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A transfer from `a` to `b`, by the key of the rack.
fn begin(network: &Network, from: &Path, to: &Path, options: &[&str]) -> (Started, Started) {
    begin_with(network, from, to, [&|sender| _ = sender.args(options), &|_| {}])
}

/// As `begin`; the sender and the receiver are prepared for it.
fn begin_with(
    network: &Network,
    from: &Path,
    to: &Path,
    prepare: [&dyn Fn(&mut Command); 2],
) -> (Started, Started) {
    let receive = ["--rack", "--listen", "0.0.0.0:7412", "--json", "--output", to.to_str().unwrap()];
    let send = ["--rack", "--to", "10.77.0.2:7412", "--json", from.to_str().unwrap()];
    let mut commands = [network.command("a", "send", &send), network.command("b", "recv", &receive)];
    commands.iter_mut().zip(prepare).for_each(|(command, prepare)| prepare(command));
    let [mut sender, mut receiver] = commands;
    let receiver = waiting(&mut receiver).started;
    (start(&mut sender), receiver)
}

fn end((sender, receiver): (Started, Started)) -> (crate::common::Finished, crate::common::Finished) {
    (sender.finish(), receiver.finish())
}

#[test]
fn files_go_from_machine_to_machine_over_one_port() {
    let Some(network) = Network::new("files") else { return };
    let (from, to) = (network.scratch.path("from"), network.scratch.path("to"));
    everything(&from);
    for (index, options) in [&[][..], &["--streams", "4"], &["--compress", "zstd"]].iter().enumerate() {
        let to = to.join(index.to_string());
        fs::create_dir_all(&to).unwrap();
        all_well(&end(begin(&network, &from, &to, options)));
        assert_same(&from, &to.join("from"));
    }
}

#[test]
fn files_go_by_tcp_where_the_devices_of_two_machines_do_not_reach_each_other() {
    const PORT: &str = "sim0 port=1 gid=1:v2:192.0.2.1";
    const ENDLESS: &str = "sim0 endless port=1 gid=1:v2:192.0.2.1";
    let Some(network) = Network::new("files-rdma") else { return };
    let (from, to) = (network.scratch.path("file"), network.scratch.path("to"));
    fs::write(&from, noise(2, 5 << 20)).unwrap();
    let transfer = |to: &Path, devices: [&str; 2], variables: [(&str, &str); 2]| {
        let [sender, receiver] = devices
            .map(|devices| move |command: &mut Command| _ = simulate(command, Some(devices)).envs(variables));
        fs::create_dir_all(to).unwrap();
        end(begin_with(&network, &from, to, [&sender, &receiver]))
    };
    for (index, devices) in
        [[PORT, PORT], [PORT, "denied"], ["none", PORT], [ENDLESS, ENDLESS]].iter().enumerate()
    {
        let to = to.join(index.to_string());
        all_well(&transfer(&to, *devices, [("GOSSAMER_FABRIC", "auto"), ("GOSSAMER_VERBS_RETRY", "7")]));
        assert_same(&from, &to.join("file"));
    }
    // Sealed data does not go by RDMA, even if nothing else may be used.
    let (sent, received) =
        transfer(&to, [PORT, PORT], [("GOSSAMER_FABRIC", "verbs"), ("GOSSAMER_VERBS_RETRY", "6")]);
    sent.ended_with(3).said("does not go by RDMA");
    received.ended_with(3).said("does not go by RDMA");
    assert!(!to.join("file").exists());
}

#[test]
fn a_cable_that_is_cut_ends_both_sides_and_the_next_run_goes_on() {
    let Some(network) = Network::new("files-cut") else { return };
    let (from, to) = (network.scratch.path("file"), network.scratch.path("to"));
    fs::write(&from, noise(1, 40 << 20)).unwrap();
    fs::create_dir(&to).unwrap();
    let both = begin(&network, &from, &to, &["--limit-rate", "4m"]);
    let part = to.join("file.gossamer-part");
    eventually("contents arrive", || fs::metadata(&part).is_ok_and(|part| part.len() > 4 << 20));
    network.ip("b", "link set eth0 down");
    let (sent, received) = end(both);
    sent.ended_with(75).said("the receiver was lost");
    received.ended_with(75).said("the sender was lost");
    network.ip("b", "link set eth0 up");
    let before = fs::metadata(&part).unwrap().len();
    let (sent, _) = all_well(&end(begin(&network, &from, &to, &[])));
    assert_eq!(sent["moved"], (40 << 20) - before);
    assert_same(&from, &to.join("file"));
}
