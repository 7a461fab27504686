//! Listeners: their settings, several of one port, and the end of those that wait.

use gossamer::net::{TcpKeepalive, TcpListener, TcpStream, UnixListener, UnixStream};
use gossamer::{spawn_on_with, spawn_with};
use integration_tests::{in_runtime, watched};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::time::Duration;

const A_WHILE: Duration = Duration::from_millis(20);

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

#[test]
fn accepted_connections_have_the_settings_of_their_listener() {
    in_runtime(1, || {
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(60))
            .with_interval(Duration::from_secs(10))
            .with_retries(3);
        let builder = TcpListener::builder()
            .nodelay(true)
            .keepalive(keepalive)
            .linger(Duration::ZERO)
            .recv_buffer_size(40_000)
            .send_buffer_size(50_000)
            .fast_open(16)
            .backlog(16);
        let listener = builder.bind("127.0.0.1:0").unwrap();
        let client = connect(listener.local_addr().unwrap());
        let (stream, _peer) = listener.accept().unwrap();
        assert!(stream.nodelay().unwrap() && stream.keepalive().unwrap());
        assert_eq!(stream.linger().unwrap(), Some(Duration::ZERO));
        assert_eq!(stream.recv_buffer_size().unwrap(), 80_000);
        assert_eq!(stream.send_buffer_size().unwrap(), 100_000);
        drop(stream);
        let reset = (&client).read(&mut [0]).unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset, "it lingers for no time");
    });
}

#[test]
fn a_connection_takes_its_settings_and_tells_them() {
    in_runtime(1, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = connect(listener.local_addr().unwrap());
        assert!(!stream.keepalive().unwrap());
        stream.set_keepalive(Some(&TcpKeepalive::new().with_time(Duration::from_secs(5)))).unwrap();
        assert!(stream.keepalive().unwrap());
        stream.set_keepalive(None).unwrap();
        assert!(!stream.keepalive().unwrap());
        assert!(stream.set_keepalive(Some(&TcpKeepalive::new().with_time(Duration::ZERO))).is_err());
        assert_eq!(stream.linger().unwrap(), None);
        stream.set_linger(Some(Duration::ZERO)).unwrap();
        assert_eq!(stream.linger().unwrap(), Some(Duration::ZERO));
        stream.set_ttl(7).unwrap();
        assert_eq!(stream.ttl().unwrap(), 7);
        stream.set_send_buffer_size(30_000).unwrap();
        assert_eq!(stream.send_buffer_size().unwrap(), 60_000);
        stream.set_quickack(true).unwrap();
        stream.set_cork(true).unwrap();
        stream.set_cork(false).unwrap();
        stream.set_user_timeout(Some(Duration::from_secs(3))).unwrap();
        let too_long = stream.set_user_timeout(Some(Duration::from_secs(60 * 24 * 3600))).unwrap_err();
        assert_eq!(too_long.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn listeners_of_one_port_share_its_connections() {
    in_runtime(2, || {
        let first = TcpListener::builder().reuse_port(true).bind("127.0.0.1:0").unwrap();
        let address = first.local_addr().unwrap();
        let second = TcpListener::builder().reuse_port(true).bind(address).unwrap();
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse, "it did not say so");
        let accept = |listener: TcpListener| {
            let mut accepted = 0;
            while let Ok((mut stream, _peer)) = listener.accept() {
                stream.write_all(b"!").unwrap();
                accepted += 1;
            }
            accepted
        };
        let handles = [first.try_clone().unwrap(), second.try_clone().unwrap()];
        let servers = [spawn_with(accept, first), spawn_with(accept, second)];
        for _ in 0..200 {
            connect(address).read_exact(&mut [0]).unwrap();
        }
        handles.iter().for_each(|handle| handle.close().unwrap());
        let accepted = servers.map(|server| server.join());
        assert_eq!(accepted.iter().sum::<usize>(), 200);
        assert!(accepted.iter().all(|some| *some > 0), "the kernel spreads them: {accepted:?}");
    });
}

#[test]
fn a_listener_of_ipv6_leaves_ipv4_to_others_if_it_is_told_so() {
    in_runtime(1, || {
        let only_six = || TcpListener::builder().only_v6(true).bind("[::]:0");
        if only_six().is_err() {
            println!("skipped: this machine has no IPv6");
            return;
        }
        // Somebody else's IPv4 connection may have the port, or may have had it a minute ago.
        let shares = |_| {
            let six = only_six().unwrap();
            TcpListener::bind(("0.0.0.0", six.local_addr().unwrap().port())).is_ok()
        };
        assert!((0..100).any(shares));
        let both = TcpListener::builder().only_v6(false).bind("[::]:0").unwrap();
        let port = both.local_addr().unwrap().port();
        connect(SocketAddr::from(([127, 0, 0, 1], port)));
        assert!(both.accept().unwrap().1.is_ipv6());
    });
}

#[test]
fn a_thousand_connect_before_anybody_accepts() {
    in_runtime(1, || {
        let listener = TcpListener::builder().bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let count = 1000.min(most.trim().parse().unwrap());
        let clients: Vec<_> = (0..count).map(|_| connect(address)).collect();
        assert_eq!(listener.incoming().take(count).filter(Result::is_ok).count(), clients.len());
    });
}

#[test]
fn closing_a_listener_wakes_all_who_wait_and_says_so() {
    in_runtime(2, || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let wait = |listener: TcpListener| listener.accept().unwrap_err().to_string();
        let mut waiting = Vec::new();
        for at in gossamer::Trustee::all() {
            waiting.push(spawn_on_with(at, wait, listener.try_clone().unwrap()));
        }
        let other = listener.try_clone().unwrap();
        let thread = std::thread::spawn(move || other.accept().unwrap_err().kind());
        gossamer::sleep(A_WHILE);
        listener.close().unwrap();
        for fiber in waiting {
            assert!(fiber.join().starts_with("the listener is closed"));
        }
        assert_eq!(gossamer::unblock(move || thread.join().unwrap()), ErrorKind::NotConnected);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::NotConnected);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        listener.close().unwrap();
    });
}

#[test]
fn closing_a_unix_listener_wakes_fibers_and_threads() {
    in_runtime(2, || {
        let name = format!("gossamer-test-unix-closing-{}", std::process::id());
        let name = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let wait = |listener: UnixListener| listener.accept().unwrap_err().to_string();
        let waiting = spawn_with(wait, listener.try_clone().unwrap());
        let other = listener.try_clone().unwrap();
        let thread = std::thread::spawn(move || other.accept().unwrap_err().kind());
        gossamer::sleep(A_WHILE);
        listener.close().unwrap();
        assert!(waiting.join().starts_with("the listener is closed"));
        assert_eq!(gossamer::unblock(move || thread.join().unwrap()), ErrorKind::NotConnected);
        assert_eq!(UnixStream::connect_addr(&name).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn closing_a_unix_listener_wakes_who_waits_in_a_future() {
    watched(|| {
        let name = format!("gossamer-test-closing-{}", std::process::id());
        let name = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&name).unwrap();
        let other = listener.try_clone().unwrap();
        let waiting =
            std::thread::spawn(move || gossamer::block_on(other.accept_async()).unwrap_err().kind());
        std::thread::sleep(A_WHILE);
        listener.close().unwrap();
        assert_eq!(waiting.join().unwrap(), ErrorKind::NotConnected);
    });
}
