//! `word_count`: its counts against those of the coreutils, what it does with all kinds of inputs, and what it shows.

mod counts;
mod inputs;
mod shows;

use crate::child::{Ended, command, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Where each test has a directory of its own.
const DIRECTORIES: &str = env!("CARGO_TARGET_TMPDIR");

/// The program with these arguments.
fn word_count<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_word_count"));
    command.args(arguments);
    command
}

/// All counts of some files.
fn all_counts(files: &[PathBuf], threads: &str) -> Ended {
    run(word_count(["--top", "all", "--threads", threads]).args(files))
}

/// All counts of some files, by the pipeline that the help of the program shows.
fn pipeline(files: &[PathBuf]) -> Vec<u8> {
    let help = String::from_utf8(run(&mut word_count(["--help"])).well()).unwrap();
    let lines = help.lines().skip_while(|line| !line.contains("export LC_ALL=C"));
    let lines: Vec<&str> = lines.take_while(|line| line.is_empty() || line.starts_with(' ')).collect();
    let script = lines.join("\n").replace("FILES", "\"$@\"").replace("| head -n 20", "");
    run(command("sh").args(["-c", &script, "pipeline"]).args(files)).well()
}

/// A file with these bytes, of the test `test`.
fn file(test: &str, name: &str, bytes: &[u8]) -> PathBuf {
    let directory = Path::new(DIRECTORIES).join(test);
    fs::create_dir_all(&directory).unwrap();
    let (path, written) =
        (directory.join(name), directory.join(format!("{name}.{:?}", thread::current().id())));
    // In one step: tests of the same name share it.
    fs::write(&written, bytes).unwrap();
    fs::rename(written, &path).unwrap();
    path
}

/// Text that every Debian machine has: the licences, and who holds the rights in what is installed.
fn text_of_this_machine() -> Vec<PathBuf> {
    let list = |directory| fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let licences = list("/usr/share/common-licenses");
    let copyrights = list("/usr/share/doc").map(|path| path.join("copyright"));
    let mut files: Vec<PathBuf> = licences.chain(copyrights).filter(|path| path.is_file()).collect();
    files.sort();
    files.truncate(300);
    assert!(!files.is_empty(), "there is no text in /usr/share: this machine is no Debian");
    files
}

/// Bytes that look random, the same in each run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}
