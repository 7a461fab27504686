//! Packets between processes: each has a socket for each block of its queue pair numbers.

use crate::packet::Packet;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};
use std::collections::HashMap;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// Queue pair numbers have 24 bits: their upper half is the block, which belongs to one process.
const BLOCK_BITS: u32 = 12;
const BLOCKS: u32 = 1 << BLOCK_BITS;

#[derive(Default)]
pub(crate) struct Network {
    blocks: Vec<Block>,
    /// To other processes, by block.
    peers: HashMap<u32, Peer>,
    /// From other processes.
    incoming: Vec<Incoming>,
}

/// Numbers of this process, none of which is used twice.
struct Block {
    block: u32,
    listener: UnixListener,
    first: u32,
    used: u32,
}

struct Peer {
    socket: UnixStream,
    /// Readable once the process has ended, even if a child of it keeps the socket.
    process: OwnedFd,
    unsent: Vec<u8>,
}

struct Incoming {
    socket: UnixStream,
    bytes: Vec<u8>,
}

/// What the delivery thread sleeps on.
pub(crate) struct Watch(Vec<libc::pollfd>);

pub(crate) fn block_of(number: u32) -> u32 {
    number >> BLOCK_BITS
}

fn socket_name(block: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("verbs-sim/{block}"))
}

impl Block {
    /// A block that no process has. It is chosen at random, whatever the seed, so that a process that comes after
    /// another seldom has the same numbers.
    fn claim() -> io::Result<Self> {
        for _ in 0..BLOCKS {
            let block = fastrand::u32(1..BLOCKS);
            match UnixListener::bind_addr(&socket_name(block)?) {
                Ok(listener) => {
                    listener.set_nonblocking(true)?;
                    return Ok(Self { block, listener, first: fastrand::u32(..BLOCKS), used: 0 });
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::AddrInUse, "no queue pair numbers are left"))
    }

    fn take(&mut self) -> Option<u32> {
        let number = (self.block << BLOCK_BITS) | ((self.first + self.used) % BLOCKS);
        (self.used < BLOCKS).then(|| {
            self.used += 1;
            number
        })
    }
}

impl Peer {
    fn connect(block: u32) -> io::Result<Self> {
        let socket = UnixStream::connect_addr(&socket_name(block)?)?;
        socket.set_nonblocking(true)?;
        let process = pidfd_open(socket_peercred(&socket)?.pid, PidfdFlags::empty())?;
        Ok(Self { socket, process, unsent: Vec::new() })
    }

