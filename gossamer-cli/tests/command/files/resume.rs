//! `gossamer send` and `gossamer recv` that are killed: the next run continues where the first one stopped.

use crate::common::files::{all_well, assert_same, noise, recv, sparse, transfer};
use crate::common::{Scratch, eventually, start};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const LENGTH: usize = 24 << 20;

/// How many bytes of a file have arrived.
fn arrived(part: &Path) -> u64 {
    fs::metadata(part).map_or(0, |metadata| metadata.len())
}

#[test]
fn a_transfer_whose_sides_are_killed_again_and_again_goes_on() {
    let scratch = Scratch::new("resume-killed");
    let (from, to, part) = (scratch.path("file"), scratch.path("to"), scratch.path("to/file.gossamer-part"));
    // So long that none of them comes near the end, even if it is killed late.
    let length = 2 * LENGTH;
    fs::write(&from, noise(1, length)).unwrap();
    fs::create_dir(&to).unwrap();
    let mut before = 0;
    for round in 0..6 {
        let receiver = recv(&to, &[]);
        let way: &[&str] =
            if round % 2 == 0 { &["--limit-rate", "8m"] } else { &["--limit-rate", "8m", "--streams", "2"] };
        let sender = start(&mut receiver.sender(&[&from], way));
        let wanted = before + 1 + noise(round, 3).iter().map(|byte| u64::from(*byte) << 13).sum::<u64>();
        eventually("contents arrive", || arrived(&part) >= wanted);
        let kills_sender = round % 3 == 0;
        if kills_sender { &sender } else { &receiver.started }.signal("KILL");
        let (sent, received) = (sender.finish(), receiver.started.finish());
        let (survivor, lost) =
            if kills_sender { (received, "the sender was lost") } else { (sent, "the receiver was lost") };
        survivor.ended_with(75).said(lost).said("run both commands again");
        before = arrived(&part);
        assert!(before > 0 && !to.join("file").exists());
    }
    let (sent, received) = all_well(&transfer(&[&from], &to, &[], &[]));
    let moved = sent["moved"].as_u64().unwrap();
    assert_eq!(moved, length as u64 - before);
    assert_eq!(received["bytes"], length);
    assert_same(&from, &to.join("file"));
    assert!(!part.exists());
}

#[test]
fn a_directory_goes_on_at_any_moment() {
    let scratch = Scratch::new("resume-directory");
    let (from, to) = (scratch.path("from"), scratch.path("to"));
    fs::create_dir_all(from.join("inner")).unwrap();
    for index in 0..60 {
        fs::write(from.join(format!("inner/{index}")), noise(index, 200_000)).unwrap();
    }
    sparse(&from.join("inner/sparse"), 1 << 30, &[0, 1 << 29, (1 << 30) - 20_000]);
    fs::create_dir(&to).unwrap();
    for round in 0..12 {
        let receiver = recv(&to, &[]);
        let sender = start(&mut receiver.sender(&[&from], &["--limit-rate", "40m"]));
        std::thread::sleep(Duration::from_millis(u64::from(noise(round, 1)[0]) * 2));
        if round % 2 == 0 { &sender } else { &receiver.started }.signal("KILL");
        sender.finish();
        // On a busy machine the sender may have been killed before it connected: then the receiver still waits for one.
        receiver.started.signal("TERM");
        receiver.started.finish();
    }
    let (_, received) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!(received["files"], 61);
    assert_same(&from, &to.join("from"));
}

/// A receiver that has a part of a file, and that part.
fn interrupted(name: &str) -> (Scratch, std::path::PathBuf, std::path::PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to, part) = (scratch.path("file"), scratch.path("to"), scratch.path("to/file.gossamer-part"));
    fs::write(&from, noise(1, LENGTH)).unwrap();
    fs::create_dir(&to).unwrap();
    fs::write(&part, noise(1, LENGTH / 2)).unwrap();
    // As the receiver leaves it.
    fs::set_permissions(&part, fs::Permissions::from_mode(0o600)).unwrap();
    (scratch, from, to)
}

#[test]
fn a_receiver_that_checks_what_it_has_says_so() {
    let (_scratch, from, to) = interrupted("resume-checking");
    let receiver = recv(&to, &[]);
    // It is reported once a second.
    std::thread::sleep(Duration::from_millis(1100));
    let sender = start(&mut receiver.sender(&[&from], &[]));
    let (sent, received) = (sender.finish(), receiver.started.finish());
    received.said("\"event\":\"checking\"");
    all_well(&(sent, received));
    assert_same(&from, &to.join("file"));
}

#[test]
fn a_file_that_has_changed_starts_over() {
    let (_scratch, from, to) = interrupted("resume-changed");
    let mut changed = noise(1, LENGTH);
    changed[5_000_000] ^= 1;
    fs::write(&from, changed).unwrap();
    let (sent, _) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!(sent["moved"], LENGTH);
    assert_same(&from, &to.join("file"));
}

#[test]
fn a_file_that_was_appended_to_goes_on() {
    let (_scratch, from, to) = interrupted("resume-appended");
    let mut longer = noise(1, LENGTH);
    longer.extend_from_slice(b"more");
    fs::write(&from, longer).unwrap();
    let (sent, _) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!(sent["moved"], LENGTH / 2 + 4);
    assert_same(&from, &to.join("file"));
}

#[test]
fn a_file_that_has_become_shorter_starts_over() {
    let (_scratch, from, to) = interrupted("resume-shorter");
    fs::write(&from, noise(1, LENGTH / 4)).unwrap();
    all_well(&transfer(&[&from], &to, &[], &[]));
    assert_same(&from, &to.join("file"));
}

#[test]
fn a_partial_file_that_was_damaged_starts_over() {
    let (scratch, from, to) = interrupted("resume-damaged");
    fs::write(scratch.path("to/file.gossamer-part"), vec![0; LENGTH]).unwrap();
    let (sent, _) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!(sent["moved"], LENGTH);
    assert_same(&from, &to.join("file"));
}
