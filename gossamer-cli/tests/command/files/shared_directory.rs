//! `gossamer recv` into a directory that others can write to: whatever they have put under the names of its files gets
//! nothing, and stays untouched.

use crate::common::files::{all_well, assert_same, noise, transfer};
use crate::common::{Scratch, skipped};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65534;

/// A secret file, and a directory for it that everybody can write to.
fn scene(name: &str) -> (Scratch, PathBuf, PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, noise(1, 300_000)).unwrap();
    fs::set_permissions(&from, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(&to).unwrap();
    fs::set_permissions(&to, fs::Permissions::from_mode(0o1777)).unwrap();
    (scratch, from, to)
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A file with some contents, a mode and an owner; its maker keeps it open.
fn planted(path: &Path, contents: &[u8], mode: u32, owner: u32) -> File {
    fs::write(path, contents).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chown(path, Some(owner), None).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

/// Checks that the file has arrived, belongs to this user alone, and that nothing of it is in what was planted.
#[track_caller]
fn arrived(from: &Path, to: &Path, planted: &File) {
    let file = to.join("file");
    assert_same(from, &file);
    let there = fs::metadata(&file).unwrap();
    assert_eq!((there.uid(), there.nlink(), there.mode() & 0o777), (own_user(), 1, 0o600));
    let mut seen = vec![0; 400_000];
    let count = planted.read_at(&mut seen, 0).unwrap();
    assert!(count < 100_000 && seen[..count].iter().all(|byte| *byte == b'p'), "{count}");
}

#[test]
fn the_file_of_a_stranger_gets_nothing() {
    if own_user() != 0 {
        return skipped("a file of another user takes root");
    }
    let (_scratch, from, to) = scene("shared-stranger");
    let part = to.join("file.gossamer-part");
    for (contents, mode) in [(&b""[..], 0o666), (&[b'p'; 5000], 0o600), (&[b'p'; 5000], 0o666)] {
        let handle = planted(&part, contents, mode, NOBODY);
        all_well(&transfer(&[&from], &to, &[], &[]));
        arrived(&from, &to, &handle);
        assert_eq!(fs::read(&part).unwrap(), contents);
        fs::remove_file(to.join("file")).unwrap();
        fs::remove_file(&part).unwrap();
    }
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
}

#[test]
fn a_file_that_others_may_have_open_is_not_gone_on_with() {
    let (_scratch, from, to) = scene("shared-exposed");
    for mode in [0o666, 0o644] {
        let handle = planted(&to.join("file.gossamer-part"), &[b'p'; 5000], mode, own_user());
        all_well(&transfer(&[&from], &to, &[], &[]));
        arrived(&from, &to, &handle);
        fs::remove_file(to.join("file")).unwrap();
    }
}

#[test]
fn a_file_that_has_another_name_is_not_written_to() {
    let (scratch, from, to) = scene("shared-names");
    let other = scratch.path("other");
    let handle = planted(&other, &[b'p'; 5000], 0o600, own_user());
    fs::hard_link(&other, to.join("file.gossamer-part")).unwrap();
    all_well(&transfer(&[&from], &to, &[], &[]));
    arrived(&from, &to, &handle);
    assert_eq!(fs::read(&other).unwrap(), [b'p'; 5000]);
    assert_eq!(fs::metadata(&other).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_link_is_not_followed_and_holds_up_nobody() {
    let (scratch, from, to) = scene("shared-link");
    let other = scratch.path("other");
    let handle = planted(&other, b"p", 0o600, own_user());
    symlink(&other, to.join("file.gossamer-part")).unwrap();
    all_well(&transfer(&[&from], &to, &[], &[]));
    arrived(&from, &to, &handle);
}

#[test]
fn what_strangers_leave_no_name_for_is_told() {
    if own_user() != 0 {
        return skipped("a file of another user takes root");
    }
    let (_scratch, from, to) = scene("shared-taken");
    for name in ["file.gossamer-part", "file.0.gossamer-part"] {
        planted(&to.join(name), b"p", 0o666, NOBODY);
    }
    let (sent, received) = transfer(&[&from], &to, &[], &[]);
    sent.ended_with(1).said("belongs to another user");
    received.ended_with(1).said("belongs to another user");
    assert!(!to.join("file").exists());
}

#[test]
fn a_file_of_a_stranger_does_not_count_as_received() {
    if own_user() != 0 {
        return skipped("a file of another user takes root");
    }
    let (_scratch, from, to) = scene("shared-received");
    for contents in [noise(1, 300_000), noise(2, 300_000)] {
        let handle = planted(&to.join("file"), &contents, 0o666, NOBODY);
        handle.set_modified(fs::metadata(&from).unwrap().modified().unwrap()).unwrap();
        transfer(&[&from], &to, &[], &[]).1.ended_with(1).said("belongs to another user");
        all_well(&transfer(&[&from], &to, &["--overwrite"], &[]));
        assert_same(&from, &to.join("file"));
        assert_eq!(fs::metadata(to.join("file")).unwrap().uid(), own_user());
        assert_eq!(handle.metadata().unwrap().nlink(), 0);
        fs::remove_file(to.join("file")).unwrap();
    }
}

#[test]
fn a_file_that_is_the_same_and_has_another_name_keeps_its_mode() {
    let (scratch, from, to) = scene("shared-same");
    fs::set_permissions(&from, fs::Permissions::from_mode(0o644)).unwrap();
    let other = scratch.path("other");
    let handle = planted(&other, &noise(1, 300_000), 0o600, own_user());
    // If it had the same time, it would not even be looked into.
    handle.set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::hard_link(&other, to.join("file")).unwrap();
    let (sent, received) = transfer(&[&from], &to, &[], &[]);
    sent.ended_with(1);
    received.ended_with(1).said("replaced by somebody");
    assert_eq!(fs::metadata(&other).unwrap().mode() & 0o777, 0o600);
}
