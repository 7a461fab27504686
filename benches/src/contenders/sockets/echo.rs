//! Fetch-and-add over one connection, without any framing: each end reads what is there, and answers all of it with one
//! write.

use super::between;
use crate::latency::Stopwatch;
use crate::measure::{METER, Sample, Setting};
use std::hint::black_box;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Bytes of an answer.
const ANSWER: usize = size_of::<u64>();
/// Bytes read at once.
const BUFFER: usize = 256 * 1024;

/// Both ends look again and again.
pub fn spinning(setting: &Setting) -> Sample {
    between(
        setting,
        |setting, socket| ask(setting, End::new(socket, false)),
        |setting, socket| {
            serve(setting, End::new(socket, false));
        },
    )
}

/// Both ends sleep in `epoll_wait` until there is something.
pub fn blocking(setting: &Setting) -> Sample {
    between(
        setting,
        |setting, socket| ask(setting, End::new(socket, true)),
        |setting, socket| {
            serve(setting, End::new(socket, true));
        },
    )
}

/// One end of the connection.
struct End<'a> {
    socket: &'a TcpStream,
    poller: Option<OwnedFd>,
    arrived: Vec<u8>,
    filled: usize,
}

impl<'a> End<'a> {
    fn new(socket: &'a TcpStream, sleeps: bool) -> Self {
        assert!(socket.set_nonblocking(true).is_ok(), "the socket cannot be had not to block");
        End { socket, poller: sleeps.then(|| poller(socket)), arrived: vec![0; BUFFER], filled: 0 }
    }

    /// Waits for messages of `size` bytes, and returns all complete ones, one after another; nothing at the end.
    #[inline(always)]
    fn receive<R>(&mut self, size: usize, take: impl FnOnce(&[u8]) -> R) -> R {
        loop {
            let mut socket = self.socket;
            match socket.read(&mut self.arrived[self.filled..]) {
                Ok(0) => return take(&[]),
                Ok(count) => {
                    self.filled += count;
                    let whole = self.filled / size * size;
                    if whole > 0 {
                        let result = take(&self.arrived[..whole]);
                        self.arrived.copy_within(whole..self.filled, 0);
                        self.filled -= whole;
                        return result;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.sleep(),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return take(&[]),
                Err(error) => panic!("reading: {error}"),
            }
        }
    }

    #[inline(always)]
    fn send(&self, mut bytes: &[u8]) {
        let mut socket = self.socket;
        while !bytes.is_empty() {
            match socket.write(bytes) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
                Err(error) => panic!("writing: {error}"),
            }
        }
    }

    #[inline(always)]
    fn sleep(&self) {
        if let Some(poller) = &self.poller {
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            // SAFETY: `event` is a valid place for one event.
            unsafe { libc::epoll_wait(poller.as_raw_fd(), &raw mut event, 1, -1) };
        }
    }
}

fn poller(socket: &TcpStream) -> OwnedFd {
    // SAFETY: the call takes a number.
    let poller = unsafe { libc::epoll_create1(0) };
    assert!(poller >= 0, "the system gives no poller");
    // SAFETY: the descriptor is new, and nobody else's.
    let poller = unsafe { OwnedFd::from_raw_fd(poller) };
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    let (to, add) = (poller.as_raw_fd(), libc::EPOLL_CTL_ADD);
    // SAFETY: both descriptors are open, and `event` is one event.
    let status = unsafe { libc::epoll_ctl(to, add, socket.as_raw_fd(), &raw mut event) };
    assert_eq!(status, 0, "the poller refuses the socket");
    poller
}

fn ask(setting: &Setting, mut end: End<'_>) {
    let requests: Vec<u8> =
        1u64.to_ne_bytes().into_iter().cycle().take(setting.bytes * setting.parallel).collect();
    let mut sum = 0u64;
    let mut take = |answers: &[u8]| {
        for answer in answers.chunks_exact(ANSWER) {
            sum = sum.wrapping_add(word(answer));
        }
        answers.len() / ANSWER
    };
    if setting.parallel == 1 {
        let mut stopwatch = Stopwatch::default();
        while !METER.stopped() {
            stopwatch.time(|| {
                end.send(&requests);
                end.receive(ANSWER, &mut take)
            });
            METER.add(0, 1);
        }
        stopwatch.finish();
    } else {
        end.send(&requests);
        while !METER.stopped() {
            let answered = end.receive(ANSWER, &mut take);
            METER.add(0, answered as u64);
            end.send(&requests[..answered * setting.bytes]);
        }
    }
    black_box(sum);
}

fn serve(setting: &Setting, mut end: End<'_>) {
    let (mut value, mut answers) = (0u64, Vec::new());
    loop {
        end.receive(setting.bytes, |requests| {
            for request in requests.chunks_exact(setting.bytes) {
                answers.extend_from_slice(&value.to_ne_bytes());
                value += word(request);
            }
        });
        if answers.is_empty() {
            return;
        }
        end.send(&answers);
        answers.clear();
    }
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
