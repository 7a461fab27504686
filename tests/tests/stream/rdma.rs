//! Streams by RDMA, over the simulated device, which delivers data late and in any order.

use crate::wire::{HEARD, SAID, with_options};
use crate::{byte_at, bytes_at, key, small};
use gossamer::stream::{Error, Geometry, Length, Options, Receiver, Sender};
use integration_tests::{Ended, in_child, simulate_rdma, wait_until, with_rdma};
use libloading::os::unix::Library;
use std::ffi::{CStr, c_char};
use std::io::Read;
use std::process::Command;
use std::thread;

/// Whether this process is to use RDMA only.
pub fn is_asked_for() -> bool {
    std::env::var("GOSSAMER_FABRIC").is_ok_and(|fabric| fabric == "verbs")
}

/// A port that is free.
const PORT: &str = "port=1 gid=1:v2:192.0.2.1";

/// What a child should find. A test with several children is the same in all of them, except for its environment.
const EXPECTED: &str = "EXPECTED";

fn expected() -> String {
    std::env::var(EXPECTED).unwrap()
}

/// Runs `body` in a process that has these devices, and may use only RDMA.
fn with_device(device: &str, seed: u64, body: impl FnOnce() + Send + 'static) -> Ended {
    expecting("", device, seed, body)
}

/// As `with_device`; `expected` is what the function of this name should return there.
fn expecting(expected: &str, device: &str, seed: u64, body: impl FnOnce() + Send + 'static) -> Ended {
    let prepare = |child: &mut Command| {
        child.env("GOSSAMER_FABRIC", "verbs").env("VERBS_SIM", device);
        child.env("VERBS_SIM_SEED", seed.to_string()).env(EXPECTED, expected);
    };
    in_child(prepare, || {
        simulate_rdma();
        body();
    })
}

#[track_caller]
fn assert_well(ended: &Ended, what: &str) {
    assert!(ended.status.success(), "{what}: {}\n{}", ended.status, ended.errors);
}

/// A counter of the simulated device.
fn counted(name: &CStr) -> u64 {
    let process = Library::this();
    // SAFETY: the symbol is of this type.
    let counter = unsafe { process.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"verbs_sim_counter") };
    // SAFETY: a string.
    unsafe { counter.unwrap()(name.as_ptr()) }
}

fn options(geometry: Geometry) -> Options {
    Options::from(geometry).key(key())
}

/// Both ends: the receiver listens.
fn ends(length: Length, options: Options) -> (Sender, Receiver) {
    let listener = Receiver::bind("127.0.0.1:0", options.clone()).unwrap();
    let address = listener.local_addr().unwrap();
    let sender = thread::spawn(move || Sender::connect(address, length, options).unwrap());
    let receiver = listener.accept().unwrap();
    (sender.join().unwrap(), receiver)
}

/// How the ends of a stream of this many bytes ended, the sender's first.
fn stream(length: u64, geometry: Geometry) -> (Result<(), Error>, Result<(), Error>) {
    let (mut sender, mut receiver) = ends(Length::Known(length), options(geometry));
    let sending = thread::spawn(move || {
        let block: Vec<u8> = bytes_at(0, 1 << 16);
        let mut at = 0;
        while at < length {
            // The bytes of each block differ from those of the others.
            let mut part = block[..(length - at).min(1 << 16) as usize].to_vec();
            part.iter_mut().for_each(|byte| *byte ^= byte_at(at));
            sender.write_everything(&part)?;
            at += part.len() as u64;
        }
        sender.finish()
    });
    let receive = move || {
        let expected = bytes_at(0, 1 << 16);
        let mut at = 0;
        while let Some(block) = receiver.next_block()? {
            for part in block.chunks(1 << 16) {
                let change = byte_at(at);
                assert!(part.iter().zip(&expected).all(|(got, byte)| *got == byte ^ change), "at {at}");
                at += part.len() as u64;
            }
        }
        assert_eq!(at, length);
        receiver.finish()
    };
    let received = receive();
    (sending.join().unwrap(), received)
}

