//! `gossamer send` and `gossamer recv`, with somebody in the middle who relays what they send: such a relay can read
//! contents only with `--plain`, and can change nothing.

use crate::common::files::{Waiting, all_well, assert_same, noise, recv};
use crate::common::{Finished, Scratch, start};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const SCRIPT: &[u8] = b"#!/bin/sh\necho this is the good script of the operator\n";
const EVIL: &[u8] = b"#!/bin/sh\necho this was put in by the man in the middle";
/// Both make `send` use TCP, even inside a machine.
const LEVELS: [&[&str]; 2] = [&["--streams", "1"], &["--streams", "1", "--plain"]];

/// What the relay does to the sender's bytes on a connection, of which number 0 is the control connection. It is given
/// the bytes that came together, and their offset on the connection. If it returns none, the connection is closed.
type Harm = Arc<dyn Fn(usize, usize, Vec<u8>) -> Option<Vec<u8>> + Send + Sync>;

/// The address at which the relay listens.
fn middle(target: SocketAddr, harm: &Harm) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let harm = Arc::clone(harm);
    thread::spawn(move || {
        for (number, near) in listener.incoming().enumerate() {
            let (Ok(near), Ok(far)) = (near, TcpStream::connect(target)) else { return };
            let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let harm = Arc::clone(&harm);
            thread::spawn(move || carry(&near, &far, |at, bytes| harm(number, at, bytes)));
            thread::spawn(move || carry(&far_too, &near_too, |_, bytes| Some(bytes)));
        }
    });
    address
}

/// Gathers bytes that come together, and passes them on.
fn carry(mut from: &TcpStream, mut to: &TcpStream, harm: impl Fn(usize, Vec<u8>) -> Option<Vec<u8>>) {
    from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let (mut gathered, mut at, mut buffer) = (Vec::new(), 0, vec![0; 1 << 16]);
    loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => Some(count),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            // Bytes that came before the connection was reset are passed on.
            Err(_) => Some(0),
        };
        gathered.extend_from_slice(&buffer[..count.unwrap_or_default()]);
        if count.is_some_and(|count| count > 0) || gathered.is_empty() && count.is_none() {
            continue;
        }
        let bytes = std::mem::take(&mut gathered);
        let length = bytes.len();
        let Some(bytes) = harm(at, bytes) else {
            let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            return;
        };
        at += length;
        if to.write_all(&bytes).is_err() || count == Some(0) {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Write);
}

/// A script with more content after it, and an empty directory.
fn scene(name: &str) -> (Scratch, PathBuf, PathBuf) {
    let scratch = Scratch::new(name);
    let (from, to) = (scratch.path("deploy.sh"), scratch.path("to"));
    fs::write(&from, [SCRIPT, &noise(1, 300_000)].concat()).unwrap();
    fs::create_dir(&to).unwrap();
    (scratch, from, to)
}

/// A transfer through the relay.
fn transfer(from: &Path, to: &Path, options: &[&str], harm: &Harm) -> (Finished, Finished) {
    let Waiting { started, address, code } = recv(to, &[]);
    let address = middle(address.parse().unwrap(), harm).to_string();
    let through = Waiting { started, address, code };
    let sender = start(&mut through.sender(&[from], options));
    (sender.finish(), through.started.finish())
}

/// What the sender says on all connections except for the control connection, and how the transfer ended.
fn recorded(from: &Path, to: &Path, options: &[&str]) -> (Vec<u8>, (Finished, Finished)) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&all);
    let harm: Harm = Arc::new(move |connection, _, bytes| {
        if connection > 0 {
            heard.lock().unwrap().extend_from_slice(&bytes);
        }
        Some(bytes)
    });
    let finished = transfer(from, to, options, &harm);
    let all = all.lock().unwrap().clone();
    (all, finished)
}

fn place_of(part: &[u8], of: &[u8]) -> Option<usize> {
    of.windows(part.len()).position(|window| window == part)
}

