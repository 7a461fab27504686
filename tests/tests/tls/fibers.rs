//! TLS between fibers.

use crate::authority::{Authority, PROTOCOL};
use gossamer::net::tls::{TlsAcceptor, TlsConnector, TlsStream};
use gossamer::net::{TcpListener, TcpStream, UnixStream};
use gossamer::spawn_with;
use integration_tests::in_runtime;
use std::io::{BufRead, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn fibers_talk_under_tls_and_later_connections_are_resumed() {
    let Some(authority) = Authority::new() else { return };
    in_runtime(2, move || {
        let acceptor = TlsAcceptor::new(Arc::new(authority.server()));
        let connector = TlsConnector::new(Arc::new(authority.client()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = spawn_with(
            |(listener, acceptor): (TcpListener, TlsAcceptor)| {
                for stream in listener.incoming().take(3) {
                    let mut stream = acceptor.accept(stream.unwrap()).unwrap();
                    assert_eq!(stream.server_name(), Some("localhost"));
                    let mut line = String::new();
                    stream.read_line(&mut line).unwrap();
                    stream.write_all(line.to_uppercase().as_bytes()).unwrap();
                    stream.shutdown().unwrap();
                }
            },
            (listener, acceptor),
        );
        for round in 0..3 {
            let mut stream = connector.connect("localhost", TcpStream::connect(address).unwrap()).unwrap();
            assert_eq!(stream.alpn_protocol(), Some(PROTOCOL.as_bytes()));
            assert_eq!(stream.is_resumed(), round > 0);
            assert_eq!(stream.peer_certificates().unwrap().len(), 1);
            stream.write_all(b"hello\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "HELLO\n");
        }
        server.join();
    });
}

#[test]
fn megabytes_arrive_whole_and_a_cut_connection_is_told_from_an_end() {
    let Some(authority) = Authority::new() else { return };
    in_runtime(2, move || {
        let acceptor = TlsAcceptor::new(Arc::new(authority.server()));
        let connector = TlsConnector::new(Arc::new(authority.client()));
        for ends_well in [true, false] {
            let (near, far) = UnixStream::pair().unwrap();
            let server = spawn_with(
                |(far, acceptor, ends_well): (UnixStream, TlsAcceptor, bool)| {
                    let mut stream = acceptor.accept(far).unwrap();
                    let bytes: Vec<u8> = (0..1 << 20).flat_map(u32::to_le_bytes).collect();
                    stream.write_all(&bytes).unwrap();
                    if ends_well {
                        stream.shutdown().unwrap();
                    }
                },
                (far, acceptor.clone(), ends_well),
            );
            let mut stream = connector.connect("localhost", near).unwrap();
            let mut bytes = Vec::new();
            let outcome = stream.read_to_end(&mut bytes).map_err(|error| error.kind());
            assert_eq!(outcome, if ends_well { Ok(4 << 20) } else { Err(ErrorKind::UnexpectedEof) });
            let numbers = bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
            assert!(numbers.eq(0..1 << 20));
            server.join();
        }
    });
}

#[test]
fn a_server_of_another_name_or_authority_is_refused_and_a_silent_one_given_up() {
    let (Some(authority), Some(stranger)) = (Authority::new(), Authority::new()) else { return };
    in_runtime(2, move || {
        let acceptor = TlsAcceptor::new(Arc::new(authority.server()));
        let connect = |connector: &TlsConnector, name: &str| {
            let (near, far) = UnixStream::pair().unwrap();
            let accept = |(far, acceptor): (UnixStream, TlsAcceptor)| acceptor.accept(far).is_err();
            let server = spawn_with(accept, (far, acceptor.clone()));
            let error = connector.connect(name, near).map(drop).unwrap_err();
            assert!(server.join());
            error
        };
        let connector = TlsConnector::new(Arc::new(authority.client()));
        let error = connect(&connector, "example.org");
        assert!(error.to_string().contains("not valid for name"), "{error}");
        let error = connect(&TlsConnector::new(Arc::new(stranger.client())), "localhost");
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        assert_eq!(connect(&connector, "no name").kind(), ErrorKind::InvalidInput);
        let (near, _silent) = UnixStream::pair().unwrap();
        near.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let error = connector.connect("localhost", near).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let error = acceptor.accept(near).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    });
}

#[test]
fn a_stream_goes_from_fiber_to_fiber() {
    let Some(authority) = Authority::new() else { return };
    in_runtime(2, move || {
        let (near, far) = UnixStream::pair().unwrap();
        let acceptor = TlsAcceptor::new(Arc::new(authority.server()));
        let accept = |(far, acceptor): (UnixStream, TlsAcceptor)| acceptor.accept(far).unwrap();
        let server = spawn_with(accept, (far, acceptor));
        let mut client = TlsConnector::new(Arc::new(authority.client())).connect("localhost", near).unwrap();
        let read = |mut stream: TlsStream<UnixStream>| {
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).unwrap();
            bytes.to_vec()
        };
        let reader = spawn_with(read, server.join());
        client.write_all(b"12345").unwrap();
        assert_eq!(reader.join(), b"12345");
    });
}
