//! A rack whose machines are network namespaces, joined by a switch: what happens when machines, daemons, nodes and links
//! between them fail. Needs root and `ip`.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;
#[path = "common/rack.rs"]
mod rack;

use common::{Scratch, Started, eventually, finish, gossamer, is_alive, read_numbers, start, write_script};
use rack::Daemon;
use std::process::{Command, Stdio};

/// The machines; the address of the first ends in 1.
const MACHINES: [&str; 3] = ["a", "b", "c"];

struct Network {
    name: String,
    scratch: Scratch,
    daemons: Vec<Daemon>,
}

fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Network {
    /// Nothing, if this is not possible here.
    fn new(test: &str) -> Option<Self> {
        let name = format!("gossamer-{}-{test}", std::process::id());
        if !rustix::process::geteuid().is_root() || !ip(&format!("netns add {name}-switch")) {
            common::skipped(&format!("network namespaces need root and `ip`: {test}"));
            return None;
        }
        let scratch = Scratch::new(&format!("namespaces-{test}"));
        let mut network = Self { name, scratch, daemons: Vec::new() };
        network.connect();
        finish(&mut gossamer(&["keygen", network.scratch.path("key").to_str().unwrap()])).ended_with(0);
        for index in 0..MACHINES.len() {
            network.configure(index, "key");
            let daemon = network.start(index);
            network.daemons.push(daemon);
        }
        Some(network)
    }

    fn connect(&self) {
        let name = &self.name;
        let done = |arguments: &str| assert!(ip(arguments), "ip {arguments}");
        done(&format!("-n {name}-switch link add switch type bridge"));
        done(&format!("-n {name}-switch link set switch up"));
        for (index, machine) in MACHINES.iter().enumerate() {
            done(&format!("netns add {name}-{machine}"));
            done(&format!(
                "-n {name}-switch link add to-{machine} type veth peer name eth0 netns {name}-{machine}"
            ));
            done(&format!("-n {name}-switch link set to-{machine} master switch up"));
            done(&format!("-n {name}-{machine} link set lo up"));
            done(&format!("-n {name}-{machine} addr add 10.77.0.{}/24 dev eth0", index + 1));
            done(&format!("-n {name}-{machine} link set eth0 up"));
        }
    }

    fn configure(&self, index: usize, key: &str) {
        let machine = MACHINES[index];
        let mut text = format!("key = \"{key}\"\n[cache]\ndirectory = \"cache-{machine}\"\n");
        for (index, name) in MACHINES.iter().enumerate() {
            text += &format!("[[machine]]\nname = \"{name}\"\naddress = \"10.77.0.{}:7411\"\n", index + 1);
        }
        std::fs::write(self.scratch.path(&format!("{machine}.toml")), text).unwrap();
    }

    /// `ip` in the namespace of a machine.
    fn ip(&self, machine: &str, arguments: &str) {
        assert!(ip(&format!("-n {}-{machine} {arguments}", self.name)), "{arguments}");
    }

    /// `gossamer COMMAND` on a machine.
    fn command(&self, machine: &str, command: &str, arguments: &[&str]) -> Command {
        let mut all = Command::new("ip");
        all.args([
            "netns",
            "exec",
            &format!("{}-{machine}", self.name),
            env!("CARGO_BIN_EXE_gossamer"),
            command,
        ]);
        all.arg("--config").arg(self.scratch.path(&format!("{machine}.toml"))).args(arguments);
        all.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        all
    }

    fn start(&self, index: usize) -> Daemon {
        let daemon = Daemon::start(&mut self.command(MACHINES[index], "daemon", &[]));
        daemon.says("listens on");
        daemon
    }

    /// Launched on `a`, with one node on each machine.
    fn launch(&self, script: &str) -> Command {
        self.command("a", "run", &["--", "/bin/bash", "-c", script])
    }

    /// An application that goes on until it is ended, and its nodes' processes.
    fn lasting(&self) -> (Started, Vec<u32>) {
        let mut started = start(&mut self.launch("echo $GOSSAMER_NODE $$; exec sleep 1000"));
        let nodes = read_numbers(started.child(), MACHINES.len());
        (started, nodes)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.daemons.clear();
        for machine in MACHINES.iter().chain(&["switch"]) {
            ip(&format!("netns del {}-{machine}", self.name));
        }
    }
}

#[track_caller]
fn all_end(nodes: &[u32]) {
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}

#[test]
fn nodes_on_different_machines_reach_each_other() {
    let Some(network) = Network::new("reach") else { return };
    // Each has a listening socket before any of them runs, so that nobody has to wait or to try again.
    // Nor does anybody leave before all are done.
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
    common::signal(nodes[2], "KILL");
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
    // Nothing more is said to the launcher, not even that the connection is gone.
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
    other.says("refused 10.77.0.1: it does not know the rack's key");
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
    // On `c` the program has another content under its name and hash.
    for file in std::fs::read_dir(network.scratch.path("cache-c")).unwrap() {
        write_script(&file.unwrap().path(), "#!/bin/sh\necho wrong\n");
    }
    run("a", "one");
    run("b", "two");
    run("c", "one");
}

/// A real program of the workspace, not a script, if it is built.
fn program(name: &str) -> Option<String> {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name(name);
    if !path.exists() {
        common::skipped(&format!("{} is not built: `cargo build --workspace` does", path.display()));
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

#[test]
fn a_real_program_computes_on_all_machines() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::new("real") else { return };
    for nodes in ["3", "5"] {
        let arguments = ["-n", nodes, "--threads", "2", "--no-prefix", "--", &program, "sum"];
        let finished = finish(&mut network.command("a", "run", &arguments));
        assert_eq!(finished.ended_with(0).out, format!("1090 digits, {nodes} processes\n"));
    }
}

#[test]
fn a_node_of_a_real_program_that_loses_its_link_ends_all() {
    let Some(program) = program("rack_program") else { return };
    let Some(network) = Network::new("cut") else { return };
    let mut command = network.command("a", "run", &["-n", "3", "--no-prefix", "--", &program, "sleep"]);
    command.env("GOSSAMER_SILENCE_SECONDS", "3");
    let mut started = start(&mut command);
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(started.child().stdout.as_mut().unwrap()),
        &mut line,
    )
    .unwrap();
    assert_eq!(line, "3 nodes are up\n");
    network.ip("c", "link set eth0 down");
    started.finish().ended_with(75).said("node 2 on c");
    network.ip("c", "link set eth0 up");
}
