//! A machine in the middle of a link, which each side takes for the other: it accepts connections, and carries data as
//! a bad link does: slowly, late and in small pieces, or not at all.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

/// The ports that sockets of a machine get, so that this machine can listen at all of them.
const PORTS: std::ops::RangeInclusive<u16> = 40_000..=40_063;
/// How long bytes are under way.
const DELAY: Duration = Duration::from_millis(10);
/// Bytes a second of a connection.
const RATE: u32 = 500_000;
/// How many bytes are written at a time, in turn.
const PIECES: [usize; 5] = [1, 250, 7, 64, 3];
/// How many bytes are read at a time.
const CHUNK: usize = 16 * 1024;
/// How often a cut link checks whether it was mended.
const LOOK: Duration = Duration::from_millis(20);

/// A namespace, and the addresses there whose connections it accepts.
pub type Side = (PathBuf, Vec<Ipv4Addr>);

/// It ends with this value.
pub struct Middle {
    link: Arc<Link>,
    end: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

/// What both directions share.
#[derive(Default)]
struct Link {
    /// By the side from which bytes come.
    cut: [AtomicBool; 2],
    carried: [AtomicU64; 2],
}

/// From now on, this thread's sockets are in the namespace.
fn enter(namespace: &Path) {
    let namespace = File::open(namespace).unwrap();
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

/// Makes sockets of a machine get one of `PORTS`.
pub fn few_ports(machine: &Path) {
    let machine = machine.to_owned();
    let range = format!("{} {}", PORTS.start(), PORTS.end());
    let write = move || {
        enter(&machine);
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).unwrap();
    };
    std::thread::spawn(write).join().unwrap();
}

impl Middle {
    /// Accepts connections to `PORTS`, which are slow, and to a fast `port` for what the tests are not about, such as
    /// shipping large programs.
    pub fn start(sides: [Side; 2], port: u16) -> Self {
        let (link, end) = (Arc::new(Link::default()), Arc::new(Notify::new()));
        let (listening, listens) = std::sync::mpsc::channel();
        let (shared, ended) = (Arc::clone(&link), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async {
                let namespaces = sides.each_ref().map(|(namespace, _)| namespace.clone());
                for (from, (namespace, addresses)) in sides.iter().enumerate() {
                    enter(namespace);
                    let ports = || PORTS.chain([port]);
                    for address in addresses.iter().flat_map(|host| ports().map(move |port| (*host, port))) {
                        let listener = TcpListener::bind(address).await.unwrap();
                        let beyond = namespaces[1 - from].clone();
                        tokio::task::spawn_local(take(listener, from, beyond, Arc::clone(&shared)));
                    }
                }
                listening.send(()).unwrap();
                ended.notified().await;
            });
        });
        listens.recv().unwrap();
        Self { link, end, thread: Some(thread) }
    }

    /// From now on, nothing that comes from this side is carried.
    pub fn cut(&self, side: usize, cut: bool) {
        self.link.cut[side].store(cut, Ordering::Relaxed);
    }

    /// Bytes that were carried from each side.
    pub fn carried(&self) -> [u64; 2] {
        self.link.carried.each_ref().map(|bytes| bytes.load(Ordering::Relaxed))
    }
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.end.notify_one();
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Carries all connections that come to a listening socket.
async fn take(listener: TcpListener, from: usize, beyond: PathBuf, link: Arc<Link>) {
    loop {
        let (near, caller) = listener.accept().await.unwrap();
        let called = listener.local_addr().unwrap();
        // A socket stays in the namespace where it was made.
        enter(&beyond);
        let socket = TcpSocket::new_v4().unwrap();
        let link = Arc::clone(&link);
        tokio::task::spawn_local(async move {
            // A caller that is refused over there is closed here.
            if let Ok(far) = call(socket, caller.ip(), called).await {
                let ((near_reader, near_writer), (far_reader, far_writer)) =
                    (near.into_split(), far.into_split());
                let is_slow = PORTS.contains(&called.port());
                tokio::task::spawn_local(carry(near_reader, far_writer, from, is_slow, Arc::clone(&link)));
                carry(far_reader, near_writer, 1 - from, is_slow, link).await;
            }
        });
    }
}

/// Connects with the caller's address, which is one of ours.
async fn call(socket: TcpSocket, caller: IpAddr, called: SocketAddr) -> std::io::Result<TcpStream> {
    socket.bind(SocketAddr::new(caller, 0))?;
    socket.connect(called).await
}

/// Carries one direction of a connection.
async fn carry(
    mut reader: OwnedReadHalf,
    mut writer: OwnedWriteHalf,
    from: usize,
    is_slow: bool,
    link: Arc<Link>,
) {
    writer.as_ref().set_nodelay(true).unwrap();
    let (enqueue, mut queue) = mpsc::channel::<(Instant, Vec<u8>)>(16);
    tokio::task::spawn_local(async move {
        let mut buffer = vec![0; CHUNK];
        while let Ok(bytes @ 1..) = reader.read(&mut buffer).await {
            if enqueue.send((Instant::now() + DELAY, buffer[..bytes].to_vec())).await.is_err() {
                return;
            }
        }
    });
    let mut pieces = PIECES.iter().cycle();
    while let Some((due, bytes)) = queue.recv().await {
        sleep_until(due).await;
        while link.cut[from].load(Ordering::Relaxed) {
            sleep(LOOK).await;
        }
        link.carried[from].fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if is_slow {
            sleep(Duration::from_secs(1) * bytes.len() as u32 / RATE).await;
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let piece = if is_slow { *pieces.next().unwrap() } else { CHUNK };
            let (piece, more) = rest.split_at(rest.len().min(piece));
            if writer.write_all(piece).await.is_err() {
                return;
            }
            rest = more;
        }
    }
}
