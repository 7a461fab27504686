//! What tests of the command share: starting it, under a watchdog.

pub mod files;
pub mod middle;
pub mod network;
pub mod programs;
pub mod rack;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// After this time, a test fails instead of hanging.
pub const WATCHDOG: Duration = Duration::from_secs(120);

/// `gossamer` with these arguments, all streams piped.
pub fn gossamer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gossamer"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // On a busy machine, long computations are expected here and need no report.
    command.env("GOSSAMER_BLOCKED_MILLISECONDS", "0");
    command
}

/// `gossamer run --local NODES -- sh -c SCRIPT`
pub fn local(nodes: u32, script: &str) -> Command {
    gossamer(&["run", "--local", &nodes.to_string(), "--", "/bin/sh", "-c", script])
}

/// Gives the simulated RDMA device to a command, with this configuration; without one it is `sim0`, with a RoCE port.
pub fn simulate<'a>(command: &'a mut Command, devices: Option<&str>) -> &'a mut Command {
    let library = std::env::current_exe().unwrap().with_file_name("libverbs_sim.so");
    command.env("LD_PRELOAD", library).envs(devices.map(|devices| ("VERBS_SIM", devices)))
}

/// A process that is killed if the test ends before it does, or takes too long.
pub struct Started {
    child: Option<Child>,
    /// Tells the watchdog that it has ended.
    _alive: mpsc::Sender<()>,
}

impl Started {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    /// Waits for the end and for all output.
    pub fn finish(mut self) -> Finished {
        let child = self.child.take().unwrap();
        let pid = child.id();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(child.wait_with_output()));
        let Ok(output) = told.recv_timeout(WATCHDOG) else {
            signal(pid, "KILL");
            let said = told.recv_timeout(WATCHDOG).map(|output| Finished::from(output.unwrap()));
            panic!("`gossamer` did not end: {said:?}");
        };
        Finished::from(output.unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

pub fn start(command: &mut Command) -> Started {
    let child = command.spawn().unwrap();
    let pid = child.id();
    let (alive, ended) = mpsc::channel();
    std::thread::spawn(move || {
        // Its readers then see the end of the output.
        if ended.recv_timeout(2 * WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
            signal(pid, "KILL");
        }
    });
    Started { child: Some(child), _alive: alive }
}

pub fn finish(command: &mut Command) -> Finished {
    start(command).finish()
}

/// How a command ended.
#[derive(Debug)]
pub struct Finished {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into(),
            err: String::from_utf8_lossy(&output.stderr).into(),
        }
    }
}

impl Finished {
    /// The lines of standard output, in alphabetical order.
    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }

    #[track_caller]
    pub fn ended_with(&self, status: i32) -> &Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    #[track_caller]
    pub fn said(&self, text: &str) -> &Self {
        assert!(self.err.contains(text), "no {text:?} in {self:?}");
        self
    }

    #[track_caller]
    pub fn was_quiet(&self) -> &Self {
        assert_eq!(self.err, "", "{self:?}");
        self
    }
}

pub fn signal(pid: u32, name: &str) {
    Command::new("/bin/sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    if name == "STOP" {
        // Until its first thread runs, which may be late on a busy machine, the others go on.
        eventually("it is stopped", || !is_alive(pid) || is_stopped(pid));
    }
}

/// Whether a process exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

pub fn is_stopped(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:\tT")
}

#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < WATCHDOG, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Reads lines that are numbers, one for each of this many nodes.
pub fn read_numbers(child: &mut Child, count: usize) -> Vec<u32> {
    let out = child.stdout.as_mut().unwrap();
    let (mut text, mut byte) = (String::new(), [0]);
    while text.lines().count() < count || !text.ends_with('\n') {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the output ended after {text:?}");
        text.push(char::from(byte[0]));
    }
    text.lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
}

/// Says that something is not tried here, even if the output of tests is captured.
pub fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "\n!!! SKIPPED: {what} !!!\n");
}

/// Writes an executable script.
pub fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A directory that is removed at the end of the test.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gossamer-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

/// A pipe with a name, from which a script reads a line when it is to go on.
pub fn fifo(scratch: &Scratch) -> std::path::PathBuf {
    let fifo = scratch.path("wait");
    finish(Command::new("mkfifo").arg(&fifo)).ended_with(0);
    fifo
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
