//! `gossamer stacks`, of programs that run, wait for each other, or are stopped.

use crate::common::{Finished, Started, finish, gossamer, signal, skipped, start};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::yield_now;

/// A directory of its own for the sockets of programs, so that those of other tests are not seen.
struct Programs(PathBuf);

impl Programs {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gossamer-stacks-{name}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).recursive(true).create(&path).unwrap();
        Self(path)
    }

    /// Starts so many nodes of the program for tests, which does this.
    fn run(&self, nodes: &str, fabric: &str, what: &str) -> Option<Started> {
        let program = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name("rack_program");
        if !program.exists() {
            skipped(&format!("{} is not built: `cargo build --workspace` does", program.display()));
            return None;
        }
        let program = program.to_str().unwrap();
        let arguments = ["run", "--local", nodes, "--threads", "1", "--fabric", fabric, "--", program, what];
        Some(start(gossamer(&arguments).env("XDG_RUNTIME_DIR", &self.0)))
    }

    fn stacks(&self, arguments: &[&str]) -> Finished {
        finish(gossamer(&[&["stacks"], arguments].concat()).env("XDG_RUNTIME_DIR", &self.0))
    }

    /// What the command says, once it says all of these.
    fn until_it_says(&self, texts: &[&str]) -> String {
        loop {
            let said = self.stacks(&[]).out;
            if texts.iter().all(|text| said.contains(text)) {
                return said;
            }
            yield_now();
        }
    }

    /// The processes that have a socket.
    fn processes(&self) -> Vec<u32> {
        let names = fs::read_dir(self.0.join("gossamer")).into_iter().flatten();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| name.strip_suffix(".sock").unwrap().parse().unwrap()).collect()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn fibers_of_all_nodes_are_shown_together_and_those_that_wait_for_each_other_are_named() {
    let programs = Programs::new("deadlock");
    for fabric in ["shm", "tcp"] {
        let Some(_running) = programs.run("4", fabric, "deadlock") else { return };
        let texts =
            ["node 0 of 4, ", "node 3 of 4, ", "deadlock, for at least", "4 fibers wait for each other"];
        let said = programs.until_it_says(&texts);
        assert_eq!(said.matches("holds a latch").count(), 2, "{said}");
        assert!(said.contains("rack_program.rs:"), "{said}");
        let json = programs.stacks(&["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.ended_with(0).out).unwrap();
        // Root sees those of other tests, too.
        let is_ours = |runtime: &&serde_json::Value| runtime["nodes"].as_array().unwrap().len() == 4;
        let ours = json.as_array().unwrap().iter().find(is_ours).unwrap();
        assert_eq!(ours["deadlocks"][0]["fibers"].as_array().unwrap().len(), 4, "{json}");
    }
}

#[test]
fn a_node_that_is_stopped_is_named_and_the_others_are_shown() {
    let programs = Programs::new("stopped");
    let Some(_running) = programs.run("2", "shm", "sleep") else { return };
    programs.until_it_says(&["node 0 of 2, ", "node 1 of 2, ", "in `sleep`"]);
    let stopped = programs.processes()[0];
    signal(stopped, "STOP");
    let said = programs.stacks(&[]);
    signal(stopped, "CONT");
    assert_eq!(said.status, Some(3), "{said:?}");
    assert!(said.err.contains(&format!("process {stopped} does not answer: it is stopped")), "{said:?}");
    assert!(said.out.contains(" of 2, process "), "{said:?}");
}

#[test]
fn where_there_is_no_program_it_says_so() {
    let programs = Programs::new("none");
    let said = programs.stacks(&["1"]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert!(said.err.contains("process 1 is no program of this user"), "{said:?}");
}
