//! Unix sockets: connections and datagrams inside the machine, in fibers, threads and futures.

use gossamer::net::{UnixDatagram, UnixListener, UnixStream};
use gossamer::{block_on, spawn_with, timeout};
use integration_tests::{in_runtime, isolated, watched};
use std::io::{BufRead, BufReader, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A path of its own, in a directory that is removed with this value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("gossamer-unix-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory).unwrap();
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn abstract_name(name: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("gossamer-test-{}-{name}", std::process::id())).unwrap()
}

#[test]
fn fibers_talk_over_a_path() {
    // A process that another test starts has the listener, too, until it executes its program.
    isolated(|| {
        in_runtime(2, || {
            let place = Place::new();
            let listener = UnixListener::bind(place.path("socket")).unwrap();
            let client = |path: String| {
                let mut stream = UnixStream::connect(path).unwrap();
                stream.write_all(b"one\ntwo\n").unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let lines = BufReader::new(stream).lines();
                lines.collect::<Result<Vec<_>, _>>().unwrap()
            };
            let path = place.path("socket").to_str().unwrap().to_owned();
            let clients: Vec<_> = (0..20).map(|_| spawn_with(client, path.clone())).collect();
            for stream in listener.incoming().take(20).map(Result::unwrap) {
                drop(spawn_with(
                    |mut stream: UnixStream| {
                        let text = std::io::read_to_string(&mut stream).unwrap();
                        stream.write_all(text.to_uppercase().as_bytes()).unwrap();
                    },
                    stream,
                ));
            }
            clients.into_iter().for_each(|client| assert_eq!(client.join(), ["ONE", "TWO"]));
            assert_eq!(UnixListener::bind(place.path("socket")).unwrap_err().kind(), ErrorKind::AddrInUse);
            drop(listener);
            let refused = UnixStream::connect(place.path("socket")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        });
    });
}

#[test]
fn both_ends_of_an_abstract_name_know_who_the_other_is() {
    in_runtime(1, || {
        let name = abstract_name("credentials");
        let listener = UnixListener::bind_addr(&name).unwrap();
        let near = UnixStream::connect_addr(&name).unwrap();
        let (far, _unnamed) = listener.accept().unwrap();
        assert_eq!(near.peer_addr().unwrap().as_abstract_name(), name.as_abstract_name());
        let own = (
            std::process::id() as i32,
            std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()),
        );
        for end in [&near, &far] {
            let peer = end.peer_cred().unwrap();
            assert_eq!((peer.pid(), peer.uid()), (Some(own.0), own.1));
        }
        assert_eq!(UnixDatagram::pair().unwrap().0.peer_cred().unwrap().pid(), Some(own.0));
    });
}

#[test]
fn a_connect_to_a_listener_with_a_full_queue_waits_for_room() {
    in_runtime(2, || {
        let place = Place::new();
        let std_listener = std::os::unix::net::UnixListener::bind(place.path("full")).unwrap();
        let listener = UnixListener::from_std(std_listener).unwrap();
        // More than std's backlog, and than what the kernel adds to it.
        const CLIENTS: usize = 6000;
        let path = place.path("full").to_str().unwrap().to_owned();
        let connect = |path: String| {
            let streams = (0..CLIENTS / 20).map(|_| UnixStream::connect(&path).unwrap());
            streams.map(drop).count()
        };
        let clients: Vec<_> = (0..20).map(|_| spawn_with(connect, path.clone())).collect();
        let accepted = listener.incoming().take(CLIENTS).map(Result::unwrap).count();
        let connected: usize = clients.into_iter().map(|client| client.join()).sum();
        assert_eq!((accepted, connected), (CLIENTS, CLIENTS));
    });
}

#[test]
fn a_stream_is_peeked_read_in_parts_and_tried() {
    in_runtime(1, || {
        let (near, mut far) = UnixStream::pair().unwrap();
        assert_eq!(near.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b"cd")];
        assert_eq!(far.write_vectored(&parts).unwrap(), 4);
        let mut peeked = [0; 3];
        assert_eq!((near.peek(&mut peeked).unwrap(), &peeked), (3, b"abc"));
        let (mut first, mut second) = ([0; 1], [0; 9]);
        let length =
            near.try_read_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)]).unwrap();
        assert_eq!((length, &first, &second[..3]), (4, b"a", &b"bcd"[..]));
        let mut sent = 0;
        let full = loop {
            match near.try_write(&[0; 65536]) {
                Ok(bytes) => sent += bytes,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        drop(near);
        assert_eq!(far.read_to_end(&mut Vec::new()).unwrap(), sent);
    });
}

