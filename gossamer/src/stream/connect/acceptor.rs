//! Accepts connections for an end that listens. Each connection that has sent its first message proves the key on a
//! separate thread, so that a stranger that stalls holds up nobody.

use crate::stream::connect::parameters::StreamParameters;
use crate::sys::sync::eventfd::EventFd;
use crate::transport::entrance::{Entrance, Visitor};
use crate::transport::handshake::{self, PATIENCE, Token};
use crate::transport::seal::agreement::Agreement;
use crate::transport::silence::Patience;
use crate::transport::socket::{Socket, SocketListener};
use crate::transport::unproven::Unproven;
use rustix::event::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Connections in their handshake, or waiting to be fetched, at once: beyond that the oldest is closed.
const MOST: usize = 64;

/// A listening socket, and its connections.
pub(crate) struct Acceptor {
    entrance: Entrance,
    token: Token,
    newcomers: Arc<Newcomers>,
}

/// Connections that nobody has fetched yet.
struct Newcomers {
    /// Those in their handshake.
    unproven: Unproven,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    proven: VecDeque<ProvenConnection>,
    waiters: Vec<Arc<AcceptWaiter>>,
}

/// A connection whose other end knows the key.
pub(crate) struct ProvenConnection {
    pub(crate) socket: Socket,
    pub(crate) parameters: StreamParameters,
    pub(crate) agreement: Agreement,
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

    /// Ends the wait, whose outcome nobody needs any more.
    pub(crate) fn leave(&self) {
        // Release: pairs with the Acquire in `Acceptor::wait`, though nothing but the flag is needed.
        self.gone.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        // It only fails for a descriptor that is not an eventfd.
        let _woken = self.eventfd.signal();
    }
}

impl Newcomers {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the other end of a connection prove the key, and reads its parameters.
    fn authenticate(&self, number: u64, (mut socket, first): Visitor, token: &Token) {
        let proof = handshake::accept_stream(&mut socket, token, &first);
        // Before it sends more: an end that knows the key must not make room for strangers.
        let is_open = self.unproven.leave(number);
        // A stranger is dropped without a word. One that had to make room has been closed already.
        let Some(agreement) = proof.ok().filter(|_| is_open) else { return };
        let parameters = socket.set_patience(PATIENCE).and_then(|()| StreamParameters::read(&mut socket));
        if let Ok(parameters) = parameters {
            let mut queues = self.queues();
            if queues.proven.len() == MOST {
                queues.proven.pop_front();
            }
            queues.proven.push_back(ProvenConnection { socket, parameters, agreement });
            queues.waiters.iter().for_each(|waiter| waiter.wake());
        }
    }
}

impl Acceptor {
    /// # Errors
    /// If the system refuses.
    pub(crate) fn new(listener: TcpListener, token: Token) -> io::Result<Self> {
        let newcomers = Newcomers { unproven: Unproven::new(MOST), queues: Mutex::default() };
        let entrance = Entrance::new(SocketListener::Tcp(listener))?;
        Ok(Self { entrance, token, newcomers: Arc::new(newcomers) })
    }

    /// # Errors
    /// If the system does not tell.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.entrance.listener().local_addr()
    }

    /// Waits for a connection whose end knows the key and is `wanted`; others stay for those that want them.
    ///
    /// # Errors
    /// If none arrives in time, or the waiter has left.
    #[track_caller]
    pub(crate) fn wait(
        &self,
        waiter: &Arc<AcceptWaiter>,
        patience: Option<Duration>,
        wanted: impl Fn(&StreamParameters) -> bool,
    ) -> io::Result<ProvenConnection> {
        self.newcomers.queues().waiters.push(Arc::clone(waiter));
        let outcome = self.watch(waiter, patience.unwrap_or(Duration::MAX), wanted);
        self.newcomers.queues().waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        outcome
    }

    #[track_caller]
    fn watch(
        &self,
        waiter: &AcceptWaiter,
        patience: Duration,
        wanted: impl Fn(&StreamParameters) -> bool,
    ) -> io::Result<ProvenConnection> {
        let mut patience = Patience::new(patience);
        loop {
            waiter.eventfd.clear();
            // Acquire: pairs with the Release in `leave`.
            if waiter.gone.load(Ordering::Acquire) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let mut queues = self.newcomers.queues();
            // Some may have given up while others were served.
            queues.proven.retain(|other| !other.socket.is_closed());
            if let Some(place) = queues.proven.iter().position(|other| wanted(&other.parameters)) {
                return queues.proven.remove(place).ok_or_else(|| io::ErrorKind::NotFound.into());
            }
            drop(queues);
            let visitors = self.entrance.take()?;
            if !visitors.is_empty() {
                visitors.into_iter().try_for_each(|visitor| self.start_handshake(visitor))?;
                continue;
            }
            patience.wait(&mut [
                PollFd::new(&self.entrance, PollFlags::IN),
                PollFd::new(&waiter.eventfd, PollFlags::IN),
            ])?;
        }
    }

    /// Starts the handshake of a new connection.
    fn start_handshake(&self, visitor: Visitor) -> io::Result<()> {
        let Ok(number) = self.newcomers.unproven.enter(&visitor.0) else { return Ok(()) };
        let (newcomers, token) = (Arc::clone(&self.newcomers), self.token.clone());
        thread::Builder::new()
            .name("gossamer-greeting".into())
            .spawn(move || newcomers.authenticate(number, visitor, &token))
            .map(drop)
            .inspect_err(|_| {
                self.newcomers.unproven.leave(number);
            })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.newcomers.unproven.close();
    }
}
