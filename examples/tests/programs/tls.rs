//! The echo server under TLS, with openssl as its client.

use crate::child::{Watched, command};
use crate::nodes::Nodes;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A self-signed certificate for `localhost` with its key, in a directory that is removed with this.
struct Certificate(PathBuf);

impl Certificate {
    fn new() -> Option<Self> {
        let directory = std::env::temp_dir().join(format!("gossamer-tls-echo-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let certificate = Self(directory);
        let (key, own) = (certificate.path("key.pem"), certificate.path("own.pem"));
        let mut make = std::process::Command::new("openssl");
        make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        make.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
        match make.arg("-keyout").arg(key).arg("-out").arg(own).output() {
            Err(error) => {
                println!("!!! skipped: openssl: {error}");
                None
            }
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(certificate)
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn openssl_hears_what_it_says_to_the_tls_echo() {
    let Some(certificate) = Certificate::new() else { return };
    let (own, key) = (certificate.path("own.pem"), certificate.path("key.pem"));
    let mut server =
        Nodes::start(env!("CARGO_BIN_EXE_tls_echo"), 1, &["127.0.0.1:0", text(&own), text(&key)]);
    let address = server.address();
    let mut client = command("openssl");
    client.args(["s_client", "-connect", &address, "-servername", "localhost", "-CAfile", text(&own)]);
    client.args(["-verify_return_error", "-alpn", "echo"]);
    let mut client = Watched::start(client.stdin(Stdio::piped()));
    let mut to_client = client.0.stdin.take().unwrap();
    let mut said = BufReader::new(client.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut before = Vec::new();
    for line in ["first line", "second line"] {
        writeln!(to_client, "{line}").unwrap();
        before.extend(said.by_ref().take_while(|said| said != line));
    }
    assert!(before.iter().any(|line| line == "ALPN protocol: echo"), "{before:?}");
    drop(to_client);
    assert!(client.wait().success());
    server.end_by_sigterm();
}
