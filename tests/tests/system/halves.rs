//! Connections that a reader and a writer fiber share.

use gossamer::net::{ReadHalf, TcpListener, TcpStream, UnixStream, WriteHalf};
use gossamer::spawn_with;
use integration_tests::{descriptors, in_runtime, isolated, workers};
use std::io::{Read, Write};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

#[test]
fn a_reader_and_a_writer_share_a_connection_without_a_second_descriptor() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let (near, far) = pair();
            let before = descriptors();
            let (reader, writer) = near.into_split();
            assert_eq!(descriptors(), before);
            let write = |mut writer: WriteHalf<TcpStream>| {
                for number in 0..10_000_u32 {
                    writer.write_all(&number.to_le_bytes()).unwrap();
                }
            };
            let read = |mut reader: ReadHalf<TcpStream>| {
                let mut all = Vec::new();
                reader.read_to_end(&mut all).unwrap()
            };
            let (written, read) = (spawn_with(write, writer), spawn_with(read, reader));
            // The echo ends because the writing half was dropped.
            let echoed = gossamer::io::copy(&mut &far, &mut &far).unwrap();
            drop(far);
            written.join();
            assert_eq!((echoed, read.join()), (40_000, 40_000));
        });
    });
}

#[test]
fn halves_are_put_together_again_if_they_are_of_one_connection() {
    in_runtime(1, || {
        let (one, mut other) = UnixStream::pair().unwrap();
        let (reader, writer) = one.into_split();
        let (strange, strangers) = UnixStream::pair().unwrap().0.into_split();
        let both = strange.reunite(writer).unwrap_err();
        assert!(both.to_string().contains("two connections"));
        drop(strangers);
        let mut one = reader.reunite(both.1).unwrap();
        one.write_all(b"still open").unwrap();
        other.read_exact(&mut [0; 10]).unwrap();
        other.write_all(b"both ways").unwrap();
        one.read_exact(&mut [0; 9]).unwrap();
    });
}

#[test]
fn a_writing_half_that_is_forgotten_leaves_its_direction_open() {
    in_runtime(1, || {
        let (one, other) = UnixStream::pair().unwrap();
        let (reader, writer) = one.into_split();
        writer.forget();
        assert_eq!(other.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        drop(reader);
        assert_eq!(other.try_read(&mut [0]).unwrap(), 0);
    });
}
