//! The entrance of a listener: it keeps each arriving connection until its first message is whole. That takes no thread
//! and little time for each, so even thousands of strangers keep nobody out: a connection that says something else is
//! closed at once, and silent ones make room for each other.

use crate::sys::process::socket_options::set_defer_accept;
use crate::transport::handshake::FirstMessage;
use crate::transport::socket::{Socket, SocketListener, wait_until_readable};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Connections that have said too little: beyond this number, the oldest is closed.
const SILENT: usize = 256;
/// Connections that the kernel keeps until they are accepted, if it allows as many.
const BACKLOG: i32 = 4096;
/// How long the kernel keeps silent connections, in seconds.
const SILENCE: u32 = 5;
/// Connections that one look accepts, and hears.
const LOOK: usize = 64;
/// The listener's name in the poll set; connections have numbers.
const LISTENER: u64 = u64::MAX;

/// Its descriptor becomes readable when a connection has arrived, or has said something.
#[derive(Debug)]
pub(crate) struct Entrance<L = SocketListener> {
    listener: L,
    epoll: OwnedFd,
    silent: Mutex<Silent>,
}

#[derive(Debug, Default)]
struct Silent {
    /// The oldest first.
    connections: VecDeque<SilentConnection>,
    /// How many there have been.
    count: u64,
}

#[derive(Debug)]
struct SilentConnection {
    number: u64,
    socket: Socket,
    said: FirstMessage,
}

/// A connection, and its first message.
pub(crate) type Visitor = (Socket, FirstMessage);

impl<L: Borrow<SocketListener>> Entrance<L> {
    /// # Errors
    /// If the system refuses.
    pub(crate) fn new(listener: L) -> io::Result<Self> {
        listener.borrow().set_nonblocking()?;
        if matches!(listener.borrow(), SocketListener::Tcp(_)) {
            // The standard library uses 128, which strangers fill at once. A second call changes it.
            rustix::net::listen(listener.borrow(), BACKLOG)?;
            // Silent connections stay with the kernel. A listener that cannot do that hands them over.
            let _helps = set_defer_accept(listener.borrow(), SILENCE);
        }
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener.borrow(), EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self { listener, epoll, silent: Mutex::default() })
    }

    pub(crate) fn listener(&self) -> &SocketListener {
        self.listener.borrow()
    }

    fn silent(&self) -> MutexGuard<'_, Silent> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connections whose first message has become whole since the last call. Does not wait.
    ///
    /// # Errors
    /// If the system accepts no connection, for example because no descriptor is left.
    pub(crate) fn take(&self) -> io::Result<Vec<Visitor>> {
        let (mut silent, mut visitors) = (self.silent(), Vec::new());
        let mut events = Vec::with_capacity(LOOK);
        epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&rustix::event::Timespec::default()))?;
        let (listener, connections): (Vec<_>, Vec<_>) =
            events.into_iter().map(|event| event.data.u64()).partition(|number| *number == LISTENER);
        for number in connections {
            visitors.extend(silent.hear(number, &self.epoll)?);
        }
        for _ in 0..LOOK * listener.len() {
            match self.listener().accept() {
                Ok(socket) => visitors.extend(silent.admit(socket, &self.epoll)?),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // For example, the connection has been closed again.
                Err(error) if is_of_one(&error) => {}
                // The next call meets the error again.
                Err(_) if !visitors.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(visitors)
    }

    /// Like `take`, but waits until there is something to look at.
    ///
    /// # Errors
    /// As for `take`, and if there is nothing before `due`.
    pub(crate) fn take_until(&self, due: Instant) -> io::Result<Vec<Visitor>> {
        wait_until_readable(self, due)?;
        self.take()
    }
}

impl<L> AsFd for Entrance<L> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Silent {
    /// A connection has arrived, and usually has said something already.
    fn admit(&mut self, socket: Socket, epoll: &OwnedFd) -> io::Result<Option<Visitor>> {
        if !socket.is_of_this_user() {
            return Ok(None);
        }
        let mut said = FirstMessage::default();
        match said.receive(&socket) {
            Ok(true) => return Ok(Some((socket, said))),
            Ok(false) => {}
            // A stranger is closed without a word.
            Err(_) => return Ok(None),
        }
        let number = self.count;
        self.count += 1;
        epoll::add(epoll, &socket, EventData::new_u64(number), EventFlags::IN)?;
        if self.connections.len() == SILENT {
            self.connections.pop_front();
        }
        self.connections.push_back(SilentConnection { number, socket, said });
        Ok(None)
    }