#[test]
fn a_silent_peer_is_given_up_after_the_limit() {
    in_runtime(1, || {
        let (mut near, _far) = UnixStream::pair().unwrap();
        near.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(near.peek(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        let name = abstract_name("silent");
        let listener = UnixListener::bind_addr(&name).unwrap();
        let nobody = listener.accept_timeout(Duration::from_millis(5)).unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::TimedOut);
        assert!(timeout(Duration::from_millis(5), listener.accept_async()).is_err());
    });
}

#[test]
fn datagrams_arrive_whole_and_none_is_lost() {
    in_runtime(2, || {
        let place = Place::new();
        let receiver = UnixDatagram::bind(place.path("receiver")).unwrap();
        let path = place.path("receiver").to_str().unwrap().to_owned();
        // Many more than the kernel queues, from senders that have connected and from others.
        let send = |(path, connected): (String, bool)| {
            let sender = UnixDatagram::unbound().unwrap();
            if connected {
                sender.connect(&path).unwrap();
            }
            for number in 0..500_u32 {
                let bytes = number.to_le_bytes();
                let sent = if connected { sender.send(&bytes) } else { sender.send_to(&bytes, &path) };
                assert_eq!(sent.unwrap(), 4);
            }
        };
        let senders: Vec<_> =
            [true, false].map(|connected| spawn_with(send, (path.clone(), connected))).into();
        let mut sum = 0_u64;
        for _ in 0..1000 {
            let mut bytes = [0; 8];
            assert_eq!(receiver.recv(&mut bytes).unwrap(), 4);
            sum += u64::from_le_bytes(bytes);
        }
        senders.into_iter().for_each(|sender| sender.join());
        assert_eq!(sum, 2 * (0..500).sum::<u64>());
        assert_eq!(receiver.try_recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn a_sender_without_a_connection_waits_no_longer_than_its_limit() {
    in_runtime(1, || {
        let name = abstract_name("full-receiver");
        let _receiver = UnixDatagram::bind_addr(&name).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
        let error = (0..10_000).find_map(|_| sender.send_to_addr(b"1", &name).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    });
}

#[test]
fn unix_sockets_serve_threads_and_async_tasks_too() {
    watched(|| {
        let place = Place::new();
        let listener = UnixListener::bind(place.path("thread")).unwrap();
        let path = place.path("thread");
        let client = std::thread::spawn(move || {
            block_on(async {
                let stream = UnixStream::connect_async(path).await.unwrap();
                assert_eq!(stream.write_async(b"abc").await.unwrap(), 3);
                stream.readable_async().await.unwrap();
                stream.read_async(&mut [0; 8]).await.unwrap()
            })
        });
        let (mut stream, _peer) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 3]).unwrap();
        stream.write_all(b"12").unwrap();
        assert_eq!(client.join().unwrap(), 2);
        let std_stream = stream.into_std().unwrap();
        assert!(UnixStream::from_std(std_stream).is_ok());
        let (near, far) = UnixDatagram::pair().unwrap();
        assert_eq!(block_on(near.send_async(b"four")).unwrap(), 4);
        assert_eq!(block_on(far.recv_async(&mut [0; 8])).unwrap(), 4);
    });
}
