//! Bytes that go from a socket or file to another without the program seeing them.

use gossamer::net::{TcpListener, TcpStream, UnixStream};
use gossamer::{fs, io, spawn_with};
use integration_tests::{descriptors, in_runtime, isolated, workers};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// A file that is removed with this value.
struct Temporary(PathBuf);

impl Temporary {
    fn of(bytes: &[u8]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("gossamer-copying-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// Bytes that show where they belong.
fn bytes(count: u32) -> Vec<u8> {
    (0..count / 4).flat_map(u32::to_le_bytes).collect()
}

/// A fiber that reads everything that comes.
fn reader(stream: TcpStream) -> gossamer::JoinHandle<Vec<u8>> {
    let read = |mut stream: TcpStream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all).unwrap()
    };
    spawn_with(read, stream)
}

#[test]
fn a_megabyte_goes_from_socket_to_socket() {
    in_runtime(2, || {
        let ((source, mut from), (mut to, sink)) = (pair(), UnixStream::pair().unwrap());
        let send = |mut source: TcpStream| source.write_all(&bytes(1 << 20)).unwrap();
        let (sending, sent) = (spawn_with(send, source), bytes(1 << 20));
        let receive = |mut sink: UnixStream| {
            let mut all = Vec::new();
            sink.read_to_end(&mut all).map(|_| all).unwrap()
        };
        let received = spawn_with(receive, sink);
        assert_eq!(io::copy(&mut from, &mut to).unwrap(), 1 << 20);
        drop(to);
        sending.join();
        assert!(received.join() == sent);
    });
}

#[test]
fn a_file_is_sent_from_its_position_to_its_end() {
    in_runtime(2, || {
        let (text, (mut near, far)) = (bytes(10 << 20), pair());
        let file = Temporary::of(&text);
        let received = reader(far);
        let mut from = fs::File::open(&file.0).unwrap();
        // It has read ahead: what counts is the position that the program sees.
        from.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(io::copy(&mut from, &mut near).unwrap(), (10 << 20) - 10);
        assert_eq!(from.stream_position().unwrap(), 10 << 20);
        drop(near);
        assert!(received.join() == text[10..]);
    });
}

#[test]
fn a_part_of_a_file_is_sent_and_its_position_stays() {
    in_runtime(2, || {
        let (text, (mut near, far)) = (bytes(1 << 20), pair());
        let file = Temporary::of(&text);
        let received = reader(far);
        let mut from = fs::File::open(&file.0).unwrap();
        assert_eq!(io::send_file(&from, 1000, 500_000, &mut near).unwrap(), 500_000);
        assert_eq!(io::send_file(&from, (1 << 20) - 5, 100, &mut near).unwrap(), 5, "the file ends");
        assert_eq!(from.stream_position().unwrap(), 0);
        drop(near);
        let received = received.join();
        assert!(received[..500_000] == text[1000..501_000] && received[500_000..] == text[(1 << 20) - 5..]);
        let error = io::send_file(&from, 0, 1, &mut fs::File::open(&file.0).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_socket_is_copied_into_a_file_also_one_that_is_only_appended_to() {
    in_runtime(2, || {
        for append in [false, true] {
            let (near, mut far) = pair();
            let file = Temporary::of(b"head");
            let mut to = fs::File::options().write(!append).append(append).open(&file.0).unwrap();
            if !append {
                to.seek(SeekFrom::End(0)).unwrap();
            }
            let send = |mut near: TcpStream| near.write_all(&bytes(3 << 20)).unwrap();
            let sending = spawn_with(send, near);
            assert_eq!(io::copy(&mut far, &mut to).unwrap(), 3 << 20);
            sending.join();
            let all = fs::read(&file.0).unwrap();
            assert!(&all[..4] == b"head" && all[4..] == bytes(3 << 20), "append: {append}");
        }
    });
}

#[test]
fn a_file_is_copied_to_a_file_from_position_to_position() {
    in_runtime(1, || {
        let (from, to) = (Temporary::of(&bytes(100_000)), Temporary::of(b"1234"));
        let mut source = fs::File::open(&from.0).unwrap();
        let mut target = fs::File::options().write(true).open(&to.0).unwrap();
        source.read_exact(&mut [0; 8]).unwrap();
        target.seek(SeekFrom::Start(2)).unwrap();
        assert_eq!(io::copy(&mut source, &mut target).unwrap(), 99_992);
        let all = fs::read(&to.0).unwrap();
        assert!(&all[..2] == b"12" && all[2..] == bytes(100_000)[8..]);
    });
}

#[test]
fn a_proxy_passes_both_directions_and_their_ends_on() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let before = descriptors();
            let ((mut client, from), (to, mut server)) = (pair(), pair());
            let proxy = spawn_with(
                |(mut from, mut to): (TcpStream, TcpStream)| {
                    io::copy_bidirectional(&mut from, &mut to).unwrap()
                },
                (from, to),
            );
            client.write_all(b"question").unwrap();
            let mut question = [0; 8];
            server.read_exact(&mut question).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(server.read(&mut [0]).unwrap(), 0, "the end has come through");
            let answering =
                spawn_with(|mut server: TcpStream| server.write_all(&bytes(1 << 20)).unwrap(), server);
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert!(&question == b"question" && answer == bytes(1 << 20));
            answering.join();
            assert_eq!(proxy.join(), (8, 1 << 20));
            drop(client);
            assert_eq!(descriptors(), before);
        });
    });
}

#[test]
fn copying_to_a_peer_that_is_gone_is_an_error() {
    in_runtime(2, || {
        let ((source, mut from), (mut to, sink)) = (pair(), pair());
        drop(sink);
        let sending =
            spawn_with(|mut source: TcpStream| while source.write_all(&[0; 4096]).is_ok() {}, source);
        let error = io::copy(&mut from, &mut to).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        drop(from);
        sending.join();
    });
}
