//! The HTTP server with curl, and the proxy.

use crate::client::Client;
use crate::nodes::Nodes;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;

fn curl(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("curl").args(["--silent", "--show-error", "--max-time", "60"]).args(arguments).output();
    match output {
        Err(error) => {
            println!("!!! skipped: curl: {error}");
            None
        }
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{arguments:?}: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
    }
}

#[test]
fn curl_talks_to_the_http_server_on_one_node_and_on_four() {
    for nodes in [1, 4] {
        let mut server = Nodes::start(env!("CARGO_BIN_EXE_http_server"), nodes, &["127.0.0.1:0"]);
        let url = format!("http://{}", server.address());
        let (root, visits, upper) = (format!("{url}/"), format!("{url}/visits"), format!("{url}/upper"));
        if let Some(text) = curl(&[&root]) {
            assert_eq!(text, "hello\n");
            // Several by one connection, and each by one of its own, whichever worker of whichever node accepts it.
            assert_eq!(curl(&[&visits, &visits, &visits]).unwrap(), "1\n2\n3\n");
            for number in 4..30 {
                assert_eq!(curl(&[&visits]).unwrap(), format!("{number}\n"));
            }
            let text = "a body ".repeat(5000);
            assert_eq!(curl(&["--data", &text, &upper]).unwrap(), text.to_uppercase());
            let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
            assert_eq!(curl(&[&status[..], &[&format!("{url}/nothing")]].concat()).unwrap(), "404");
        }
        server.end_by_sigterm();
    }
}

#[test]
fn the_http_server_answers_requests_that_come_together_and_refuses_what_is_none() {
    let mut server = Nodes::start(env!("CARGO_BIN_EXE_http_server"), 1, &["127.0.0.1:0"]);
    let address = server.address();
    let mut stream = TcpStream::connect(&address).unwrap();
    let post = "POST /upper HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
    write!(stream, "GET /visits HTTP/1.1\r\n\r\n{post}GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    let bodies: Vec<_> =
        answers.split("\r\n\r\n").skip(1).map(|text| text.split("HTTP/").next().unwrap()).collect();
    assert_eq!(bodies, ["1\n", "ABC", "hello\n"], "{answers}");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"what is this?\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    server.end_by("INT");
}

#[test]
fn the_proxy_passes_on_what_comes_from_both_sides() {
    let mut server = Nodes::start(env!("CARGO_BIN_EXE_echo_server"), 1, &["127.0.0.1:0"]);
    let target = server.address();
    let mut proxy = Nodes::start(env!("CARGO_BIN_EXE_proxy"), 1, &["127.0.0.1:0", &target]);
    let address = proxy.address();
    let mut clients: Vec<_> = (0..50).map(|_| Client::connect(&address)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer(&format!("line {number}\n")), format!("line {number}\n"));
    }
    let large: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut stream = TcpStream::connect(&address).unwrap();
    let (mut writer, sent) = (stream.try_clone().unwrap(), large.clone());
    let writer = std::thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut echoed = Vec::new();
    stream.read_to_end(&mut echoed).unwrap();
    writer.join().unwrap();
    assert!(echoed == large);
    drop(clients);
    proxy.end_by("INT");
    server.end_by_sigterm();
}
