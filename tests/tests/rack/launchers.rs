//! The same program under every launcher: our own, the real Open MPI, and a real cluster of Slurm on this machine.

use crate::PROGRAM;
use integration_tests::{watched, with_rdma};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program of the workspace.
pub(crate) fn built(name: &str) -> PathBuf {
    let path = Path::new(PROGRAM).with_file_name(name);
    assert!(
        path.exists(),
        "{} is not built: `cargo test --workspace` or `cargo build --workspace` does",
        path.display()
    );
    path
}

fn is_root() -> bool {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() == 0 }
}

/// Whether programs are installed; if not, says so loudly.
fn installed(names: &[&str]) -> bool {
    let missing: Vec<_> = names
        .iter()
        .filter(|name| {
            let path = std::env::var("PATH").unwrap_or_default();
            let mut places = path.split(':').chain(["/usr/sbin", "/sbin"]);
            !places.any(|place| Path::new(place).join(name).exists())
        })
        .collect();
    if !missing.is_empty() {
        let _ = writeln!(std::io::stderr(), "\n!!! not tested: {missing:?} is not installed !!!\n");
    }
    missing.is_empty()
}

fn run(command: &mut Command) -> Output {
    // Without any variable of a launcher that runs this test.
    for (name, _) in std::env::vars() {
        if ["SLURM_", "OMPI_", "PMI", "GOSSAMER_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).env("GOSSAMER_START_SECONDS", "30").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_succeeds(command: &mut Command, expected: &str) {
    let output = run(command);
    assert!(output.status.success(), "{}: {}", output.status, text(&output.stderr));
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn our_own_launcher_starts_nodes_that_compute_together() {
    watched(|| {
        for (nodes, fabric) in [("1", "auto"), ("4", "shm"), ("3", "tcp"), ("3", "verbs")] {
            let mut command = Command::new(built("gossamer"));
            command.args(["run", "--local", nodes, "--threads", "2", "--no-prefix", "--", PROGRAM, "sum"]);
            command.env("GOSSAMER_FABRIC", fabric);
            assert_succeeds(with_rdma(&mut command), &format!("1090 digits, {nodes} processes\n"));
        }
    });
}

#[test]
fn word_count_counts_the_same_on_threads_and_on_nodes() {
    watched(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let files = ["LICENSE-APACHE", "ARCHITECTURE.md", "README.md"].map(|name| root.join(name));
        let program = built("word_count");
        let count = |command: &mut Command| {
            let output = run(command.args(["-n", "all"]).args(&files));
            assert!(output.status.success(), "{}", text(&output.stderr));
            text(&output.stdout)
        };
        let alone = count(Command::new(&program).env("GOSSAMER_THREADS", "1"));
        assert!(alone.lines().count() > 1000);
        assert_eq!(count(Command::new(&program).env("GOSSAMER_THREADS", "4")), alone);
        for fabric in ["auto", "tcp", "verbs"] {
            let mut command = Command::new(built("gossamer"));
            command.args(["run", "--local", "4", "--threads", "1", "--no-prefix", "--"]).arg(&program);
            command.env("GOSSAMER_FABRIC", fabric);
            assert_eq!(count(with_rdma(&mut command)), alone);
        }
    });
}

#[test]
fn our_own_launcher_lets_node_0_go_on_after_the_others() {
    watched(|| {
        let mut command = Command::new(built("gossamer"));
        command.args(["run", "--local", "3", "--no-prefix", "--", PROGRAM, "go on"]);
        assert_succeeds(&mut command, "node 0 has gone on\n");
    });
}

#[test]
fn our_own_launcher_reports_once_how_a_node_died() {
    watched(|| {
        let gossamer = built("gossamer");
        let launch = |what| run(Command::new(&gossamer).args(["run", "--local", "3", "--", PROGRAM, what]));
        let died = launch("die");
        assert_eq!(died.status.code(), Some(128 + 6), "{}", text(&died.stderr));
        let report = text(&died.stderr);
        assert!(report.contains("node 2") && report.contains("SIGABRT"), "{report}");
        assert_eq!(launch("exit").status.code(), Some(7));
        let panicked = launch("panic");
        assert_eq!(panicked.status.code(), Some(101));
        assert!(text(&panicked.stderr).contains("main panicked: as asked for"), "{}", text(&panicked.stderr));
    });
}

#[test]
fn open_mpi_starts_nodes() {
    if !installed(&["mpirun"]) {
        return;
    }
    watched(|| {
        let mpirun = |what: &str| {
            let mut command = Command::new("mpirun");
            command.args(["--allow-run-as-root", "--oversubscribe", "-n", "4", PROGRAM, what]);
            command
        };
        assert_succeeds(&mut mpirun("sum"), "1090 digits, 4 processes\n");
        let died = run(&mut mpirun("die"));
        assert!(!died.status.success() && died.status.signal().is_none());
        assert!(text(&died.stderr).contains("node 3 (process "), "{}", text(&died.stderr));
    });
}

#[test]
fn slurm_starts_nodes_on_one_and_on_two_of_its_machines() {
    if !installed(&["slurmctld", "slurmd", "srun", "munged", "unshare"]) {
        return;
    }
    if !is_root() {
        let _ = writeln!(std::io::stderr(), "\n!!! not tested: a cluster of Slurm needs root !!!\n");
        return;
    }
    watched(|| {
        let directory = std::env::temp_dir().join(format!("gossamer-slurm-{}", std::process::id()));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/slurm.sh");
        let srun = |arguments: &[&str], what: &str| {
            std::fs::create_dir_all(&directory).unwrap();
            let mut command = Command::new(&script);
            command.arg(&directory).arg("srun").args(arguments).args([PROGRAM, what]);
            command
        };
        assert_succeeds(&mut srun(&["-N", "1", "-n", "3"], "sum"), "1090 digits, 3 processes\n");
        assert_succeeds(&mut srun(&["-N", "2", "-n", "4"], "sum"), "1090 digits, 4 processes\n");
        let died = run(&mut srun(&["-N", "2", "-n", "3"], "die"));
        assert!(!died.status.success());
        assert!(text(&died.stderr).contains("node 2 (process "), "{}", text(&died.stderr));
        std::fs::remove_dir_all(&directory).unwrap();
    });
}
