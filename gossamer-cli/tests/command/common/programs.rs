//! Running programs that use the library, and that are inspected.

use crate::common::{Finished, Started, WATCHDOG, finish, gossamer, skipped, start};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::yield_now;
use std::time::Instant;

/// A directory for the sockets of these programs only, so that programs of other tests are not seen.
pub struct Programs(PathBuf);

impl Programs {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gossamer-stacks-{name}-{}", std::process::id()));
        DirBuilder::new().mode(0o700).recursive(true).create(&path).unwrap();
        Self(path)
    }

    /// Starts this many nodes of the program for tests; the argument says what they do.
    pub fn run(&self, nodes: &str, fabric: &str, what: &str) -> Option<Started> {
        self.run_with(nodes, "1", fabric, &[what])
    }

    /// The same, with this many workers for each, and with arguments.
    pub fn run_with(&self, nodes: &str, workers: &str, fabric: &str, arguments: &[&str]) -> Option<Started> {
        let program = rack_program()?;
        let command = ["run", "--local", nodes, "--threads", workers, "--fabric", fabric, "--", &program];
        Some(start(gossamer(&[&command, arguments].concat()).env("XDG_RUNTIME_DIR", &self.0)))
    }

    /// The variable for the directory of the sockets.
    pub fn directory(&self) -> &Path {
        &self.0
    }

    /// What a command says about them.
    pub fn ask(&self, command: &str, arguments: &[&str]) -> Finished {
        finish(gossamer(&[&[command], arguments].concat()).env("XDG_RUNTIME_DIR", &self.0))
    }

    /// What `gossamer stacks` says about these programs. Root sees programs of others, too, which may be ending, or have
    /// another version.
    pub fn stacks(&self, options: &[&str]) -> Finished {
        let processes: Vec<String> = self.processes().iter().map(u32::to_string).collect();
        let processes = processes.iter().map(String::as_str);
        self.ask("stacks", &options.iter().copied().chain(processes).collect::<Vec<_>>())
    }

    /// What `gossamer stacks` says about these programs, once it says all of this.
    #[track_caller]
    pub fn until_it_says(&self, texts: &[&str]) -> String {
        let begin = Instant::now();
        loop {
            let said = if self.processes().is_empty() { String::new() } else { self.stacks(&[]).out };
            if texts.iter().all(|text| said.contains(text)) {
                return said;
            }
            assert!(begin.elapsed() < WATCHDOG, "{texts:?} was never said, at last this:\n{said}");
            yield_now();
        }
    }

    /// The processes that have a socket. While it is opened it has another name.
    pub fn processes(&self) -> Vec<u32> {
        let names = fs::read_dir(self.0.join("gossamer")).into_iter().flatten();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter_map(|name| Some(name.strip_suffix(".sock")?.parse().unwrap())).collect()
    }
}

/// The program for tests, if it was built.
pub fn rack_program() -> Option<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name("rack_program");
    if !program.exists() {
        skipped(&format!("{} is not built: `cargo build --workspace` does", program.display()));
        return None;
    }
    Some(program.to_str().unwrap().to_owned())
}

impl Drop for Programs {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