/// The tests to leave out here, as arguments.
fn skipped() -> Vec<String> {
    let arguments: Vec<String> = std::env::args().collect();
    arguments.windows(2).filter(|pair| pair[0] == "--skip").flatten().cloned().collect()
}

#[test]
fn what_holds_over_other_fabrics_holds_over_rdma() {
    // One after another, since each consists of many tests that run at the same time.
    for tests in [
        &[
            "safe::blocks",
            "safe::both",
            "safe::values",
            "safe::what_is_written",
            "sizes::",
            "random::",
            "raw::",
        ][..],
        &["flushed::", "trouble::", "fibers::", "channels::", "random_windows::"],
        &["killed::", "forks::", "wire::what", "together::two", "together::several"],
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(tests).args(skipped()).env("GOSSAMER_FABRIC", "verbs");
        let output = with_rdma(&mut command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tests:?}: {}\n{said}\n{errors}", output.status);
        assert!(!said.contains("running 0 tests"), "{tests:?}");
    }
}

#[test]
fn a_long_stream_arrives_whole_in_whatever_order_its_bytes_land() {
    for (seed, mebibytes) in [(0, 128), (1, 20), (2, 20), (3, 20)] {
        let ended = expecting(&mebibytes.to_string(), &format!("sim0 {PORT}"), seed, || {
            let length = (expected().parse::<u64>().unwrap() << 20) + 12_345;
            assert_eq!(stream(length, Geometry::default()), (Ok(()), Ok(())));
            // And one to see whether anything can be read at all.
            assert_eq!(counted(c"bytes"), length + 4096);
            assert_eq!(counted(c"writes") + counted(c"writes_with_immediate"), 0);
            wait_until(|| counted(c"pinned") == 0 && counted(c"objects") == 0);
        });
        assert_well(&ended, &format!("seed {seed}"));
    }
}

#[test]
fn blocks_are_read_in_as_many_messages_as_it_takes() {
    for device in ["max_rd_atomic=1", "max_qp_wr=2", "in_order"] {
        let ended = with_device(&format!("sim0 {device} {PORT} max_message=50000"), 5, || {
            assert_eq!(stream(3 << 20, small()), (Ok(()), Ok(())));
            // Each block is 64 KiB.
            assert_eq!(counted(c"reads"), 1 + 2 * 48);
        });
        assert_well(&ended, device);
    }
}

#[test]
fn a_read_that_fails_ends_the_stream_at_both_ends_in_words() {
    for (fault, words) in [
        ("12", "retries exceeded: no answer from the remote side (status 12"),
        ("10", "remote access error (status 10"),
        ("4", "local protection error (status 4"),
        ("down", "retries exceeded"),
        ("fatal", ""),
    ] {
        let ended = expecting(words, &format!("sim0 fault=20:{fault} {PORT}"), 1, || {
            let (sent, received) = stream(8 << 20, small());
            let (sent, received) = (sent.unwrap_err(), received.unwrap_err());
            assert!(matches!(received, Error::Rdma { .. }) && matches!(sent, Error::Rdma { .. }), "{sent:?}");
            let (sent, received) = (sent.to_string(), received.to_string());
            assert!(received.starts_with("RDMA has failed after "), "{received}");
            assert!(received.contains("RDMA device sim0: ") && received.contains(&expected()), "{received}");
            assert!(sent.contains("receiver") && sent.contains(&expected()), "{sent}");
        });
        assert_well(&ended, fault);
    }
}

#[test]
fn a_sender_that_is_dropped_is_told_before_reads_that_fail_for_it() {
    let ended = with_device(&format!("sim0 {PORT}"), 2, || {
        for round in 0..20 {
            let (mut sender, mut receiver) = ends(Length::Open, options(small()));
            sender.write_everything(&bytes_at(0, 200_000 + round)).unwrap();
            drop(sender);
            let error = receiver.read_to_end(&mut Vec::new()).unwrap_err().downcast::<Error>().unwrap();
            assert!(matches!(error, Error::Aborted { .. }), "{error}");
        }
    });
    assert_well(&ended, "dropped");
}

