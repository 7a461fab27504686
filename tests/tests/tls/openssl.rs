//! TLS with `openssl s_client` and `openssl s_server`.

use crate::authority::{Authority, PROTOCOL};
use gossamer::net::tls::rustls::ProtocolVersion;
use gossamer::net::tls::{TlsAcceptor, TlsConnector};
use gossamer::net::{TcpListener, TcpStream};
use gossamer::unblock;
use integration_tests::in_runtime;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;

/// A process that ends with this value.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `openssl s_client` prints when it says `hello` and hears the answer.
fn s_client(authority: &Authority, port: u16, version: &str, session: &str) -> String {
    let arguments = format!(
        "s_client -connect 127.0.0.1:{port} -servername localhost -CAfile ca.pem -verify_return_error -alpn {PROTOCOL} \
         -ign_eof {version} {session}"
    );
    let mut command = authority.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    unblock(move || {
        let mut client = Started(command.spawn().unwrap());
        client.0.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let said = std::io::read_to_string(client.0.stdout.take().unwrap()).unwrap();
        assert!(client.0.wait().unwrap().success(), "{said}");
        said
    })
}

#[test]
fn the_client_of_openssl_agrees_with_our_server_and_resumes() {
    let Some(authority) = Authority::new() else { return };
    in_runtime(2, move || {
        let acceptor = TlsAcceptor::new(Arc::new(authority.server()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        gossamer::scope(|s| {
            s.spawn(|| {
                while let Ok((stream, _peer)) = listener.accept() {
                    let mut stream = acceptor.accept(stream).unwrap();
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    stream.write_all(line.to_uppercase().as_bytes()).unwrap();
                    stream.shutdown().unwrap();
                }
            });
            for (version, name) in [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")] {
                let first = s_client(&authority, port, version, "-sess_out session");
                assert!(first.contains("HELLO") && first.contains(&format!("New, {name}")), "{first}");
                assert!(first.contains(&format!("ALPN protocol: {PROTOCOL}")), "{first}");
                let second = s_client(&authority, port, version, "-sess_in session");
                assert!(second.contains("HELLO") && second.contains(&format!("Reused, {name}")), "{second}");
            }
            listener.close().unwrap();
        });
    });
}

#[test]
fn our_client_agrees_with_the_server_of_openssl_and_resumes() {
    let Some(authority) = Authority::new() else { return };
    in_runtime(1, move || {
        for (version, number) in
            [("-tls1_3", ProtocolVersion::TLSv1_3), ("-tls1_2", ProtocolVersion::TLSv1_2)]
        {
            let arguments = format!(
                "s_server -accept 127.0.0.1:0 -rev -cert cert.pem -key key.pem -alpn {PROTOCOL} -naccept 2 {version}"
            );
            let mut command = authority.command(&arguments);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut server = Started(command.spawn().unwrap());
            let said = BufReader::new(server.0.stdout.take().unwrap());
            let (port, _said) = unblock(move || {
                let mut lines = said.lines().map(Result::unwrap);
                let line = lines.find(|line| line.starts_with("ACCEPT")).unwrap();
                let port: u16 = line.rsplit(':').next().unwrap().parse().unwrap();
                (port, lines)
            });
            let connector = TlsConnector::new(Arc::new(authority.client()));
            for round in 0..2 {
                let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let mut stream = connector.connect("localhost", stream).unwrap();
                assert_eq!(stream.protocol_version(), Some(number));
                assert_eq!(stream.alpn_protocol(), Some(PROTOCOL.as_bytes()));
                assert_eq!(stream.is_resumed(), round > 0, "{version}");
                stream.write_all(b"drawer\n").unwrap();
                let mut answer = String::new();
                stream.read_line(&mut answer).unwrap();
                assert_eq!(answer, "reward\n");
                stream.shutdown().unwrap();
            }
        }
    });
}
