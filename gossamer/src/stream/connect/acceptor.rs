//! Accepts connections for an end that listens. Each one proves the key on a thread of its own, so that a stranger who takes his time
//! holds up nobody.

use crate::stream::connect::parameters::StreamParameters;
use crate::sys::sync::eventfd::EventFd;
use crate::transport::handshake::{self, PATIENCE, Token};
use crate::transport::socket::Socket;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Connections in their handshake at once, and those that wait to be fetched: of more, the oldest is closed.
const MOST: usize = 64;

/// A listening socket, and the connections that have come to it.
pub(crate) struct Acceptor {
    listener: TcpListener,
    token: Token,
    newcomers: Arc<Newcomers>,
}

/// Connections that nobody has fetched yet.
#[derive(Default)]
struct Newcomers(Mutex<Queues>);

#[derive(Default)]
struct Queues {
    /// Those in their handshake.
    unproven: VecDeque<Unproven>,
    /// How many there have been.
    count: u64,
    proven: VecDeque<(Socket, StreamParameters)>,
    waiters: Vec<Arc<AcceptWaiter>>,
}

/// A connection in its handshake.
struct Unproven {
    number: u64,
    socket: Socket,
    /// It has said something.
    talks: bool,
}

impl Queues {
    /// Has one make room if there are too many: the oldest that says nothing, or else the oldest.
    fn make_room(&mut self) {
        if self.unproven.len() == MOST {
            let silent = self.unproven.iter().position(|other| !other.talks);
            if let Some(first) = self.unproven.remove(silent.unwrap_or_default()) {
                first.socket.shutdown(Shutdown::Both);
            }
        }
    }
}

/// A caller of `Acceptor::wait`.
pub(crate) struct AcceptWaiter {
    eventfd: EventFd,
    gone: AtomicBool,
}

impl AcceptWaiter {
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { eventfd: EventFd::new()?, gone: AtomicBool::new(false) })
    }

    /// Ends the wait: nobody is interested in its outcome any more.
    pub(crate) fn leave(&self) {
        // Release: pairs with the Acquire in `Acceptor::wait`, though nothing but the flag is needed.
        self.gone.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        // It fails for what is no eventfd only.
        let _woken = self.eventfd.signal();
    }
}

impl Newcomers {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the other end of a connection prove the key, and reads its parameters.
    fn authenticate(&self, number: u64, mut socket: Socket, token: &Token) {
        let talks = || {
            let mut queues = self.queues();
            queues.unproven.iter_mut().filter(|other| other.number == number).for_each(|it| it.talks = true);
        };
        let parameters = handshake::accept_talking(&mut socket, token, talks)
            .and_then(|()| socket.set_patience(PATIENCE))
            .and_then(|()| StreamParameters::read(&mut socket));
        let mut queues = self.queues();
        let count = queues.unproven.len();
        queues.unproven.retain(|other| other.number != number);
        // A stranger is dropped without a word. One that had to make room has been closed already.
        if let Ok(parameters) = parameters
            && queues.unproven.len() < count
        {
            if queues.proven.len() == MOST {
                queues.proven.pop_front();
            }
            queues.proven.push_back((socket, parameters));
            queues.waiters.iter().for_each(|waiter| waiter.wake());
        }
    }
}

impl Acceptor {
    /// # Errors
    /// If the system refuses.
    pub(crate) fn new(listener: TcpListener, token: Token) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, token, newcomers: Arc::default() })
    }

    pub(crate) fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Waits for a connection whose end knows the key and is `wanted`; the others stay for those who want them.
    ///
    /// # Errors
    /// If none comes before `due`, or the waiter has left.
    pub(crate) fn wait(
        &self,
        waiter: &Arc<AcceptWaiter>,
        due: Option<Instant>,
        wanted: impl Fn(&StreamParameters) -> bool,
    ) -> io::Result<(Socket, StreamParameters)> {
        self.newcomers.queues().waiters.push(Arc::clone(waiter));
        let outcome = self.watch(waiter, due, wanted);
        self.newcomers.queues().waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        outcome
    }

    fn watch(
        &self,
        waiter: &AcceptWaiter,
        due: Option<Instant>,
        wanted: impl Fn(&StreamParameters) -> bool,
    ) -> io::Result<(Socket, StreamParameters)> {
        loop {
            waiter.eventfd.clear();
            // Acquire: pairs with the Release in `leave`.
            if waiter.gone.load(Ordering::Acquire) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let mut queues = self.newcomers.queues();
            if let Some(place) = queues.proven.iter().position(|(_, parameters)| wanted(parameters)) {
                return queues.proven.remove(place).ok_or_else(|| io::ErrorKind::NotFound.into());
            }
            drop(queues);
            match self.listener.accept() {
                Ok((socket, _)) => {
                    self.start_handshake(socket)?;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It has been closed again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let mut awaited =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&waiter.eventfd, PollFlags::IN)];
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let limit = left.map(TryInto::try_into).transpose().map_err(io::Error::other)?;
            match poll(&mut awaited, limit.as_ref()) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Starts the handshake of a new connection. Whoever knows the key proves it at once, so if there are too many, some are strangers.
    fn start_handshake(&self, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let socket = Socket::Tcp(socket);
        let Ok(handle) = socket.try_clone() else { return Ok(()) };
        let mut queues = self.newcomers.queues();
        queues.make_room();
        let number = queues.count;
        queues.count += 1;
        queues.unproven.push_back(Unproven { number, socket: handle, talks: false });
        drop(queues);
        let (newcomers, token) = (Arc::clone(&self.newcomers), self.token.clone());
        thread::Builder::new()
            .name("gossamer-greeting".into())
            .spawn(move || newcomers.authenticate(number, socket, &token))
            .map(drop)
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.newcomers.queues().unproven.iter().for_each(|other| other.socket.shutdown(Shutdown::Both));
    }
}