    /// One of the connections has said something.
    fn hear(&mut self, number: u64, epoll: &OwnedFd) -> io::Result<Option<Visitor>> {
        let place = self.connections.binary_search_by_key(&number, |connection| connection.number);
        let Some(connection) = place.ok().and_then(|place| self.connections.get_mut(place)) else {
            return Ok(None);
        };
        let is_whole = match connection.said.receive(&connection.socket) {
            Ok(false) => return Ok(None),
            outcome => outcome.is_ok(),
        };
        let connection = place.ok().and_then(|place| self.connections.remove(place));
        let Some(SilentConnection { socket, said, .. }) = connection.filter(|_| is_whole) else {
            return Ok(None);
        };
        // The socket may get further handles, which would keep it in the set when this one is closed.
        epoll::delete(epoll, &socket)?;
        Ok(Some((socket, said)))
    }
}

/// Whether an error of `accept` concerns one connection only, which is gone.
fn is_of_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::handshake::{FIRST_MESSAGE, MAGIC};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    fn entrance() -> (Entrance, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (Entrance::new(SocketListener::Tcp(listener)).unwrap(), address)
    }

    fn wait_for_visitor(entrance: &Entrance) -> Visitor {
        loop {
            let due = Instant::now() + Duration::from_secs(60);
            if let Some(visitor) = entrance.take_until(due).unwrap().pop() {
                return visitor;
            }
        }
    }

    /// What peers of the library say first.
    fn greeting() -> [u8; FIRST_MESSAGE] {
        let mut greeting = [7; FIRST_MESSAGE];
        greeting[..8].copy_from_slice(MAGIC);
        greeting
    }

    #[test]
    fn who_says_its_first_message_in_pieces_comes_through_with_what_it_said() {
        let (entrance, address) = entrance();
        let mut peer = TcpStream::connect(address).unwrap();
        for piece in greeting().chunks(3) {
            assert!(entrance.take().unwrap().is_empty());
            peer.write_all(piece).unwrap();
        }
        let (mut socket, said) = wait_for_visitor(&entrance);
        assert_eq!(said.bytes(), &greeting());
        peer.write_all(b"more").unwrap();
        let mut more = [0; 4];
        socket.read_exact(&mut more).unwrap();
        assert_eq!(&more, b"more");
    }

    #[test]
    fn who_says_something_else_is_closed_at_once() {
        let (entrance, address) = entrance();
        let peers: Vec<_> = [&b"GET / HTTP/1.1\r\n\r\n"[..], b"gossan", b"\0"]
            .map(|garbage| {
                let mut peer = TcpStream::connect(address).unwrap();
                peer.write_all(garbage).unwrap();
                peer
            })
            .into();
        for mut peer in peers {
            peer.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            while matches!(peer.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                assert!(entrance.take().unwrap().is_empty());
            }
        }
        assert!(entrance.silent().connections.is_empty());
    }

    #[test]
    fn those_who_say_nothing_make_room_for_each_other() {
        let (entrance, address) = entrance();
        // Nearly silent: quite silent ones arrive only if the kernel is busy.
        let connect = || {
            let mut peer = TcpStream::connect(address).unwrap();
            peer.write_all(&MAGIC[..1]).unwrap();
            peer
        };
        let mut first = connect();
        let silent: Vec<_> = (0..SILENT + 10)
            .map(|_| {
                let peer = connect();
                assert!(entrance.take().unwrap().is_empty());
                peer
            })
            .collect();
        while entrance.silent().count <= silent.len() as u64 {
            assert!(entrance.take().unwrap().is_empty());
        }
        assert_eq!(entrance.silent().connections.len(), SILENT);
        assert!(!matches!(first.read(&mut [0]), Ok(1..)), "it had to go");
        let mut peer = TcpStream::connect(address).unwrap();
        peer.write_all(&greeting()).unwrap();
        wait_for_visitor(&entrance);
    }
}
