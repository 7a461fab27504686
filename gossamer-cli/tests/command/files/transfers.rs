//! `gossamer send` and `gossamer recv`: what arrives is what was sent.

use crate::common::files::{
    all_well, assert_same, event, everything, noise, recv, sparse, transfer, waiting,
};
use crate::common::{Scratch, finish, gossamer, start};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_directory_arrives_with_contents_modes_times_links_and_holes() {
    let scratch = Scratch::new("files-directory");
    let from = scratch.path("from");
    everything(&from);
    let ways: [&[&str]; 4] =
        [&[], &["--streams", "1"], &["--streams", "5"], &["--compress", "zstd:3", "--streams", "2"]];
    for (index, way) in ways.iter().enumerate() {
        let to = scratch.path(&format!("to {index}"));
        fs::create_dir(&to).unwrap();
        let (sent, received) = all_well(&transfer(&[&from], &to, &[], way));
        assert_same(&from, &to.join("from"));
        assert_eq!(sent["files"], received["files"]);
        assert_eq!(sent["moved"], received["moved"]);
        assert!(sent["moved"].as_u64().unwrap() < 32 << 20, "holes were sent: {sent}");
    }
}

#[test]
fn files_and_directories_are_sent_together_by_their_names() {
    let scratch = Scratch::new("files-together");
    let (one, two, to) = (scratch.path("one"), scratch.path("two"), scratch.path("to"));
    fs::write(&one, noise(1, 5000)).unwrap();
    fs::create_dir_all(two.join("inner")).unwrap();
    fs::write(two.join("inner/file"), "x").unwrap();
    fs::create_dir(&to).unwrap();
    // What is named is sent itself, even through a link.
    let link = scratch.path("link");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let (sent, _) = all_well(&transfer(&[&one, &two.join("."), &link], &to, &[], &[]));
    assert_eq!(sent["files"], 3);
    assert_same(&one, &to.join("one"));
    assert_same(&two, &to.join("two"));
    assert_same(&one, &to.join("link"));
}

#[test]
fn a_pipe_arrives_as_it_was_written() {
    for (length, options) in [
        (0, &[][..]),
        (1, &[]),
        (5_000_001, &[]),
        (9 << 20, &["--streams", "3"]),
        (3 << 20, &["--compress", "zstd"]),
    ] {
        let contents =
            if length > 8 << 20 { noise(9, length) } else { b"0123456789".repeat(length / 10 + 1) };
        let mut receiver = recv(Path::new("-"), &[]);
        let mut sender = start(receiver.sender(&[Path::new("-")], options).stdin(Stdio::piped()));
        let mut input = sender.child().stdin.take().unwrap();
        let mut output = receiver.started.child().stdout.take().unwrap();
        let writing = std::thread::spawn({
            let contents = contents[..length].to_vec();
            move || contents.chunks(70_001).for_each(|chunk| input.write_all(chunk).unwrap())
        });
        let mut arrived = Vec::new();
        output.read_to_end(&mut arrived).unwrap();
        writing.join().unwrap();
        assert!(arrived == contents[..length], "{length} bytes, {options:?}");
        all_well(&(sender.finish(), receiver.started.finish()));
    }
}

#[test]
fn what_comes_slowly_on_a_pipe_arrives_as_it_comes() {
    for options in [&[][..], &["--compress", "zstd"], &["--streams", "2"]] {
        let mut receiver = recv(Path::new("-"), &[]);
        let mut sender = start(receiver.sender(&[Path::new("-")], options).stdin(Stdio::piped()));
        let mut input = sender.child().stdin.take().unwrap();
        let mut output = receiver.started.child().stdout.take().unwrap();
        for line in 0..200 {
            // The next one is not written before this one has arrived.
            let line = format!("line {line}: {}\n", "x".repeat(line * line));
            input.write_all(line.as_bytes()).unwrap();
            let mut arrived = vec![0; line.len()];
            output.read_exact(&mut arrived).unwrap();
            assert_eq!(arrived, line.as_bytes(), "{options:?}");
        }
        drop(input);
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
        all_well(&(sender.finish(), receiver.started.finish()));
    }
}

#[test]
fn pipes_for_which_nobody_waits_are_waited_for() {
    let contents = noise(6, 3_000_000);
    let [(mut input, theirs), (mut output, out)] = [(); 2].map(|()| UnixStream::pair().unwrap());
    theirs.set_nonblocking(true).unwrap();
    out.set_nonblocking(true).unwrap();
    let mut command = gossamer(&["recv", "--listen", "127.0.0.1:0", "--json", "--output", "-"]);
    let receiver = waiting(command.stdout(OwnedFd::from(out)));
    drop(command);
    let sender = start(receiver.sender(&[Path::new("-")], &[]).stdin(OwnedFd::from(theirs)));
    std::thread::sleep(Duration::from_millis(300));
    let writing = std::thread::spawn({
        let contents = contents.clone();
        move || input.write_all(&contents).unwrap()
    });
    std::thread::sleep(Duration::from_millis(300));
    let mut arrived = Vec::new();
    output.read_to_end(&mut arrived).unwrap();
    writing.join().unwrap();
    assert!(arrived == contents);
    all_well(&(sender.finish(), receiver.started.finish()));
}

