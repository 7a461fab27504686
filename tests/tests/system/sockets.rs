//! Futures of sockets, and waiting without a buffer: under another executor, in threads and in fibers.

use gossamer::net::{TcpListener, TcpStream, UdpSocket};
use gossamer::spawn_with;
use integration_tests::{in_runtime, watched};
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

fn tokio() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

#[test]
fn an_async_server_and_its_clients_talk_under_another_executor() {
    watched(|| {
        tokio().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = tokio::spawn(async move {
                for _ in 0..20 {
                    let (stream, _peer) = listener.accept_async().await.unwrap();
                    tokio::spawn(async move {
                        let mut buffer = [0; 100];
                        loop {
                            stream.readable_async().await.unwrap();
                            match stream.read_async(&mut buffer).await.unwrap() {
                                0 => return,
                                length => {
                                    assert_eq!(stream.write_async(&buffer[..length]).await.unwrap(), length)
                                }
                            }
                        }
                    });
                }
            });
            let clients: Vec<_> = (0..20_u8)
                .map(|number| {
                    tokio::spawn(async move {
                        let stream = TcpStream::connect_async(("localhost", port)).await.unwrap();
                        for round in 0..20 {
                            stream.writable_async().await.unwrap();
                            stream.write_async(&[number, round]).await.unwrap();
                            let mut answer = [0; 2];
                            assert_eq!(stream.read_async(&mut answer).await.unwrap(), 2);
                            assert_eq!(answer, [number, round]);
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
            server.await.unwrap();
        });
    });
}

#[test]
fn a_future_that_is_dropped_in_a_choice_loses_nothing() {
    watched(|| {
        let ((near, mut far), (other, mut far_other)) = (pair(), pair());
        tokio().block_on(async move {
            let (mut one, mut two) = ([0; 1], [0; 1]);
            for round in 0..100 {
                if round % 2 == 0 {
                    far.write_all(&[round]).unwrap()
                } else {
                    far_other.write_all(&[round]).unwrap()
                }
                let (mut first, mut second) =
                    (pin!(near.read_async(&mut one)), pin!(other.read_async(&mut two)));
                let which = poll_fn(|context| match first.as_mut().poll(context) {
                    Poll::Ready(length) => Poll::Ready((0, length.unwrap())),
                    Poll::Pending => second.as_mut().poll(context).map(|length| (1, length.unwrap())),
                });
                assert_eq!(which.await, (round % 2, 1));
            }
            let waited = tokio::time::timeout(Duration::from_millis(10), near.readable_async()).await;
            assert!(waited.is_err());
            drop(far);
            near.readable_async().await.unwrap();
            assert_eq!(near.read_async(&mut one).await.unwrap(), 0);
        });
    });
}

#[test]
fn datagrams_are_sent_and_received_by_futures() {
    watched(|| {
        tokio().block_on(async {
            let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
            let (to, mut buffer) = (far.local_addr().unwrap(), [0; 10]);
            assert_eq!(near.send_to_async(b"one", to).await.unwrap(), 3);
            assert_eq!(far.recv_from_async(&mut buffer).await.unwrap(), (3, near.local_addr().unwrap()));
            far.connect(near.local_addr().unwrap()).unwrap();
            far.writable_async().await.unwrap();
            assert_eq!(far.send_async(b"four").await.unwrap(), 4);
            near.readable_async().await.unwrap();
            assert_eq!(near.recv_async(&mut buffer).await.unwrap(), 4);
        });
    });
}

#[test]
fn what_never_waits_is_allowed_in_a_delegated_closure() {
    in_runtime(1, || {
        let socket = gossamer::entrust(UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = socket.apply(|socket| socket.local_addr().unwrap());
        assert_eq!(
            socket.apply(|socket| socket.try_recv(&mut [0]).unwrap_err().kind()),
            ErrorKind::WouldBlock
        );
        assert_eq!(socket.apply_with(|socket, to| socket.try_send_to(b"one", to).unwrap(), to), 3);
        // Loopback delivers at once, unless the kernel is busy.
        let length = loop {
            let received = socket.apply(|socket| match socket.try_recv_from(&mut [0; 8]) {
                Ok((length, _)) => Ok(length),
                Err(error) => Err(error.kind()),
            });
            match received {
                Err(ErrorKind::WouldBlock) => gossamer::yield_now(),
                received => break received.unwrap(),
            }
        };
        assert_eq!(length, 3);
        let (near, far) = pair();
        let stream = gossamer::entrust(near);
        assert_eq!(
            stream.apply(|stream| stream.try_read(&mut [0]).unwrap_err().kind()),
            ErrorKind::WouldBlock
        );
        assert_eq!(stream.apply(|stream| stream.try_write(b"12").unwrap()), 2);
        let mut peeked = [0; 4];
        assert_eq!((far.peek(&mut peeked).unwrap(), &peeked[..2]), (2, &b"12"[..]));
    });
}

#[test]
fn a_fiber_waits_for_a_silent_peer_without_a_buffer_and_within_its_limit() {
    in_runtime(2, || {
        let (near, mut far) = pair();
        near.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        assert_eq!(near.readable().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        near.set_read_timeout(None).unwrap();
        near.writable().unwrap();
        let reader = spawn_with(
            |mut near: TcpStream| {
                near.readable().unwrap();
                near.readable().unwrap();
                let mut all = Vec::new();
                near.read_to_end(&mut all).unwrap();
                near.readable().unwrap();
                all.len()
            },
            near,
        );
        gossamer::sleep(Duration::from_millis(5));
        far.write_all(b"12345").unwrap();
        drop(far);
        assert_eq!(reader.join(), 5);
    });
}

#[test]
fn what_is_available_is_appended_in_order_by_fibers_and_threads_and_a_limit_loses_nothing() {
    const BYTES: usize = 300_000;
    let sum =
        |bytes: &[u8]| bytes.iter().enumerate().map(|(at, byte)| at as u64 * u64::from(*byte)).sum::<u64>();
    let sent: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
    let expected = sum(&sent);
    in_runtime(2, move || {
        let (near, mut far) = pair();
        near.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut received = b"before".to_vec();
        assert_eq!(near.read_available(&mut received).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        assert_eq!((received.as_slice(), received.capacity()), (b"before".as_slice(), 6));
        near.set_read_timeout(None).unwrap();
        let reader = spawn_with(
            |near: TcpStream| {
                let mut received = Vec::new();
                loop {
                    let (count, before) = (near.read_available(&mut received).unwrap(), received.len());
                    assert!(count <= 64 * 1024 && count <= before);
                    if count == 0 {
                        return received;
                    }
                }
            },
            near,
        );
        far.write_all(&sent).unwrap();
        drop(far);
        let received = reader.join();
        assert_eq!((received.len(), sum(&received)), (BYTES, expected));
        // A thread of its own has its own memory, and waits for the kernel.
        let (near, mut far) = pair();
        far.write_all(b"to a thread").unwrap();
        drop(far);
        let received = gossamer::unblock(move || {
            let mut received = Vec::new();
            while near.read_available(&mut received).unwrap() > 0 {}
            received
        });
        assert_eq!(received, b"to a thread");
    });
}

#[test]
fn a_thread_waits_for_a_silent_peer_too() {
    watched(|| {
        let (near, mut far) = pair();
        let reader = std::thread::spawn(move || near.readable().map(|()| near));
        far.write_all(b"1").unwrap();
        let mut near = reader.join().unwrap().unwrap();
        near.read_exact(&mut [0]).unwrap();
    });
}

#[test]
fn one_stream_serves_a_fiber_and_an_async_task_at_once() {
    watched(|| {
        let (mut near, far) = gossamer::run(integration_tests::workers(1), pair);
        let near_too = near.try_clone().unwrap();
        let task = std::thread::spawn(move || {
            tokio().block_on(async move {
                let mut bytes = 0;
                while far.read_async(&mut [0; 3]).await.unwrap() > 0 {
                    bytes += 1;
                    far.write_async(b"x").await.unwrap();
                }
                bytes
            })
        });
        gossamer::run(integration_tests::workers(1), move || {
            for _ in 0..50 {
                near.write_all(b"abc").unwrap();
                near.read_exact(&mut [0]).unwrap();
            }
        });
        drop(near_too);
        assert_eq!(task.join().unwrap(), 50);
    });
}
