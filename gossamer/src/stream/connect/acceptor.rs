//! Where an end listens. Newcomers prove the key on threads of their own, so that a stranger, who takes his time, holds up nobody.

use crate::stream::connect::parameters::Hello;
use crate::sys::sync::eventfd::Bell;
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

/// Newcomers that are listened to at once, and those that wait to be fetched: of more, the one that came first goes.
const NEWCOMERS: usize = 64;

pub(crate) struct Door {
    listener: TcpListener,
    token: Token,
    hall: Arc<Hall>,
}

/// Behind the door.
#[derive(Default)]
struct Hall(Mutex<State>);

#[derive(Default)]
struct State {
    /// Those that are listened to, by number.
    newcomers: VecDeque<(u64, Socket)>,
    /// How many there were.
    count: u64,
    met: VecDeque<(Socket, Hello)>,
    waiters: Vec<Arc<Waiter>>,
}

/// Who waits at a door.
pub(crate) struct Waiter {
    bell: Bell,
    gone: AtomicBool,
}

impl Waiter {
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { bell: Bell::create()?, gone: AtomicBool::new(false) })
    }

    /// Nobody needs it any more: its wait ends.
    pub(crate) fn leave(&self) {
        // Release: pairs with the Acquire in `Door::wait`, though nothing but the flag is needed.
        self.gone.store(true, Ordering::Release);
        self.ring();
    }

    fn ring(&self) {
        // It is a bell, so it can be rung.
        let _rung = self.bell.ring();
    }
}

impl Hall {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a newcomer prove the key, and reads its hello.
    fn greet(&self, number: u64, mut socket: Socket, token: &Token) {
        let hello = handshake::accept(&mut socket, token)
            .and_then(|()| socket.set_patience(PATIENCE))
            .and_then(|()| Hello::read(&mut socket));
        let mut state = self.state();
        let count = state.newcomers.len();
        state.newcomers.retain(|(other, _)| *other != number);
        // A stranger is dropped without a word. One who had to make room is hung up on already.
        if let Ok(hello) = hello
            && state.newcomers.len() < count
        {
            if state.met.len() == NEWCOMERS {
                state.met.pop_front();
            }
            state.met.push_back((socket, hello));
            state.waiters.iter().for_each(|waiter| waiter.ring());
        }
    }
}

impl Door {
    /// # Errors
    /// If the system refuses.
    pub(crate) fn new(listener: TcpListener, token: Token) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, token, hall: Arc::default() })
    }

    pub(crate) fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Waits for a newcomer that knows the key and is `wanted`; others stay for those who want them.
    ///
    /// # Errors
    /// If none comes before `due`, or the waiter has left.
    pub(crate) fn wait(
        &self,
        waiter: &Arc<Waiter>,
        due: Option<Instant>,
        wanted: impl Fn(&Hello) -> bool,
    ) -> io::Result<(Socket, Hello)> {
        self.hall.state().waiters.push(Arc::clone(waiter));
        let outcome = self.watch(waiter, due, wanted);
        self.hall.state().waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        outcome
    }

    fn watch(
        &self,
        waiter: &Waiter,
        due: Option<Instant>,
        wanted: impl Fn(&Hello) -> bool,
    ) -> io::Result<(Socket, Hello)> {
        loop {
            waiter.bell.clear();
            // Acquire: pairs with the Release in `leave`.
            if waiter.gone.load(Ordering::Acquire) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let mut state = self.hall.state();
            if let Some(place) = state.met.iter().position(|(_, hello)| wanted(hello)) {
                return state.met.remove(place).ok_or_else(|| io::ErrorKind::NotFound.into());
            }
            drop(state);
            match self.listener.accept() {
                Ok((socket, _)) => {
                    self.let_in(socket)?;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Of a newcomer that has gone again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            let mut awaited =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&waiter.bell, PollFlags::IN)];
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let limit = left.map(TryInto::try_into).transpose().map_err(io::Error::other)?;
            match poll(&mut awaited, limit.as_ref()) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Listens to a newcomer. Who knows the key proves it at once, so if there are too many, the first of them is none.
    fn let_in(&self, socket: TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let socket = Socket::Tcp(socket);
        let Ok(handle) = socket.try_clone() else { return Ok(()) };
        let mut state = self.hall.state();
        if state.newcomers.len() == NEWCOMERS
            && let Some((_, first)) = state.newcomers.pop_front()
        {
            first.shutdown(Shutdown::Both);
        }
        let number = state.count;
        state.count += 1;
        state.newcomers.push_back((number, handle));
        drop(state);
        let (hall, token) = (Arc::clone(&self.hall), self.token.clone());
        thread::Builder::new()
            .name("gossamer-greeting".into())
            .spawn(move || hall.greet(number, socket, &token))
            .map(drop)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.hall.state().newcomers.iter().for_each(|(_, socket)| socket.shutdown(Shutdown::Both));
    }
}
