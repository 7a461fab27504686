//! A rack whose machines are network namespaces, joined by a switch. Needs root and `ip`.

use crate::common::middle::{self, Middle};
use crate::common::rack::Daemon;
use crate::common::{self, Scratch, Started, eventually, finish, gossamer, is_alive, read_numbers, start};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The machines; the address of the first ends in 1.
pub const MACHINES: [&str; 3] = ["a", "b", "c"];

pub struct Network {
    name: String,
    middle: Option<Middle>,
    pub scratch: Scratch,
    pub daemons: Vec<Daemon>,
}

/// The port of the daemons.
const DAEMON: u16 = 7411;

pub fn address(machine: &str) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, machine.as_bytes()[0] - b'a' + 1)
}

fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Network {
    /// Nothing, if this is not possible here.
    pub fn new(test: &str) -> Option<Self> {
        Self::build(test, false)
    }

    /// As `new`, but what the last machine sends and receives goes through a machine in the middle.
    pub fn with_middle(test: &str) -> Option<Self> {
        Self::build(test, true)
    }

    fn build(test: &str, with_middle: bool) -> Option<Self> {
        let name = format!("gossamer-{}-{test}", std::process::id());
        if !rustix::process::geteuid().is_root() || !ip(&format!("netns add {name}-switch")) {
            common::skipped(&format!("network namespaces need root and `ip`: {test}"));
            return None;
        }
        let scratch = Scratch::new(&format!("namespaces-{test}"));
        let mut network = Self { name, middle: None, scratch, daemons: Vec::new() };
        network.done("-switch link add switch type bridge");
        network.done("-switch link set switch up");
        let (last, others) = MACHINES.split_last().unwrap();
        for machine in MACHINES {
            network.add(machine);
        }
        for machine in others {
            network.join(machine, "switch", &[address(machine)]);
        }
        if with_middle {
            network.put_between(last, others);
        } else {
            network.join(last, "switch", &[address(last)]);
        }
        finish(&mut gossamer(&["keygen", network.scratch.path("key").to_str().unwrap()])).ended_with(0);
        for index in 0..MACHINES.len() {
            network.configure(index, "key");
            let daemon = network.start(index);
            network.daemons.push(daemon);
        }
        Some(network)
    }

    /// `ip -n NAME…`
    fn done(&self, arguments: &str) {
        assert!(ip(&format!("-n {}{arguments}", self.name)), "ip -n {arguments}");
    }

    fn add(&self, machine: &str) {
        assert!(ip(&format!("netns add {}-{machine}", self.name)), "{machine}");
        self.done(&format!("-{machine} link set lo up"));
    }

    /// Gives addresses to a machine, on a cable to the switch or to another machine.
    fn join(&self, machine: &str, to: &str, addresses: &[Ipv4Addr]) {
        let name = &self.name;
        self.done(&format!("-{to} link add to-{machine} type veth peer name eth0 netns {name}-{machine}"));
        let master = if to == "switch" { "master switch " } else { "" };
        self.done(&format!("-{to} link set to-{machine} {master}up"));
        for address in addresses {
            self.done(&format!("-{machine} addr add {address}/24 dev eth0"));
        }
        self.done(&format!("-{machine} link set eth0 up"));
    }

    /// `before` shows the addresses of the others to the last machine, `behind` shows that of the last machine to the
    /// others.
    fn put_between(&mut self, last: &str, others: &[&str]) {
        let others: Vec<Ipv4Addr> = others.iter().map(|machine| address(machine)).collect();
        self.add("before");
        self.add("behind");
        self.join("before", last, &others);
        self.join("behind", "switch", &[address(last)]);
        // A cable has two ends; this is the machine's.
        self.done(&format!("-{last} addr add {}/24 dev to-before", address(last)));
        let namespace = |machine: &str| PathBuf::from(format!("/run/netns/{}-{machine}", self.name));
        for machine in MACHINES {
            middle::few_ports(&namespace(machine));
        }
        let sides = [(namespace("before"), others), (namespace("behind"), vec![address(last)])];
        self.middle = Some(Middle::start(sides, DAEMON));
    }

    /// The machine in the middle, if there is one.
    pub fn middle(&self) -> &Middle {
        self.middle.as_ref().unwrap()
    }

    pub fn configure(&self, index: usize, key: &str) {
        let machine = MACHINES[index];
        let mut text = format!("key = \"{key}\"\n[cache]\ndirectory = \"cache-{machine}\"\n");
        for name in MACHINES {
            text += &format!("[[machine]]\nname = \"{name}\"\naddress = \"{}:{DAEMON}\"\n", address(name));
        }
        std::fs::write(self.scratch.path(&format!("{machine}.toml")), text).unwrap();
    }

    /// `ip` in the namespace of a machine.
    pub fn ip(&self, machine: &str, arguments: &str) {
        assert!(ip(&format!("-n {}-{machine} {arguments}", self.name)), "{arguments}");
    }

    /// `gossamer COMMAND` on a machine.
    pub fn command(&self, machine: &str, command: &str, arguments: &[&str]) -> Command {
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

    pub fn start(&self, index: usize) -> Daemon {
        Daemon::start_listening(&mut self.command(MACHINES[index], "daemon", &[]))
    }

    /// Restarts all daemons, with these simulated RDMA devices.
    pub fn simulate(&mut self, devices: [&str; 3]) {
        self.daemons.clear();
        for (machine, devices) in MACHINES.iter().zip(devices) {
            let mut command = self.command(machine, "daemon", &[]);
            self.daemons.push(Daemon::start_listening(common::simulate(&mut command, Some(devices))));
        }
    }

    /// Launches on `a`, with one node on each machine.
    pub fn launch(&self, script: &str) -> Command {
        self.command("a", "run", &["--", "/bin/bash", "-c", script])
    }

    /// An application that runs until it is ended, and the processes of its nodes.
    pub fn lasting(&self) -> (Started, Vec<u32>) {
        let mut started = start(&mut self.launch("echo $GOSSAMER_NODE $$; exec sleep 1000"));
        let nodes = read_numbers(started.child(), MACHINES.len());
        (started, nodes)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = MACHINES.iter().zip(&self.daemons);
            logs.for_each(|(machine, daemon)| eprintln!("the daemon of {machine} said:\n{}", daemon.log()));
        }
        self.daemons.clear();
        let middle: &[&str] = if self.middle.take().is_some() { &["before", "behind"] } else { &[] };
        for machine in MACHINES.iter().chain(&["switch"]).chain(middle) {
            ip(&format!("netns del {}-{machine}", self.name));
        }
    }
}

#[track_caller]
pub fn all_end(nodes: &[u32]) {
    eventually("all nodes end", || !nodes.iter().any(|&node| is_alive(node)));
}
