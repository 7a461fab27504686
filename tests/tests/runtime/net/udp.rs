//! Datagrams.

use gossamer::net::UdpSocket;
use gossamer::spawn_with;
use integration_tests::in_runtime;
use std::io::ErrorKind;
use std::time::Duration;

#[test]
fn datagrams_go_back_and_forth_between_fibers() {
    in_runtime(2, || {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let echo = |server: UdpSocket| {
            let mut buffer = [0; 100];
            for _ in 0..100 {
                let (length, peer) = server.recv_from(&mut buffer).unwrap();
                server.send_to(&buffer[..length], peer).unwrap();
            }
        };
        let echo = spawn_with(echo, server);
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(address).unwrap();
        assert_eq!(client.peer_addr().unwrap(), address);
        for length in 1..=100 {
            let mut buffer = [0; 200];
            client.send(&vec![length as u8; length]).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), length);
            assert!(buffer[..length].iter().all(|&byte| byte == length as u8));
        }
        echo.join();
    });
}

#[test]
fn receiving_gives_up_after_its_limit() {
    in_runtime(1, || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        assert_eq!(socket.recv_from(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other.send_to(b"!", socket.local_addr().unwrap()).unwrap();
        assert_eq!(socket.peek_from(&mut [0]).unwrap().0, 1);
        assert_eq!(socket.recv_from(&mut [0]).unwrap(), (1, other.local_addr().unwrap()));
    });
}
