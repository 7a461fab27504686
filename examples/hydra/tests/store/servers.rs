//! Servers of a test: hydra, alone or on a rack, and redis where it is installed.

use crate::client::Client;
use integration_tests::free_ports;
use std::io::{BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds that a server may take to start or to end.
const LIMIT: Duration = Duration::from_secs(120);

/// A process that does not outlive its test.
pub struct Server {
    child: Child,
    others: Vec<Child>,
    output: Option<BufReader<ChildStdout>>,
    pub address: String,
}

/// A directory that is removed after its test.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("hydra-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// hydra; only the test sets it up.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hydra"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GOSSAMER_") {
            command.env_remove(name);
        }
    }
    command.env("GOSSAMER_THREADS", "2").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    /// On two workers.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = command();
        Self::wait_for_address(command.args(["--port", "0"]).args(arguments).spawn().unwrap(), Vec::new())
    }

    /// Behind a few words of a shell, which `exec "$@"` ends.
    pub fn start_by(script: &str, arguments: &[&str]) -> Self {
        Self::wait_for_address(by_shell(script, arguments).spawn().unwrap(), Vec::new())
    }

    /// As a rack of nodes on this machine.
    pub fn start_rack(nodes: usize) -> Self {
        Self::start_rack_with(nodes, &[])
    }

    pub fn start_rack_with(nodes: usize, arguments: &[&str]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let token = format!("{:032x}{:032x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let addresses: Vec<_> = (0..nodes).map(|node| format!("unix:hydra-{token}-{node}")).collect();
        let mut nodes: Vec<_> = (0..nodes)
            .map(|node| {
                let mut command = command();
                command.args(["--port", "0"]).args(arguments).env("GOSSAMER_NODES", addresses.join(","));
                command.env("GOSSAMER_NODE", node.to_string()).env("GOSSAMER_TOKEN", &token).spawn().unwrap()
            })
            .collect();
        Self::wait_for_address(nodes.remove(0), nodes)
    }

    fn wait_for_address(mut child: Child, others: Vec<Child>) -> Self {
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").map(str::to_owned);
        let mut server = Self { child, others, output: Some(output), address: String::new() };
        match address {
            Some(address) => server.address = address,
            None => panic!("it does not listen: {}", server.errors()),
        }
        server
    }

    /// redis, if it is installed.
    pub fn start_redis(directory: &Directory) -> Option<Self> {
        let port = free_ports(Ipv4Addr::LOCALHOST, 1);
        let mut command = Command::new("redis-server");
        command.args([
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            directory.text(),
        ]);
        // Strings are compared byte by byte.
        command.env("LC_ALL", "C");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let address = format!("127.0.0.1:{port}");
        let server = Self { child, others: Vec::new(), output: None, address };
        let start = Instant::now();
        while std::net::TcpStream::connect(&server.address).is_err() {
            assert!(start.elapsed() < LIMIT, "redis does not start");
            thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.address)
    }

    /// Hundredths of a second for which its threads have run.
    pub fn processor_time(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // Behind the name, which is in brackets and may contain some.
        let fields = text.rsplit_once(") ").unwrap().1.split(' ');
        fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    /// Bytes.
    pub fn resident_memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Its report, once it has ended.
    pub fn errors(&mut self) -> String {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        errors
    }

    /// Asks it to end, and waits until it has ended.
    pub fn end(mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    pub fn signal(&self, name: &str) {
        self.signal_node(0, name);
    }

    pub fn signal_node(&self, node: usize, name: &str) {
        let child = if node == 0 { &self.child } else { &self.others[node - 1] };
        let number = child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &number]).status().unwrap().success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None => assert!(start.elapsed() < LIMIT, "it does not end"),
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends it like a crash.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in self.others.iter_mut().chain([&mut self.child]) {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn by_shell(script: &str, arguments: &[&str]) -> Command {
    let hydra = command();
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(hydra.get_program()).args(["--port", "0"]).args(arguments);
    for (name, value) in hydra.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Runs hydra where it cannot start; returns its report.
pub fn refused(arguments: &[&str]) -> String {
    report_of(command().args(arguments), 1)
}

/// The same, with a command line that says what cannot be.
pub fn misused(arguments: &[&str]) -> String {
    report_of(command().args(arguments), 2)
}

/// The same, as [`Server::start_by`] starts it.
pub fn refused_by(script: &str, arguments: &[&str]) -> String {
    report_of(&mut by_shell(script, arguments), 1)
}

pub fn misused_by(script: &str, arguments: &[&str]) -> String {
    report_of(&mut by_shell(script, arguments), 2)
}

/// Runs hydra where it cannot start; returns what it says before that.
pub fn output_of(arguments: &[&str]) -> String {
    let output = command().args(arguments).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn report_of(command: &mut Command, status: i32) -> String {
    let child = command.spawn().unwrap();
    let mut server = Server { child, others: Vec::new(), output: None, address: String::new() };
    assert_eq!(server.wait().code(), Some(status));
    server.errors()
}

pub fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}
