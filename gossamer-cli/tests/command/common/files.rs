//! What tests of `send` and `recv` share: a receiver that waits, files of every kind, and an oracle.

use crate::common::{Finished, Started, finish, gossamer, start};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A receiver that waits for its sender.
pub struct Waiting {
    pub started: Started,
    pub address: String,
    pub code: String,
}

/// `gossamer recv` into this directory.
pub fn recv(output: &Path, options: &[&str]) -> Waiting {
    let mut command = gossamer(&["recv", "--listen", "127.0.0.1:0", "--json", "--output"]);
    waiting(command.arg(output).args(options))
}

/// Starts a receiver and reads what it says first.
pub fn waiting(command: &mut Command) -> Waiting {
    let mut started = start(command);
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        let error = started.child().stderr.as_mut().unwrap();
        assert_eq!(error.read(&mut byte).unwrap(), 1, "the receiver said only {line:?}");
        line.push(byte[0]);
    }
    let said: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(said["event"], "waiting", "{said}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Waiting { started, address: text(&said["address"]), code: text(&said["code"]) }
}

impl Waiting {
    /// `gossamer send` to this receiver.
    pub fn sender(&self, files: &[&Path], options: &[&str]) -> Command {
        let mut command = gossamer(&["send", "--json", "--to", &self.address, "--code", &self.code]);
        command.args(files).args(options);
        command
    }

    /// Sends, and waits for both commands.
    pub fn transfer(self, files: &[&Path], options: &[&str]) -> (Finished, Finished) {
        let sender = finish(&mut self.sender(files, options));
        // A receiver whose sender has failed may wait for another one: then this tells why.
        eprintln!("the sender: {sender:?}");
        (sender, self.started.finish())
    }
}

/// Sends files into a directory.
pub fn transfer(files: &[&Path], output: &Path, receive: &[&str], send: &[&str]) -> (Finished, Finished) {
    recv(output, receive).transfer(files, send)
}

/// Checks that everything went well on both sides; returns what was said last.
#[track_caller]
pub fn all_well((sender, receiver): &(Finished, Finished)) -> (Value, Value) {
    sender.ended_with(0);
    receiver.ended_with(0);
    (event(sender, "done"), event(receiver, "done"))
}

/// The last event of this kind.
#[track_caller]
pub fn event(finished: &Finished, kind: &str) -> Value {
    let mut events = finished.err.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.rfind(|event| event["event"] == kind).unwrap_or_else(|| panic!("no {kind} in {finished:?}"))
}

/// Bytes that look random, and are the same each time.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A file with contents here and there, and with holes between them and at its end.
pub fn sparse(path: &Path, length: u64, places: &[u64]) {
    let mut file = File::create(path).unwrap();
    for &place in places {
        file.seek(SeekFrom::Start(place)).unwrap();
        file.write_all(&noise(place, 10_000)).unwrap();
    }
    file.set_len(length).unwrap();
}

/// Files, directories and links of every kind.
pub fn everything(root: &Path) {
    let block = 2 << 20;
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    for (index, size) in
        [0, 1, 4095, 4096, block - 33, block - 32, block, block + 1, 3 * block].iter().enumerate()
    {
        fs::write(root.join(format!("size {size}")), noise(index as u64, *size)).unwrap();
    }
    for index in 0..300 {
        fs::write(root.join(format!("a/b/{index}")), noise(index, index as usize * 7)).unwrap();
    }
    sparse(&root.join("a/sparse"), 1 << 29, &[0, 5 << 20, 1 << 28]);
    sparse(&root.join("a/hole"), 123_456_789, &[]);
    fs::write(root.join("a/b/c/zeros"), vec![0; 3 << 20]).unwrap();
    fs::write(root.join("n".repeat(255)), "a long name").unwrap();
    fs::write(root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\n\x1b")), "x")
        .unwrap();
    symlink("../size 1", root.join("a/link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("a/b", root.join("to a directory")).unwrap();
    for (path, mode) in [("size 1", 0o600), ("a/b/7", 0o777), ("a/sparse", 0o444), ("empty", 0o700)] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (path, time) in
        [("size 0", "1970-01-02"), ("a/b", "2001-02-03 04:05:06.789"), ("size 1", "2031-01-01")]
    {
        let touched = Command::new("touch").args(["-d", time]).arg(root.join(path)).status().unwrap();
        assert!(touched.success());
    }
}

/// Everything about what is under a path, except for contents.
fn listing(root: &Path) -> BTreeMap<PathBuf, Metadata> {
    let found = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let inner = |path: &Path| match path == root {
        true => PathBuf::new(),
        false => path.strip_prefix(root).unwrap().to_owned(),
    };
    found.map(|it| (inner(it.path()), it.metadata().unwrap())).collect()
}

/// Without a `/` after a file.
fn at(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { root.into() } else { root.join(path) }
}

/// Checks that both are equal, and that the copy has holes where the original has them.
#[track_caller]
pub fn assert_same(original: &Path, copy: &Path) {
    let (ours, theirs) = (listing(original), listing(copy));
    let names = |listing: &BTreeMap<PathBuf, Metadata>| listing.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    for (path, one) in &ours {
        let (other, from, to) = (&theirs[path], at(original, path), at(copy, path));
        assert_eq!(one.mode(), other.mode(), "{path:?}");
        if !one.is_symlink() || path.as_os_str().is_empty() {
            let time = |it: &Metadata| (it.mtime(), it.mtime_nsec());
            assert_eq!(time(one), time(other), "{path:?}");
        }
        if one.is_symlink() {
            assert_eq!(fs::read_link(from).unwrap(), fs::read_link(to).unwrap());
        } else if one.is_file() {
            assert_eq!(one.len(), other.len(), "{path:?}");
            assert!(other.blocks() <= one.blocks() + 64, "{path:?} has lost its holes");
            let same = Command::new("cmp").args([&from, &to]).status().unwrap();
            assert!(same.success(), "{path:?} differs");
        }
    }
}
