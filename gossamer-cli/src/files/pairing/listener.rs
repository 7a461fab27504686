//! Where a receiver waits for the one sender that knows its code.

use crate::exit::{Failure, UNREACHABLE, USAGE};
use crate::files::pairing::control::ControlConnection;
use crate::files::protocol::message::Offer;
use crate::rack::silence::within;
use crate::secure::channel::{self, PEER_PATIENCE, Reader, Writer};
use crate::secure::codec::decode;
use crate::secure::gate::{self, Gate, Ticket};
use crate::secure::key::Key;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long to accept nobody after that has failed.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

/// A peer that has connected.
enum Arrival {
    /// A sender with the same key.
    Authenticated(Reader, Writer, Offer),
    /// One with another key.
    WrongKey(SocketAddr),
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
        gate::widen(&listener).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(Self { listener, address })
    }

    /// Where it listens, with the port that the kernel has chosen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same port, once more.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn share(&self) -> Result<Self, Failure> {
        let listener = self.listener.try_clone();
        listener
            .map(|listener| Self { listener, address: self.address })
            .map_err(|error| Failure::new(UNREACHABLE, format!("cannot wait for a sender: {error}")))
    }

    /// Waits at most this long for a peer that knows the key, however many others come; `turned_away` is called for
    /// those with another key. The port stays with this receiver: the socket that goes on listening is returned with
    /// the connection.
    ///
    /// # Errors
    /// If the system refuses, or nobody comes.
    pub fn wait(
        self,
        key: &Key,
        patience: Option<Duration>,
        turned_away: impl FnMut(SocketAddr),
    ) -> Result<(ControlConnection, Offer, TcpListener), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let find = async {
            let found = find(self.listener, key, turned_away);
            timeout(patience.unwrap_or(Duration::MAX), found).await?
        };
        let outcome = runtime.and_then(|runtime| runtime.block_on(find));
        outcome.map_err(|error| Failure::new(UNREACHABLE, format!("cannot wait for a sender: {error}")))
    }
}

/// The first sender with the same key.
async fn find(
    listener: TcpListener,
    key: &Key,
    mut turned_away: impl FnMut(SocketAddr),
) -> io::Result<(ControlConnection, Offer, TcpListener)> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // Connections that are left in it are closed with it.
    let (gate, mut sessions) = (Arc::new(Gate::default()), JoinSet::new());
    let (tell, mut arrivals) = unbounded_channel();
    let (reader, writer, offer) = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    let (key, tell) = (key.clone(), tell.clone());
                    let session = |ticket| async move {
                        // If a sender was found, nobody listens for this any more.
                        let _heard = authenticate(stream, from, &key, ticket).await.map(|it| tell.send(it).is_ok());
                    };
                    gate.admit(&mut sessions, session).await;
                }
                // No descriptor is left, for example: waits until some are closed.
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = sessions.join_next() => {}
            Some(arrival) = arrivals.recv() => match arrival {
                Arrival::Authenticated(reader, writer, offer) => break (reader, writer, offer),
                Arrival::WrongKey(from) => turned_away(from),
            },
        }
    };
    Ok((ControlConnection::new(reader, writer)?, offer, listener.into_std()?))
}

/// Finds out what a connection is; nothing if it is not a sender, or has gone again. One deadline covers all of it.
/// Only the peer's first message proves that it knows the key, and has not just replayed the handshake of a peer that
/// does.
async fn authenticate(stream: TcpStream, from: SocketAddr, key: &Key, ticket: Ticket) -> Option<Arrival> {
    let proof = async {
        let (mut reader, writer) = channel::respond(stream, key, |message| ticket.heard(message)).await?;
        let offer = reader.receive().await?.ok_or(ErrorKind::UnexpectedEof)?;
        Ok(Arrival::Authenticated(reader, writer, decode(&offer)?))
    };
    match within(PEER_PATIENCE, proof).await {
        Some(Ok(arrival)) => Some(arrival),
        Some(Err(error)) if io::Error::kind(&error) == ErrorKind::InvalidData => {
            Some(Arrival::WrongKey(from))
        }
        _ => None,
    }
}
