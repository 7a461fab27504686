//! Where a receiver waits for the one sender that knows its code.

use crate::exit::{Failure, UNREACHABLE, USAGE};
use crate::files::pairing::control::ControlConnection;
use crate::files::protocol::message::Offer;
use crate::secure::key::Key;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// So many wrong codes, and the receiver gives up.
const MOST_WRONG: usize = 10;
/// So many connections may be in the handshake at a time.
const MOST_HANDSHAKES: usize = 16;

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

/// Who has connected.
enum Arrival {
    /// A sender with the same key.
    Authenticated(ControlConnection, Offer),
    /// One with another key.
    WrongKey(SocketAddr),
    /// Nobody can connect any more.
    Closed(io::Error),
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// If the address is taken, or not of this machine.
    pub fn open(address: &str) -> Result<Self, Failure> {
        let wrong = |error: io::Error| {
            let advice = match error.kind() {
                ErrorKind::AddrInUse => "; something listens there already, port 0 chooses a free one",
                ErrorKind::AddrNotAvailable => "; --listen takes an address of this machine",
                ErrorKind::InvalidInput => "; --listen takes a host and a port, such as 0.0.0.0:7412",
                _ => "",
            };
            Failure::new(USAGE, format!("cannot listen at {address}: {error}{advice}"))
        };
        let listener = TcpListener::bind(address).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(Self { listener: Arc::new(listener), address })
    }

    /// Where it listens, with the port that the kernel has chosen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for who knows the key, and listens no more. `turned_away` hears of each wrong code, and how many more may come.
    ///
    /// # Errors
    /// After too many wrong codes.
    pub fn wait(
        self,
        key: &Key,
        mut turned_away: impl FnMut(SocketAddr, usize),
    ) -> Result<(ControlConnection, Offer), Failure> {
        let (tell, arrivals) = channel();
        let (listener, key) = (Arc::clone(&self.listener), Arc::new(key.clone()));
        let accepting =
            thread::Builder::new().spawn(move || accept(&listener, &key, &tell)).map_err(cannot_wait)?;
        let outcome = choose(&arrivals, &mut turned_away);
        // The port is needed again: for the stream.
        let _ended = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ended = accepting.join();
        outcome
    }
}

fn cannot_wait(error: io::Error) -> Failure {
    Failure::new(UNREACHABLE, format!("cannot wait for a sender: {error}"))
}

/// The first sender with the same key.
fn choose(
    arrivals: &Receiver<Arrival>,
    turned_away: &mut dyn FnMut(SocketAddr, usize),
) -> Result<(ControlConnection, Offer), Failure> {
    for left in (0..MOST_WRONG).rev() {
        match arrivals.recv() {
            Ok(Arrival::Authenticated(control, offer)) => return Ok((control, offer)),
            Ok(Arrival::WrongKey(from)) => turned_away(from, left),
            Ok(Arrival::Closed(error)) => return Err(cannot_wait(error)),
            Err(_) => return Err(cannot_wait(io::Error::other("nobody listens any more"))),
        }
    }
    let what = format!("gave up after {MOST_WRONG} senders with a wrong code; start again with a new one");
    Err(Failure::new(UNREACHABLE, what))
}

/// Accepts connections, and starts a thread for the handshake of each.
fn accept(listener: &TcpListener, key: &Arc<Key>, tell: &Sender<Arrival>) {
    loop {
        match listener.accept() {
            // One count is this thread's. Whoever connects while there are too many is closed without a word.
            Ok(connection) if Arc::strong_count(key) <= MOST_HANDSHAKES => {
                let (key, tell) = (Arc::clone(key), tell.clone());
                // Without a thread the connection is closed, too.
                let _thread = thread::Builder::new().spawn(move || authenticate(connection, &key, &tell));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(error) => {
                // Nobody hears it if a sender was found.
                let _heard = tell.send(Arrival::Closed(error));
                return;
            }
        }
    }
}

fn authenticate((socket, from): (TcpStream, SocketAddr), key: &Key, tell: &Sender<Arrival>) {
    let seen = match ControlConnection::accept(socket, key) {
        Ok((control, offer)) => Arrival::Authenticated(control, offer),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Arrival::WrongKey(from),
        // No sender, or one that has gone again.
        Err(_) => return,
    };
    let _heard = tell.send(seen);
}
