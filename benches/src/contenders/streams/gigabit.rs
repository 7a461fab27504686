//! A link of 1 Gbit/s between two network namespaces, which end with their processes. Needs root, `ip`, `nsenter` and `tc`.

use crate::partner::Partner;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

/// This end of the link, in the namespace of this process.
pub(super) struct Gigabit;

/// Set for the second process, whose end it is.
const SECOND: &str = "TABLE_SECOND";

impl Gigabit {
    /// Takes this process into a namespace of its own.
    pub(super) fn new() -> Self {
        // SAFETY: the call takes a number.
        let status = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(status, 0, "a network namespace needs root");
        Self
    }

    /// The address of this end.
    pub(super) fn address(&self) -> IpAddr {
        Ipv4Addr::new(10, 78, 0, 1).into()
    }

    /// Starts this program at the other end of the link.
    pub(super) fn start(&self, variables: &[(&str, String)]) -> Partner {
        let mut command = Command::new(std::env::current_exe().unwrap_or_else(|error| panic!("{error}")));
        command.args(std::env::args().skip(1)).stdin(Stdio::null()).stdout(Stdio::null());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        self.run(&mut command)
    }

    /// Starts a program at the other end of the link.
    pub(super) fn run(&self, command: &mut Command) -> Partner {
        let mut keeper = Command::new("unshare");
        // The namespace is there before the link is, and the program comes after it.
        keeper.args(["--net", "/bin/sh", "-c", "read go; exec \"$0\" \"$@\""]);
        keeper.arg(command.get_program()).args(command.get_args()).env(SECOND, "1");
        keeper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let (go, wait) =
            std::io::pipe().map(|(wait, go)| (go, wait)).unwrap_or_else(|error| panic!("{error}"));
        let partner = Partner::of(keeper.stdin(wait).stdout(Stdio::null()));
        self.connect(partner.id());
        drop(std::io::Write::write_all(&mut { go }, b"go\n"));
        partner
    }

    fn connect(&self, other: u32) {
        let own = std::fs::read_link("/proc/self/ns/net");
        let theirs = || std::fs::read_link(format!("/proc/{other}/ns/net"));
        while theirs().is_ok_and(|theirs| own.as_ref().is_ok_and(|own| *own == theirs)) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        run(&format!("ip link add gigabit type veth peer name gigabit netns {other}"));
        let limit = "tc qdisc add dev gigabit root tbf rate 1gbit burst 128kb latency 20ms";
        for (prefix, address) in [(String::new(), 1), (format!("nsenter -t {other} -n "), 2)] {
            run(&format!("{prefix}ip addr add 10.78.0.{address}/24 dev gigabit"));
            run(&format!("{prefix}ip link set gigabit up"));
            run(&format!("{prefix}ip link set lo up"));
            run(&format!("{prefix}{limit}"));
        }
    }
}

fn run(line: &str) {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    let done = command.args(words).stdout(Stdio::null()).status();
    assert!(done.is_ok_and(|status| status.success()), "{line}");
}
