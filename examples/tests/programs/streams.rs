//! The programs of the Network Vortex thesis: one process sends, another receives.

use crate::child::{Watched, command, run};
use integration_tests::free_ports;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::PathBuf;

const KEY: (&str, &str) =
    ("GOSSAMER_STREAM_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");

/// An address that nobody listens at.
fn address() -> String {
    format!("127.0.0.1:{}", free_ports(Ipv4Addr::LOCALHOST, 1))
}

/// Runs one process that listens and another that connects; returns what both print.
fn run_both(program: &str, listens: &[&str], connects: &[&str]) -> [String; 2] {
    let mut listening = Watched::start(command(program).env(KEY.0, KEY.1).args(listens));
    let connected = loop {
        let ended = run(command(program).env(KEY.0, KEY.1).args(connects));
        // Nobody listens yet.
        if ended.status == Some(0) || !ended.errors.contains("refused") {
            break ended;
        }
    };
    assert_eq!(connected.status, Some(0), "{}", connected.errors);
    assert!(listening.wait().success());
    let mut text = String::new();
    listening.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    [text, connected.text().to_owned()]
}

#[test]
fn numbers_written_as_memory_are_summed_as_memory_elsewhere() {
    let address = address();
    let program = env!("CARGO_BIN_EXE_stream_sum");
    let [delivered, received] = run_both(program, &["w", &address, "80000000"], &["r", &address]);
    assert_eq!(delivered, "Delivered sum: 49999995000000\n");
    assert_eq!(received, "Received sum: 49999995000000\n");
}

#[test]
fn a_file_arrives_as_it_was() {
    let place = |name: &str| {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        path.to_str().unwrap().to_owned()
    };
    let (address, from, to) = (address(), place("sent"), place("received"));
    let bytes: Vec<u8> = (0..5_000_001_u32).map(|index| (index ^ index >> 8) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    let [sent, received] =
        run_both(env!("CARGO_BIN_EXE_stream_file"), &["s", &address, &from], &["r", &address, &to]);
    assert_eq!(sent, "Transferred 5000001 bytes\nFinished\n");
    assert_eq!(received, "Expecting 5000001 bytes\nFinished\n");
    assert!(std::fs::read(&to).unwrap() == bytes);
    [from, to].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}