    /// Returns whether the peer is there.
    fn flush(&mut self) -> bool {
        let mut sent = 0;
        let is_there = loop {
            match self.socket.write(&self.unsent[sent..]) {
                _ if sent == self.unsent.len() => break true,
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        };
        self.unsent.drain(..sent);
        is_there
    }
}

impl Incoming {
    /// Takes packets that have arrived completely. Returns whether more can come.
    fn receive(&mut self, into: &mut Vec<Packet>) -> bool {
        let mut chunk = [0; 64 << 10];
        let is_open = match self.socket.read(&mut chunk) {
            Ok(count) => {
                self.bytes.extend_from_slice(&chunk[..count]);
                count > 0
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        let mut taken = 0;
        loop {
            match Packet::decode(&self.bytes[taken..]) {
                Ok(Some((packet, length))) => {
                    into.push(packet);
                    taken += length;
                }
                Ok(None) => break,
                Err(error) => panic!("a packet of another process: {error}"),
            }
        }
        self.bytes.drain(..taken);
        is_open
    }
}

impl Network {
    pub(crate) fn new_number(&mut self) -> io::Result<u32> {
        if let Some(number) = self.blocks.last_mut().and_then(Block::take) {
            return Ok(number);
        }
        let mut block = Block::claim()?;
        let number = block.take().ok_or(ErrorKind::AddrNotAvailable)?;
        self.blocks.push(block);
        Ok(number)
    }

    /// Whether a queue pair number is one of this process.
    pub(crate) fn owns(&self, number: u32) -> bool {
        self.blocks.iter().any(|block| block.block == block_of(number))
    }

    /// Returns whether the recipient exists.
    pub(crate) fn send(&mut self, packet: &Packet) -> bool {
        let block = block_of(packet.to);
        if let Some(peer) = self.peers.get_mut(&block) {
            packet.encode(&mut peer.unsent);
            return true;
        }
        let Ok(mut peer) = Peer::connect(block) else { return false };
        packet.encode(&mut peer.unsent);
        self.peers.insert(block, peer);
        true
    }

    /// Sends as much as there is room for. Returns the blocks whose process is gone.
    pub(crate) fn flush(&mut self) -> Vec<u32> {
        let unsent = self.peers.iter_mut().filter(|(_, peer)| !peer.unsent.is_empty());
        let gone: Vec<u32> = unsent.filter_map(|(block, peer)| (!peer.flush()).then_some(*block)).collect();
        for block in &gone {
            self.peers.remove(block);
        }
        gone
    }

    /// What has to be looked at now and then, besides a doorbell.
    pub(crate) fn watch(&self, doorbell: RawFd) -> Watch {
        let entry = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let mut watch = vec![entry(doorbell, libc::POLLIN)];
        watch.extend(self.blocks.iter().map(|block| entry(block.listener.as_raw_fd(), libc::POLLIN)));
        watch.extend(self.incoming.iter().map(|incoming| entry(incoming.socket.as_raw_fd(), libc::POLLIN)));
        for peer in self.peers.values() {
            let more = if peer.unsent.is_empty() { 0 } else { libc::POLLOUT };
            watch.push(entry(peer.socket.as_raw_fd(), libc::POLLIN | more));
            watch.push(entry(peer.process.as_raw_fd(), libc::POLLIN));
        }
        Watch(watch)
    }

    /// Takes what has arrived; returns the blocks whose process is gone.
    pub(crate) fn receive(&mut self, watch: &Watch) -> (Vec<Packet>, Vec<u32>) {
        let mut packets = Vec::new();
        for block in self.blocks.iter().filter(|block| watch.is_ready(block.listener.as_raw_fd())) {
            while let Ok((socket, _)) = block.listener.accept() {
                if socket.set_nonblocking(true).is_ok() {
                    self.incoming.push(Incoming { socket, bytes: Vec::new() });
                }
            }
        }
        self.incoming.retain_mut(|incoming| {
            !watch.is_ready(incoming.socket.as_raw_fd()) || incoming.receive(&mut packets)
        });
        // A peer sends nothing over the socket that leads to it: it becomes readable when its other end is closed.
        let ended = self.peers.iter().filter(|(_, peer)| {
            watch.is_readable(peer.socket.as_raw_fd()) || watch.is_readable(peer.process.as_raw_fd())
        });
        let gone: Vec<u32> = ended.map(|(block, _)| *block).collect();
        for block in &gone {
            self.peers.remove(block);
        }
        (packets, gone)
    }
}

impl Watch {
    /// Sleeps until one of them is ready, but no longer than this.
    pub(crate) fn wait(&mut self, longest: Option<Duration>) {
        let time = longest.map(|longest| libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: longest.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the list and the time are this function's own.
        unsafe { libc::ppoll(self.0.as_mut_ptr(), count, time, std::ptr::null()) };
    }

    fn is_ready(&self, descriptor: RawFd) -> bool {
        self.0.iter().any(|entry| entry.fd == descriptor && entry.revents != 0)
    }

    fn is_readable(&self, descriptor: RawFd) -> bool {
        let readable = libc::POLLIN | libc::POLLHUP | libc::POLLERR;
        self.0.iter().any(|entry| entry.fd == descriptor && entry.revents & readable != 0)
    }
}
