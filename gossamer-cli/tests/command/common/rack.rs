//! A rack on this machine: daemons on ports of their own.

use crate::common::{Finished, Scratch, Started, eventually, finish, gossamer, start};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

pub struct Rack {
    pub scratch: Scratch,
    pub machines: Vec<(String, u16)>,
    pub daemons: Vec<Daemon>,
}

pub struct Daemon {
    pub process: Started,
    log: Arc<Mutex<String>>,
}

/// A port that nobody has, below those that the kernel gives out.
pub fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (std::process::id() % 200) as u16 * 100 + next;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Rack {
    /// Machines `a`, `b`, … and their daemons.
    pub fn new(name: &str, machines: usize) -> Self {
        let mut rack = Self::without_daemons(name, machines);
        for index in 0..machines {
            let daemon = rack.start(index);
            rack.daemons.push(daemon);
        }
        rack
    }

    pub fn without_daemons(name: &str, machines: usize) -> Self {
        let scratch = Scratch::new(name);
        finish(&mut gossamer(&["keygen", scratch.path("key").to_str().unwrap()])).ended_with(0);
        let name = |index| char::from(b'a' + index as u8).to_string();
        let machines = (0..machines).map(|index| (name(index), port())).collect();
        let rack = Self { scratch, machines, daemons: Vec::new() };
        for index in 0..rack.machines.len() {
            rack.configure(index, "");
        }
        rack
    }

    /// Writes the configuration of a machine; `more` comes before the machines.
    pub fn configure(&self, index: usize, more: &str) {
        let (name, port) = &self.machines[index];
        let mut text = format!("key = \"key\"\nlisten = \"127.0.0.1:{port}\"\n{more}\n");
        if !more.contains("[cache]") {
            text += &format!("[cache]\ndirectory = \"cache-{name}\"\n");
        }
        for (name, port) in &self.machines {
            text += &format!("[[machine]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\n");
        }
        std::fs::write(self.config(index), text).unwrap();
    }

    pub fn config(&self, index: usize) -> PathBuf {
        self.scratch.path(&format!("{}.toml", self.machines[index].0))
    }

    pub fn start(&self, index: usize) -> Daemon {
        Daemon::start_listening(&mut self.command(index, "daemon", &[]))
    }

    /// `gossamer COMMAND --config … ARGUMENTS`
    pub fn command(&self, index: usize, command: &str, arguments: &[&str]) -> Command {
        let mut all = gossamer(&[command, "--config", self.config(index).to_str().unwrap()]);
        all.args(arguments);
        all
    }

    /// `gossamer run -n NODES -- sh -c SCRIPT`
    pub fn launch(&self, nodes: u32, script: &str) -> Command {
        self.command(0, "run", &["-n", &nodes.to_string(), "--", "/bin/sh", "-c", script])
    }

    pub fn ask(&self, command: &str, arguments: &[&str]) -> Finished {
        finish(&mut self.command(0, command, arguments))
    }

    /// The id of the one application that runs.
    pub fn application(&self) -> String {
        let mut found = String::new();
        eventually("an application runs", || {
            let list = self.ask("ps", &[]);
            found = list.out.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap_or("").to_owned();
            !found.is_empty()
        });
        found
    }
}

impl Daemon {
    /// Starts it, and waits until it listens.
    pub fn start_listening(command: &mut Command) -> Self {
        let daemon = Self::start(command);
        daemon.says("listens on");
        daemon
    }

    pub fn start(command: &mut Command) -> Self {
        let mut process = start(command);
        let (log, stderr) = (Arc::new(Mutex::new(String::new())), process.child().stderr.take().unwrap());
        let sink = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                *sink.lock().unwrap() += &(line.unwrap() + "\n");
            }
        });
        Self { process, log }
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn says(&self, text: &str) {
        eventually(text, || self.log().contains(text));
    }
}
