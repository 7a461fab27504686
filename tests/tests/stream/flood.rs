//! Strangers who come to the door of a stream by the thousand.

use crate::wire::options;
use gossamer::net::TcpStream;
use gossamer::stream::{Receiver, Sender};
use integration_tests::{isolated, wait_until};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How many strangers a thread holds: more than a door answers at a time.
const HELD: usize = 200;
const STREAMS: usize = 20;

struct Flood {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    came: Arc<AtomicUsize>,
}

impl Flood {
    /// Some say nothing, some say the first words of an end, some say other things.
    fn begin(door: SocketAddr) -> Self {
        let (ends, came) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let words = [&b""[..], b"gossam\0\x02and no more", b"GET / HTTP/1.1\r\n\r\n"];
        let stranger = |says: &'static [u8]| {
            let (has_ended, came) = (Arc::clone(&ends), Arc::clone(&came));
            thread::spawn(move || {
                let mut held = VecDeque::new();
                while !has_ended.load(Ordering::Relaxed) {
                    let Ok(mut stranger) = TcpStream::connect_timeout(&door, Duration::from_millis(50))
                    else {
                        continue;
                    };
                    // Reset when closed: otherwise the port would be unusable for others for a minute.
                    stranger.set_linger(Some(Duration::ZERO)).unwrap();
                    let _unheard = stranger.write_all(says);
                    held.push_back(stranger);
                    came.fetch_add(1, Ordering::Relaxed);
                    held.drain(..held.len().saturating_sub(HELD));
                }
            })
        };
        let threads = words.map(stranger).into();
        Self { ends, threads, came }
    }

    fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn strangers_who_come_by_thousands_keep_no_stream_out() {
    isolated(|| {
        let listener = Receiver::bind("127.0.0.1:0", options()).unwrap();
        let door = listener.local_addr().unwrap();
        let flood = Flood::begin(door);
        let accepting = thread::spawn(move || {
            for _ in 0..STREAMS {
                let mut text = String::new();
                listener.accept().unwrap().read_to_string(&mut text).unwrap();
                assert_eq!(text, "hello");
            }
        });
        wait_until(|| flood.came.load(Ordering::Relaxed) > 2 * HELD);
        for _ in 0..STREAMS {
            let mut sender = Sender::connect(door, 5, options()).unwrap();
            sender.write_all(b"hello").unwrap();
            sender.finish().unwrap();
        }
        accepting.join().unwrap();
        flood.end();
    });
}
