//! `gossamer send` and `gossamer recv` when something goes wrong: it is reported, and what can be saved is saved.

use crate::common::files::{all_well, assert_same, event, noise, recv, transfer, waiting};
use crate::common::{Finished, Scratch, eventually, finish, gossamer, signal, skipped, start};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A file with these contents, and an empty directory for it.
fn scene(name: &str, length: usize) -> (Scratch, PathBuf, PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to) = (scratch.path("file"), scratch.path("to"));
    fs::write(&from, noise(1, length)).unwrap();
    fs::create_dir(&to).unwrap();
    (scratch, from, to)
}

#[track_caller]
fn both(finished: &(Finished, Finished), status: i32, words: &str) {
    finished.0.ended_with(status).said(words);
    finished.1.ended_with(status).said(words);
}

#[test]
fn what_exists_is_kept_unless_it_is_to_be_replaced() {
    let (_scratch, from, to) = scene("trouble-exists", 5000);
    for other in [noise(2, 5000), noise(2, 4000)] {
        fs::write(to.join("file"), &other).unwrap();
        // Files with the same time and size count as equal.
        fs::File::options()
            .write(true)
            .open(to.join("file"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        both(&transfer(&[&from], &to, &[], &[]), 1, "exists");
        assert_eq!(fs::read(to.join("file")).unwrap(), other);
        all_well(&transfer(&[&from], &to, &["--overwrite"], &[]));
        assert_same(&from, &to.join("file"));
    }
    fs::remove_file(to.join("file")).unwrap();
    fs::create_dir(to.join("file")).unwrap();
    both(&transfer(&[&from], &to, &["--overwrite"], &[]), 1, "is not a regular file");
}

#[test]
fn other_files_arrive_when_one_is_refused() {
    let (scratch, from, to) = scene("trouble-others", 5000);
    let all = scratch.path("all");
    fs::create_dir_all(all.join("d")).unwrap();
    for name in ["a", "b", "d/c"] {
        fs::copy(&from, all.join(name)).unwrap();
    }
    fs::create_dir_all(to.join("all")).unwrap();
    fs::write(to.join("all/b"), "other").unwrap();
    fs::write(to.join("all/d"), "no directory").unwrap();
    let finished = transfer(&[&all], &to, &[], &[]);
    both(&finished, 1, "all/b");
    both(&finished, 1, "all/d");
    both(&finished, 1, "all/d/c");
    assert_eq!(event(&finished.0, "done")["files"], 1);
    assert_eq!(event(&finished.1, "done")["failed"], 3);
    assert!(fs::read(to.join("all/a")).unwrap() == noise(1, 5000));
}

#[test]
fn a_wrong_code_is_turned_away_and_the_receiver_goes_on_waiting() {
    let (_scratch, from, to) = scene("trouble-code", 5000);
    let begun = Instant::now();
    let receiver = recv(&to, &[]);
    for _ in 0..2 {
        let mut wrong = gossamer(&["send", "--to", &receiver.address, "--code", "0000-1111-2222-3333-4444"]);
        finish(wrong.arg(&from)).ended_with(3).said("does not accept the code");
    }
    // It does not mind a peer that says nothing, either.
    let _silent = std::net::TcpStream::connect(&receiver.address).unwrap();
    let address = receiver.address.clone();
    let finished = receiver.transfer(&[&from], &[]);
    all_well(&finished);
    // One line in ten seconds for many strangers; the first stands for one.
    let lines: Vec<_> = finished.1.err.lines().filter(|line| line.contains("turned away")).collect();
    assert!(lines.len() <= 1 + begun.elapsed().as_secs() as usize / 10, "{lines:?}");
    assert!(lines[0].contains("\"more\":0"), "{lines:?}");
    // The code works once.
    finish(gossamer(&["send", "--to", &address, "--code", "0000-1111-2222-3333-4444"]).arg(&from))
        .ended_with(3)
        .said("--to takes");
}

#[test]
fn mistakes_on_the_command_line_are_told_before_anything_is_sent() {
    let (scratch, from, _to) = scene("trouble-usage", 10);
    let code = "0000-1111-2222-3333-4444";
    let file = from.to_str().unwrap();
    for (arguments, words) in [
        (&["send", "--to", "127.0.0.1:1", "--code", code, "/no/such/file"][..], "/no/such/file"),
        (&["send", "--to", "127.0.0.1:1", "--code", "0000", file], "check it"),
        (&["send", "--to", "127.0.0.1:1", file], "--code"),
        (&["send", "--to", "127.0.0.1:1", "--code", code, file, file], "with that name"),
        (&["send", "--to", "127.0.0.1:1", "--code", code, file, "-"], "alone"),
        (&["send", "--to", "127.0.0.1:1", "--code", code, "/"], "no name"),
        (&["recv", "--output", "/no/such/directory"], "make it first"),
        (&["recv", "--listen", "nowhere"], "host and a port"),
        (&["recv", "--listen", "192.0.2.1:0"], "address of this machine"),
        (&["recv", "--rack", "--config", "/no/such/file"], "/no/such/file"),
    ] {
        finish(gossamer(arguments).env_remove("GOSSAMER_CODE").current_dir(&scratch.0))
            .ended_with(2)
            .said(words);
    }
}

#[test]
fn two_things_cannot_go_to_standard_output() {
    let (scratch, from, _to) = scene("trouble-output", 10);
    let other = scratch.path("other");
    fs::write(&other, "x").unwrap();
    both(&transfer(&[&from, &other], Path::new("-"), &[], &[]), 1, "standard output");
}

#[test]
fn a_reader_that_goes_away_ends_the_transfer() {
    let (_scratch, from, _to) = scene("trouble-reader", 30 << 20);
    let mut receiver = recv(Path::new("-"), &[]);
    drop(receiver.started.child().stdout.take());
    let (sent, received) = receiver.transfer(&[&from], &[]);
    sent.ended_with(74).said("has closed it");
    received.ended_with(141).said("has closed it");
}

/// Starts to send a large file, and then that of the scene, slowly, and does something meanwhile.
fn meanwhile(name: &str, act: impl FnOnce(&Path, &Path)) -> (Scratch, (Finished, Finished)) {
    let (scratch, from, to) = scene(name, 8 << 20);
    let small = scratch.path("small");
    fs::write(&small, "small").unwrap();
    let receiver = recv(&to, &[]);
    let sender = start(&mut receiver.sender(&[&from, &small], &["--limit-rate", "4m"]));
    let part = to.join("file.gossamer-part");
    eventually("it has begun", || fs::metadata(&part).is_ok_and(|part| part.len() > 0));
    // So that it does not come to the end before.
    sender.signal("STOP");
    act(&from, &small);
    sender.signal("CONT");
    (scratch, (sender.finish(), receiver.started.finish()))
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_not_taken() {
    let (scratch, finished) = meanwhile("trouble-changed", |from, _| {
        use std::os::unix::fs::FileExt;
        fs::File::options().write(true).open(from).unwrap().write_all_at(b"changed", 0).unwrap();
    });
    both(&finished, 1, "changed while it was being sent");
    assert!(!scratch.path("to/file").exists() && scratch.path("to/small").exists());
    assert!(scratch.path("to/file.gossamer-part").exists());
    all_well(&transfer(&[&scratch.path("file")], &scratch.path("to"), &[], &[]));
    assert_same(&scratch.path("file"), &scratch.path("to/file"));
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_sent_is_not_taken() {
    let (scratch, finished) = meanwhile("trouble-shorter", |from, _| {
        fs::File::options().write(true).open(from).unwrap().set_len(3 << 20).unwrap();
    });
    both(&finished, 1, "while it was being sent");
    assert!(!scratch.path("to/file").exists() && scratch.path("to/small").exists());
}

#[test]
fn a_file_that_vanishes_is_told_and_the_others_arrive() {
    let (scratch, finished) = meanwhile("trouble-vanished", |_, small| fs::remove_file(small).unwrap());
    both(&finished, 1, "has vanished since it was listed");
    assert_same(&scratch.path("file"), &scratch.path("to/file"));
}

#[test]
fn what_exists_by_the_time_it_is_complete_is_kept() {
    let (scratch, finished) = meanwhile("trouble-late", |from, _| {
        fs::write(from.parent().unwrap().join("to/file"), "new").unwrap();
    });
    both(&finished, 1, "exists");
    assert_eq!(fs::read(scratch.path("to/file")).unwrap(), b"new");
    assert!(scratch.path("to/file.gossamer-part").exists() && scratch.path("to/small").exists());
}

#[test]
fn two_receivers_do_not_write_one_file() {
    let (scratch, finished) = meanwhile("trouble-two", |from, _| {
        both(&transfer(&[from], &from.parent().unwrap().join("to"), &[], &[]), 1, "another receiver");
    });
    all_well(&finished);
    assert_same(&scratch.path("file"), &scratch.path("to/file"));
}

#[test]
fn what_is_no_file_is_told() {
    let (scratch, from, to) = scene("trouble-pipe", 100);
    let all = scratch.path("all");
    fs::create_dir(&all).unwrap();
    fs::rename(&from, all.join("file")).unwrap();
    assert!(Command::new("mkfifo").arg(all.join("pipe")).status().unwrap().success());
    fs::write(all.join("x.gossamer-part"), "a rest").unwrap();
    let (sent, received) = transfer(&[&all], &to, &[], &[]);
    sent.ended_with(1).said("all/pipe").said("is not a file").said("x.gossamer-part");
    received.ended_with(1).said("could not read 2");
    assert!(to.join("all/file").exists());
}

#[test]
fn a_full_disk_ends_the_transfer_and_keeps_what_has_arrived() {
    if !rustix::process::geteuid().is_root() {
        return skipped("a full disk needs a file system of its own, and so root");
    }
    let (scratch, from, to) = scene("trouble-full", 12 << 20);
    let all = scratch.path("all");
    fs::create_dir(&all).unwrap();
    fs::write(all.join("a"), "small").unwrap();
    fs::rename(&from, all.join("b")).unwrap();
    fs::write(all.join("c"), "small").unwrap();
    // In a namespace of its own, so that nothing is left behind.
    let script = "mount -t tmpfs -o size=8m none \"$1\" && cd \"$1\" && shift && \"$@\"; status=$?; \
                  stat -c '%n %s' all/*; exit $status";
    let mut receiver = Command::new("unshare");
    receiver.args(["--mount", "sh", "-c", script, "sh"]).arg(&to).arg(env!("CARGO_BIN_EXE_gossamer"));
    receiver.args(["recv", "--listen", "127.0.0.1:0", "--json"]);
    receiver.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let finished = waiting(&mut receiver).transfer(&[&all], &[]);
    both(&finished, 74, "all/b: No space left on device");
    let kept = &finished.1.out;
    let part = kept.lines().find_map(|line| line.strip_prefix("all/b.gossamer-part ")).unwrap();
    assert!(part.parse::<u64>().unwrap() > 1 << 20 && kept.contains("all/a 5"), "{kept}");
}

#[test]
fn a_file_above_the_limit_of_its_process_is_told_and_the_others_arrive() {
    let (scratch, from, to) = scene("trouble-limit", 12 << 20);
    let all = scratch.path("all");
    fs::create_dir(&all).unwrap();
    fs::rename(&from, all.join("b")).unwrap();
    fs::write(all.join("c"), "small").unwrap();
    let mut receiver = Command::new("sh");
    receiver.args(["-c", "ulimit -f 4096; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_gossamer")]);
    receiver.args(["recv", "--listen", "127.0.0.1:0", "--json", "--output"]).arg(&to);
    receiver.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let finished = waiting(&mut receiver).transfer(&[&all], &[]);
    both(&finished, 1, "File too large");
    assert_same(&all.join("c"), &to.join("all/c"));
}

#[test]
fn what_may_not_be_read_or_written_is_told_and_the_others_arrive() {
    let (scratch, from, to) = scene("trouble-rights", 100);
    let all = scratch.path("all");
    fs::create_dir_all(all.join("closed")).unwrap();
    fs::copy(&from, all.join("file")).unwrap();
    fs::copy(&from, all.join("secret")).unwrap();
    fs::create_dir_all(to.join("all/closed")).unwrap();
    fs::copy(&from, all.join("closed/file")).unwrap();
    fs::set_permissions(all.join("secret"), fs::Permissions::from_mode(0o0)).unwrap();
    // As an ordinary user, since root may do everything.
    let someone = |command: &mut Command| {
        if rustix::process::geteuid().is_root() {
            use std::os::unix::process::CommandExt;
            command.uid(12345).gid(12345);
        }
    };
    if rustix::process::geteuid().is_root() {
        let owned =
            Command::new("chown").args(["12345:12345"]).args([&to, &to.join("all")]).status().unwrap();
        assert!(owned.success());
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).unwrap();
    } else {
        fs::set_permissions(to.join("all/closed"), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let mut command = gossamer(&["recv", "--listen", "127.0.0.1:0", "--json", "--output"]);
    someone(command.arg(&to));
    let receiver = waiting(&mut command);
    let mut command = receiver.sender(&[&all], &[]);
    someone(&mut command);
    let finished = (finish(&mut command), receiver.started.finish());
    both(&finished, 1, "all/closed/file");
    both(&finished, 1, "Permission denied");
    both(&finished, 1, "all/secret");
    assert_same(&all.join("file"), &to.join("all/file"));
    fs::set_permissions(to.join("all/closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_sender_that_stops_and_is_killed_is_lost() {
    let (_scratch, from, to) = scene("trouble-stopped", 30 << 20);
    let receiver = recv(&to, &[]);
    let sender = start(&mut receiver.sender(&[&from], &["--limit-rate", "1m"]));
    eventually("it has begun", || to.join("file.gossamer-part").exists());
    sender.signal("STOP");
    signal(sender.pid(), "KILL");
    receiver.started.finish().ended_with(75).said("the sender was lost");
    sender.finish();
}

#[test]
fn a_sender_whose_input_makes_no_bytes_hears_that_the_receiver_is_gone() {
    let zeros = || Stdio::from(fs::File::open("/dev/zero").unwrap());
    for (input, options) in [
        (Stdio::piped(), &[][..]),
        (Stdio::piped(), &["--streams", "2"]),
        // Much input becomes few bytes.
        (zeros(), &["--compress", "zstd"]),
    ] {
        let mut receiver = recv(Path::new("-"), &[]);
        let mut sender = start(receiver.sender(&[Path::new("-")], options).stdin(input));
        let mut line = sender.child().stdin.take();
        if let Some(line) = &mut line {
            line.write_all(b"a line").unwrap();
            receiver.started.child().stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        } else {
            // All that a process reads; what it reads before it is connected is less.
            let read = || {
                let io = fs::read_to_string(format!("/proc/{}/io", sender.pid())).ok()?;
                io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok())
            };
            eventually("it reads its input", || read().is_some_and(|read| read > 10 << 20));
        }
        receiver.started.signal("KILL");
        sender.finish().ended_with(75).said("the receiver was lost");
        drop(line);
    }
}