#[test]
fn a_bit_that_changes_while_rdma_is_prepared_is_an_error() {
    let ended = with_device(&format!("sim0 {PORT}"), 3, || {
        let options = options(small());
        assert_eq!(with_options(&options, None, None), (Ok(()), Ok(())));
        for at in (0..150).step_by(7) {
            for (said, heard) in [(Some(SAID + at), None), (None, Some(HEARD + at))] {
                let (sent, received) = with_options(&options, said, heard);
                assert!(sent.is_err() && received.is_err(), "{said:?} {heard:?}: {sent:?} {received:?}");
            }
        }
    });
    assert_well(&ended, "changed");
}

#[test]
fn rdma_that_was_asked_for_and_cannot_be_had_is_an_error_at_the_start() {
    for (device, words) in [
        ("none".to_owned(), "no RDMA device"),
        ("denied".to_owned(), "no permission to open RDMA device"),
        ("sim0 port=1 state=down gid=1:v2:192.0.2.1".to_owned(), "sim0:1 is down"),
    ] {
        let ended = expecting(words, &device, 0, || {
            let options = options(small());
            for error in [
                Receiver::bind("127.0.0.1:0", options.clone()).err().unwrap(),
                Sender::connect("127.0.0.1:1", 5, options).err().unwrap(),
            ] {
                let error = error.to_string();
                assert!(error.starts_with("blocks may go by RDMA only (GOSSAMER_FABRIC), "), "{error}");
                assert!(error.contains(&expected()), "{error}");
            }
        });
        assert_well(&ended, &device);
    }
}

#[test]
fn a_ring_that_cannot_be_pinned_is_an_error_at_both_ends_if_nothing_else_may_be_used() {
    let ended = with_device(&format!("sim0 memlock=65536 {PORT}"), 0, || {
        let listener = Receiver::bind("127.0.0.1:0", options(small())).unwrap();
        let address = listener.local_addr().unwrap();
        let connecting = thread::spawn(move || Sender::connect(address, 5, options(small())).err().unwrap());
        for error in [listener.accept().err().unwrap(), connecting.join().unwrap()] {
            let error = error.to_string();
            assert!(
                error.contains("393216 bytes cannot be pinned") && error.contains("`ulimit -l`"),
                "{error}"
            );
        }
    });
    assert_well(&ended, "memlock");
}

#[test]
fn ends_that_may_use_no_fabric_together_both_say_so() {
    let ended = with_device(&format!("sim0 {PORT}"), 0, || {
        let listener = Receiver::bind("127.0.0.1:0", options(small())).unwrap();
        let address = listener.local_addr().unwrap();
        let tcp = options(small()).route(gossamer::stream::Route::Tcp);
        let connecting = thread::spawn(move || Sender::connect(address, 5, tcp).err().unwrap());
        let (accepted, connected) = (listener.accept().err().unwrap(), connecting.join().unwrap());
        assert!(
            accepted.to_string().contains("this end may use RDMA only, and the other one TCP only"),
            "{accepted}"
        );
        assert!(connected.to_string().contains("this end may use TCP only"), "{connected}");
    });
    assert_well(&ended, "no fabric");
}

#[test]
fn a_fabric_or_a_setting_that_there_is_not_is_named() {
    for (name, value) in [("GOSSAMER_FABRIC", "rdma"), ("GOSSAMER_VERBS_SL", "16")] {
        let ended = in_child(
            |child| {
                child.env(name, value).env(EXPECTED, format!("{name}={value:?} is not "));
            },
            || {
                let error = Receiver::bind("127.0.0.1:0", options(small())).err().unwrap().to_string();
                assert!(error.starts_with(&expected()), "{error}");
            },
        );
        assert_well(&ended, name);
    }
}