#[test]
fn contents_can_be_read_on_the_way_only_if_the_sender_says_plain() {
    for (index, options) in LEVELS.iter().enumerate() {
        let (_scratch, from, to) = scene(&format!("interception-read-{index}"));
        let (said, finished) = recorded(&from, &to, options);
        all_well(&finished);
        assert_same(&from, &to.join("deploy.sh"));
        assert!(said.len() > 300_000);
        assert_eq!(place_of(SCRIPT, &said).is_some(), options.contains(&"--plain"), "{options:?}");
    }
}

#[test]
fn whatever_is_changed_on_the_way_is_an_error_and_the_next_run_mends_it() {
    for (index, options) in LEVELS.iter().enumerate() {
        // The first frame, a tag or contents, contents, and the frame after them.
        for place in [186_usize, 241, 150_016, 300_446] {
            let (_scratch, from, to) = scene(&format!("interception-change-{index}-{place}"));
            let harm: Harm = Arc::new(move |connection, at, mut bytes| {
                if let Some(byte) = bytes.get_mut(place.wrapping_sub(at)).filter(|_| connection > 0) {
                    *byte ^= 1;
                }
                Some(bytes)
            });
            let (sent, received) = transfer(&from, &to, options, &harm);
            assert_ne!(sent.status, Some(0), "{options:?} {place}: {sent:?}");
            assert_ne!(received.status, Some(0), "{options:?} {place}: {received:?}");
            // It may be complete before the end of the stream is changed.
            if to.join("deploy.sh").exists() {
                assert_same(&from, &to.join("deploy.sh"));
            }
            all_well(&recv(&to, &[]).transfer(&[&from], &[]));
            assert_same(&from, &to.join("deploy.sh"));
        }
    }
}

#[test]
fn a_script_that_is_rewritten_where_it_can_be_read_is_refused_and_the_user_hears_why() {
    let (_scratch, from, to) = scene("interception-rewrite");
    let harm: Harm = Arc::new(|connection, _, mut bytes| {
        if let Some(place) = place_of(SCRIPT, &bytes).filter(|_| connection > 0) {
            bytes[place..place + EVIL.len()].copy_from_slice(EVIL);
        }
        Some(bytes)
    });
    let (sent, received) = transfer(&from, &to, LEVELS[1], &harm);
    sent.said("somebody on the way changes it");
    received.said("somebody on the way changes it");
    assert!(!to.join("deploy.sh").exists());
    for part in fs::read_dir(&to).unwrap() {
        let part = fs::read(part.unwrap().path()).unwrap();
        assert_eq!(place_of(EVIL, &part), None);
    }
}

#[test]
fn what_was_recorded_is_of_no_use_in_a_transfer_that_goes_on_where_one_was_cut() {
    for (index, options) in LEVELS.iter().enumerate() {
        let (_scratch, from, to) = scene(&format!("interception-resume-{index}"));
        fs::write(&from, noise(7, 12 << 20)).unwrap();
        let first = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&first);
        let cut: Harm = Arc::new(move |connection, at, bytes| {
            if connection == 1 {
                heard.lock().unwrap().extend_from_slice(&bytes);
                return (at < (5 << 20)).then_some(bytes);
            }
            Some(bytes)
        });
        let limited = [options, &["--limit-rate", "8m"][..]].concat();
        let (sent, received) = transfer(&from, &to, &limited, &cut);
        sent.ended_with(75);
        received.ended_with(75);
        let part = fs::read(to.join("deploy.sh.gossamer-part")).unwrap();
        assert!(part.len() > 1 << 20, "{}", part.len());
        // After the handshake and the parameters, the relay replays what it heard before.
        let old = first.lock().unwrap().clone();
        let replay: Harm = Arc::new(move |connection, at, mut bytes| {
            let begin = 216_usize.saturating_sub(at).min(bytes.len());
            if let Some(old) = old.get(at + begin..at + bytes.len()).filter(|_| connection == 1) {
                bytes[begin..].copy_from_slice(old);
            }
            Some(bytes)
        });
        let (sent, received) = transfer(&from, &to, options, &replay);
        assert_ne!((sent.status, received.status), (Some(0), Some(0)));
        assert!(!to.join("deploy.sh").exists());
        all_well(&recv(&to, &[]).transfer(&[&from], &[]));
        assert_same(&from, &to.join("deploy.sh"));
    }
}