#[test]
fn an_end_that_input_says_only_once_is_its_end() {
    // As a terminal does it.
    let (input, theirs) = UnixDatagram::pair().unwrap();
    input.send(b"all there is").unwrap();
    input.send(b"").unwrap();
    let receiver = recv(Path::new("-"), &[]);
    let sender = start(receiver.sender(&[Path::new("-")], &[]).stdin(OwnedFd::from(theirs)));
    let finished = (sender.finish(), receiver.started.finish());
    all_well(&finished);
    assert_eq!(finished.1.out, "all there is");
}

#[test]
fn a_file_goes_to_standard_output_with_its_holes_filled() {
    let scratch = Scratch::new("files-output");
    let from = scratch.path("from");
    sparse(&from, 6_000_000, &[100, 3_000_000]);
    let mut receiver = recv(Path::new("-"), &[]);
    let mut output = receiver.started.child().stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut arrived = Vec::new();
        output.read_to_end(&mut arrived).map(|_| arrived)
    });
    all_well(&receiver.transfer(&[&from], &[]));
    assert!(reading.join().unwrap().unwrap() == fs::read(from).unwrap());
}

#[test]
fn a_pipe_becomes_a_file_named_stdin() {
    let scratch = Scratch::new("files-stdin");
    let receiver = recv(&scratch.0, &[]);
    let input = scratch.path("input");
    fs::write(&input, noise(4, 100_000)).unwrap();
    let sender = start(receiver.sender(&[Path::new("-")], &[]).stdin(fs::File::open(&input).unwrap()));
    all_well(&(sender.finish(), receiver.started.finish()));
    assert_eq!(fs::read(scratch.path("stdin")).unwrap(), noise(4, 100_000));
}

#[test]
fn what_arrived_before_is_not_sent_again() {
    let scratch = Scratch::new("files-again");
    let (from, to) = (scratch.path("from"), scratch.path("to"));
    everything(&from);
    fs::create_dir(&to).unwrap();
    all_well(&transfer(&[&from], &to, &[], &[]));
    let (sent, received) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!((&sent["moved"], &received["moved"]), (&0.into(), &0.into()));
    // The times differ, but the contents are equal.
    fs::File::options()
        .write(true)
        .open(to.join("from/size 4096"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    let (sent, _) = all_well(&transfer(&[&from], &to, &[], &[]));
    assert_eq!(sent["moved"], 0);
    assert_same(&from, &to.join("from"));
}

#[test]
fn text_is_for_people_and_quiet_says_nothing() {
    let scratch = Scratch::new("files-text");
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, "x").unwrap();
    fs::create_dir(&to).unwrap();
    let receiver = waiting(gossamer(&["recv", "--listen", "127.0.0.1:0", "--json", "--output"]).arg(&to));
    let mut sender = gossamer(&["send", "--to", &receiver.address, "--quiet"]);
    // Instead of --code, so that nobody sees it in the list of processes.
    finish(sender.arg(&from).env("GOSSAMER_CODE", receiver.code.to_uppercase())).ended_with(0).was_quiet();
    receiver.started.finish().ended_with(0);
    let receiver = recv(&to, &[]);
    let sent = finish(gossamer(&["send", "--to", &receiver.address, "--code", &receiver.code]).arg(&from));
    sent.ended_with(0).said("sent 1 file, moved 0 B in ");
    receiver.started.finish().ended_with(0);
}

#[test]
fn the_rate_is_limited() {
    let scratch = Scratch::new("files-rate");
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, noise(1, 600_000)).unwrap();
    fs::create_dir(&to).unwrap();
    let (sent, _) = all_well(&transfer(&[&from], &to, &[], &["--limit-rate", "400k"]));
    assert!(sent["seconds"].as_f64().unwrap() > 1.2, "{sent}");
    assert_same(&from, &to.join("file"));
}

#[test]
fn what_can_be_compressed_takes_less() {
    let scratch = Scratch::new("files-compress");
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, "gossamer ".repeat(1_000_000)).unwrap();
    fs::create_dir(&to).unwrap();
    let (sent, received) = all_well(&transfer(&[&from], &to, &[], &["--compress", "zstd:19"]));
    assert!(sent["moved"].as_u64().unwrap() < 100_000, "{sent}");
    assert_eq!(received["bytes"], 9_000_000);
    assert_same(&from, &to.join("file"));
}

#[test]
fn the_key_of_the_rack_does_without_a_code() {
    let scratch = Scratch::new("files-rack");
    let (from, to, key, rack) =
        (scratch.path("file"), scratch.path("to"), scratch.path("key"), scratch.path("rack.toml"));
    fs::write(&from, "x").unwrap();
    fs::create_dir(&to).unwrap();
    finish(gossamer(&["keygen"]).arg(&key)).ended_with(0);
    fs::write(&rack, "key = \"key\"").unwrap();
    let rack = ["--rack", "--config", rack.to_str().unwrap()];
    let receiver = recv(&to, &rack);
    assert_eq!(receiver.code, "");
    let sent = finish(gossamer(&["send", "--json", "--to", &receiver.address]).args(rack).arg(&from));
    assert_eq!(event(sent.ended_with(0), "done")["files"], 1);
    receiver.started.finish().ended_with(0);
    assert_same(&from, &to.join("file"));
}
