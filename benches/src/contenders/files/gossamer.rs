//! `gossamer send` and `gossamer recv`, from the same build as this program.

use super::timed;
use crate::measure::{Sample, Setting, Way};
use crate::partner::Partner;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// As `gossamer`, over TCP without encryption.
pub fn gossamer_plain(setting: &Setting) -> Sample {
    measure(setting, &["--streams", "1", "--plain"])
}

/// A file is checked, gets its name and is synced to disk; `/dev/null` only gets checked data. Blocks go over TCP if
/// the setting says so, otherwise through shared memory.
pub fn gossamer(setting: &Setting) -> Sample {
    let options: &[&str] = if setting.way == Way::Tcp { &["--streams", "1"] } else { &[] };
    measure(setting, options)
}

fn measure(setting: &Setting, options: &[&str]) -> Sample {
    let own = std::env::current_exe().unwrap_or_else(|error| panic!("no program: {error}"));
    let program = own.with_file_name("gossamer");
    assert!(program.is_file(), "build the command first: cargo build --release -p gossamer-cli");
    timed(setting, |place, _| {
        let into = if setting.to_disk { place.path("into") } else { "-".to_owned() };
        let mut server = Command::new(&program);
        server.args(["recv", "--listen", "127.0.0.1:0", "--json", "--output", &into]);
        let out = File::create("/dev/null").unwrap_or_else(|error| panic!("/dev/null: {error}"));
        let (said, says) = std::io::pipe().unwrap_or_else(|error| panic!("no pipe: {error}"));
        let server = Partner::of(server.stdin(Stdio::null()).stdout(out).stderr(says));
        let mut line = String::new();
        let mut said = BufReader::new(said);
        assert!(said.read_line(&mut line).is_ok(), "recv said nothing");
        let value = |name: &str| {
            let rest =
                line.split(&format!("\"{name}\":\"")).nth(1).unwrap_or_else(|| panic!("recv said {line:?}"));
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        let mut client = Command::new(&program);
        client.args([
            "send",
            &place.path("file"),
            "--quiet",
            "--to",
            &value("address"),
            "--code",
            &value("code"),
        ]);
        client.args(options);
        let status = client.stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.as_ref().is_ok_and(|status| status.success()), "send: {status:?}");
        server.join();
    })
}
