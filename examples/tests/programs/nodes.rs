//! A program as several nodes of this machine, started and ended as a launcher does it.

use crate::child::{Ended, Watched, command};
use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStdout, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The processes of one application, the first of which is node 0. A single process is not a rack.
pub struct Nodes {
    pub processes: Vec<Watched>,
    output: BufReader<ChildStdout>,
}

impl Nodes {
    pub fn start(program: &str, count: usize, arguments: &[&str]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // The nodes of one application share a token, by which they also find each other on a machine.
        let token = format!("{:032x}{:032x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let addresses: Vec<_> = (0..count).map(|node| format!("unix:examples-{token}-{node}")).collect();
        let start = |node: usize| {
            let mut command = command(program);
            command.args(arguments).env("GOSSAMER_THREADS", "2");
            if count > 1 {
                command.env("GOSSAMER_NODES", addresses.join(",")).env("GOSSAMER_NODE", node.to_string());
                command.env("GOSSAMER_TOKEN", &token);
            }
            Watched::start(&mut command)
        };
        let mut processes: Vec<_> = (0..count).map(start).collect();
        let output = BufReader::new(processes[0].0.stdout.take().unwrap());
        Self { processes, output }
    }

    /// The next line that node 0 prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Where a server says that it listens.
    pub fn address(&mut self) -> String {
        let line = self.line();
        line.trim_end().strip_prefix("listening on ").expect("it says where it listens").to_owned()
    }

    /// Sends all nodes SIGTERM, and checks that they end well.
    pub fn end_by_sigterm(self) {
        self.end_by("TERM");
    }

    /// Sends all nodes a signal, and checks that they end well.
    pub fn end_by(mut self, signal: &str) {
        let numbers = self.processes.iter().map(|process| process.0.id().to_string());
        assert!(Command::new("kill").args(["-s", signal]).args(numbers).status().unwrap().success());
        assert_eq!(self.line(), format!("ended by SIG{signal}\n"));
        let ended = self.wait();
        assert_eq!((ended.status, ended.errors.as_str()), (Some(0), ""));
    }

    /// Waits for the end of all; returns the output of node 0, the errors of all, and the first status that is not 0.
    pub fn wait(mut self) -> Ended {
        let (mut output, mut errors, mut status) = (Vec::new(), String::new(), Some(0));
        self.output.read_to_end(&mut output).unwrap();
        for process in &mut self.processes {
            let own = process.wait().code();
            process.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            status = if status == Some(0) { own } else { status };
        }
        Ended { status, output, errors }
    }
}
